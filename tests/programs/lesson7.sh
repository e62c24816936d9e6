#!/bin/sh
# Does lesson 7 compute the losses and gradients that Heed computes? Not checked if the lesson was edited
# (see outputs.sh, which reports it).
#   CC="COMPILER FLAG..." tests/programs/lesson7.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
lesson=examples/lesson7_from_scratch.c
grep -qxF "$(cksum $lesson)" tests/fixtures/output/cksum || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

${CC:-cc -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I.} tests/lessons/lesson7_from_scratch.c \
    "$build/libheed.a" -lm -pthread -o "$scratch/compare"
"$scratch/compare"

# The comment at the end of the lesson names files of src/.
for path in $(grep -oE 'src/[a-z0-9_/.]+[a-z0-9_/]' $lesson); do
    [ -e "$path" ] || { echo "$lesson: there is no $path"; exit 1; }
done
