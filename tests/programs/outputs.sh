#!/bin/sh
# Compares the output of the lessons and of some other programs with tests/fixtures/output/PROGRAM.txt.
# (notebooks.sh compares these files with the numbers of the notebooks.)
#   tests/programs/outputs.sh [BUILD]
#   tests/programs/outputs.sh --update [BUILD]    records the present output and sources
#
# Readers of the course edit the lessons. fixtures/output/cksum has the checksum of each source; if a
# source differs, its output is not compared. With HEED_STRICT=1, as in .ci/run, that is an error: the
# recorded output may be out of date.
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8 # heat maps of block characters
unset COLUMNS
update=false
[ "${1-}" != --update ] || { update=true && shift; }
build=${1:-build}
outputs=tests/fixtures/output
sources=$(printf '%s\n' examples/lesson*.c $outputs/*.txt | sed 's#.*/\(.*\)\..*#examples/\1.c#' | sort -u)
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

for source in $sources; do
    program=$(basename "$source" .c)
    if $update; then
        "$build/$program" > "$outputs/$program.txt"
        continue
    fi
    if ! grep -qxF "$(cksum "$source")" $outputs/cksum; then
        if [ "${HEED_STRICT:-0}" = 1 ]; then
            echo "$source changed after its output was recorded; run: make all && sh tests/programs/outputs.sh --update"
            exit 1
        fi
        echo "$program was edited: its output is not compared"
        continue
    fi
    "$build/$program" > "$printed"
    diff -u "$outputs/$program.txt" "$printed" || { echo "$program prints something else"; exit 1; }
done
# shellcheck disable=SC2086
! $update || cksum $sources > $outputs/cksum
