#!/bin/sh
# examples/pytorch/toys.py repeats runs of build/toys: the same losses to 1e-5 for 50 or 100 steps. Where rounding grows to more
# at a task's own learning rate, the rate is smaller.
#   tests/programs/toys_twin.sh PYTHON [BUILD]
set -eu
cd "$(dirname "$0")/../.."
python=$1
build=${2:-build}

run() {
    "$build/toys" "$@" --losses 2> /dev/null | head -n "$((steps + 1))"
}
all() {
    steps=100
    run copy --positions rotary
    run reverse --positions sinusoidal --norm none --heads 4
    run induction
    run majority --weight-decay 0.1
    steps=50
    run sort --lr 1e-3
    run recall --lr 1e-3 --positions none --schedule cosine --warmup 10
    run parity --lr 3e-4 --schedule cosine
    run dyck --lr 1e-3
    run modadd --symbols 31 --lr 3e-4
    run lottery --lr 1e-3
    run regression --batch 16 --lr 3e-4
}
same=$(all | "$python" -B examples/pytorch/toys.py)
echo "$same"
[ "$(echo "$same" | wc -l)" -eq 11 ] || { echo "failed: a run of build/toys"; exit 1; }

# A wrong loss is found.
if "$build/toys" copy --steps 3 --losses 2> /dev/null | sed '3s/loss 2/loss 3/' |
    "$python" -B examples/pytorch/toys.py 2> /dev/null; then
    echo "toys.py accepts a wrong loss"
    exit 1
fi
echo "toys_twin: passed"
