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

fail() {
    cat "$name/out"
    echo "gpt_resume: $name: $*"
    exit 1
}

# begin: starts a run in the folder $name, new or resumed. It uses everything that has state: dropout, a schedule,
# decay, the lowest loss.
files="--save run --best best --log log --save-every 7"
begin() {
    mkdir -p "$name"
    cd "$name"
    if [ -e run ]; then
        # shellcheck disable=SC2086
        "$gpt" train --resume run $files > out 2>&1 &
    else
        # shellcheck disable=SC2086
        "$gpt" train --force --text ../text --n-layer 2 --n-head 2 --n-embd 16 --context 12 --batch 3 \
            --dropout 0.2 --steps 200 --warmup 20 --lr 1e-2 --eval-every 10 \
            --eval-windows 20 $files > out 2>&1 &
    fi
    pid=$!
    cd ..
}

# end STATUS: waits for the run, which must exit with this status
end() {
    status=0
    wait "$pid" 2> /dev/null || status=$?
    pid=
    [ "$status" -eq "$1" ] || fail "status $status, not $1"
}

rows() {
    if [ -e "$name/log" ]; then wc -l < "$name/log"; else echo 0; fi
}

# interrupt SIGNAL ROWS: sends the signal once the log has this many lines, unless the run has ended before
interrupt() {
    while [ "$(rows)" -lt "$2" ] && kill -0 "$pid" 2> /dev/null; do
        :
    done
    kill "-$1" "$pid" 2> /dev/null || true
}

# same: the run gave the same files as the uninterrupted one
same() {
    for file in run best; do
        cmp "whole/$file" "$name/$file" || fail "$file differs"
    done
    sed 's/,[0-9]*$//' "whole/log" > rows_whole
    sed 's/,[0-9]*$//' "$name/log" > rows
    cmp rows_whole rows || fail "the log differs"
    [ -z "$(find "$name" -name 'best.tmp*')" ] || [ "$killed" -gt 0 ] || fail "a temporary file is left"
}

name=whole
begin
end 0
steps=$(($(rows) - 1))

# SIGINT and SIGTERM: the step is finished and saved. Non-interactive shells start background children with
# SIGINT ignored, but gpt handles it anyway.
name=asked
killed=0
for at in 5 $((steps / 2)) $((steps - 35)); do
    begin
    interrupt "$([ "$at" = 5 ] && echo TERM || echo INT)" "$at"
    end 0
    grep -q "interrupted after step .*; --resume FILE continues it" asked/out || fail "it was not interrupted"
done
begin
end 0
same

# kill -9 at any time loses only the steps since the last save
name=killed
killed=0
for at in 3 12 $((steps / 4)) $((steps / 2)) $((steps - 35)); do
    begin
    interrupt KILL "$at"
    status=0
    wait "$pid" 2> /dev/null || status=$?
    pid=
    [ "$status" -ne 137 ] || killed=$((killed + 1))
done
[ "$killed" -ge 3 ] || fail "killed only $killed times"
begin
end 0
same
echo "gpt_resume: $steps steps give identical files with and without interruptions"
