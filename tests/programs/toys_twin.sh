#!/bin/sh
# examples/pytorch/toys.py repeats runs of build/toys: the same losses to 1e-5 for 50 or 100 steps. Where rounding grows to more
# at a task's own learning rate, the rate is smaller.
#   tests/programs/toys_twin.sh PYTHON [BUILD]
set -eu
cd "$(dirname "$0")/../.."
python=$1
build=${2:-build}

same() {
    "$build/toys" "$@" --losses 2> /dev/null | head -n "$((steps + 1))" |
        "$python" -B examples/pytorch/toys.py || { echo "failed: $*"; exit 1; }
}
steps=100
same copy --positions rotary
same reverse --positions sinusoidal --norm none --heads 4
same sort --lr 1e-3
same induction
same recall --lr 1e-3 --positions none --schedule cosine --warmup 10
same majority --weight-decay 0.1
same parity --lr 3e-4 --schedule cosine
same dyck --lr 1e-3
steps=50
same modadd --symbols 31 --lr 3e-4
same lottery --lr 1e-3
same regression --batch 16 --lr 3e-4

# A wrong loss is found.
if "$build/toys" copy --steps 3 --losses 2> /dev/null | sed '3s/loss 2/loss 3/' |
    "$python" -B examples/pytorch/toys.py 2> /dev/null; then
    echo "toys.py accepts a wrong loss"
    exit 1
fi
echo "toys_twin: passed"
