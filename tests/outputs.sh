#!/bin/sh
# Do the programs print what they always print? Each of fixtures/output/ against the program of its
# name, which every lesson has. (Against the numbers of a notebook notebooks.sh holds the files.)
#   tests/outputs.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
for expected in tests/fixtures/output/*.txt; do
    program=$(basename "$expected" .txt)
    "$build/$program" > "$printed"
    diff -u "$expected" "$printed" || { echo "$program prints something else"; exit 1; }
done
for lesson in examples/lesson*.c; do
    expected=tests/fixtures/output/$(basename "$lesson" .c).txt
    [ -e "$expected" ] || { echo "$lesson: nobody knows what it prints; there is no $expected"; exit 1; }
done
