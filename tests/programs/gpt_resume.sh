#!/bin/sh
# A run of build/gpt that is interrupted and resumed gives the same results as one that is not: the files of
# --save and --best byte for byte, and the log except for its last column, the speed.
#   tests/programs/gpt_resume.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
gpt=$(cd "${1:-build}" && pwd)/gpt
scratch=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2> /dev/null || true; rm -rf "$scratch"' EXIT
cp CONTRIBUTING.md "$scratch/text"
cd "$scratch"
mkdir whole asked killed

fail() {
    cat out
    echo "gpt_resume: $name: $*"
    exit 1
}

# run [SIGNAL ROWS]: runs it in the folder $name, or resumes it, and sends the signal once the log has this many lines.
# It uses everything that has state: dropout, a schedule, decay, the lowest loss.
run() {
    if [ -e "$name/run" ]; then
        set -- --resume "$name/run" -- "$@"
    else
        set -- --force --text text --n-layer 2 --n-head 2 --n-embd 16 --context 12 --batch 3 --dropout 0.2 --steps 200 \
            --warmup 20 --lr 1e-2 --eval-every 10 --eval-windows 20 -- "$@"
    fi
    flags=
    while [ "$1" != -- ]; do flags="$flags $1" && shift; done
    # shellcheck disable=SC2086
    "$gpt" train $flags --save "$name/run" --best "$name/best" --log "$name/log" --save-every 7 > out 2>&1 &
    pid=$!
    if [ $# -gt 1 ]; then
        until [ -e "$name/log" ] && [ "$(wc -l < "$name/log")" -ge "$3" ]; do kill -0 "$pid" || fail "it ended"; done
        kill "-$2" "$pid"
    fi
    status=0
    wait "$pid" 2> /dev/null || status=$?
    pid=
}

name=whole
run
[ "$status" -eq 0 ] || fail "status $status"

# SIGINT and SIGTERM: the step is finished and saved. kill -9 at any time loses only the steps since the last save.
name=asked
for at in "TERM 5" "INT 100"; do
    # shellcheck disable=SC2086
    run $at
    [ "$status" -eq 0 ] && grep -q "interrupted after step .*; --resume FILE continues it" out || fail "not interrupted"
done
name=killed
for at in 3 12 100 150; do
    run KILL $at
    [ "$status" -eq 137 ] || fail "not killed"
done

for name in asked killed; do
    run
    [ "$status" -eq 0 ] || fail "status $status"
    cmp whole/run $name/run && cmp whole/best $name/best || fail "another model"
    sed 's/,[0-9]*$//' whole/log > rows
    sed 's/,[0-9]*$//' $name/log | cmp - rows || fail "the log differs"
done
echo "gpt_resume: identical files with and without interruptions"
