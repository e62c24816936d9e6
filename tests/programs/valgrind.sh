#!/bin/sh
# Runs the commands of valgrind.txt under valgrind, one per core: tests/programs/valgrind.sh BUILD PROGRAM...
# Fails on errors and leaks, and if no line runs one of the programs.
set -eu
cd "$(dirname "$0")/../.."
export build=$1 scratch
shift
list=tests/programs/valgrind.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for program; do
    grep -q "^$program\b" $list || { echo "valgrind: no line of $list runs $program"; exit 1; }
done
"$build/gpt" train --text CONTRIBUTING.md --n-layer 1 --n-embd 8 --context 8 --batch 2 --dropout 0.1 \
    --steps 3 --save "$scratch/run" > "$scratch/out" 2>&1 || { cat "$scratch/out"; exit 1; }

# shellcheck disable=SC2016
grep -v '^#' $list | sed "s#@#$scratch#g" | xargs -d '\n' -n 1 -P "$(nproc)" sh -c '
    eval "set -- $0" # words in quotes are one argument
    said=$(valgrind -q --leak-check=full --error-exitcode=3 "$build/$@" 2>&1 > /dev/null) ||
        { printf "%s\n" "$said" "valgrind: $0"; exit 1; }'
echo "valgrind: $(grep -vc '^#' $list) commands without errors or leaks"
