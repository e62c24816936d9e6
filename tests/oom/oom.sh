#!/bin/sh
# Runs the programs while memory allocations fail in turn: all of them, or at most MOST evenly spaced ones per command.
# BUILD must be built with -DHEED_SYSTEM_ALLOCATOR, so that every tensor is requested from the system.
#   tests/oom/oom.sh BUILD [MOST]
set -eu
cd "$(dirname "$0")/../.."
build=$1
most=${2:-1000000000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
findings=0
cc -O2 tests/oom/programs/starve.c -o "$build/starve"
cc -O2 -fPIC -shared tests/oom/programs/fail_alloc.c -o "$build/fail_alloc.so" -ldl

# starve RESULT PROGRAM ARGUMENT...: RESULT is a file it writes, or - for its output
starve() {
    result=$1 program=$2
    shift 2
    "$build/starve" "$build/fail_alloc.so" "$scratch" "$result" "$most" "$build/$program" "$@" || findings=1
}

text=$scratch/text
quiz=$scratch/quiz
run=$scratch/run
"$build/stories" --quiz 3 > "$quiz"
{ head -c 5000 CONTRIBUTING.md; cat "$quiz"; } > "$text" # with all characters of the quiz

starve - stories --quiz 3

smallest="--steps 2 --batch 2 --test-rows 2 --length 2 --width 4"
# shellcheck disable=SC2086
{
    starve - toys recall $smallest --scores --ablate --attribution
    starve - toys regression $smallest --warmup 0 --heads 2 --attention
    starve - toys copy $smallest --seeds 3 --jobs 1 --csv "$scratch/runs" --force
}

starve "$scratch/model" next_token --steps 1 --save "$scratch/model"
"$build/next_token" --steps 1 --save "$scratch/model" > /dev/null 2>&1
starve - next_token --load "$scratch/model" --steps 0 --prompt the

tiny="--n-layer 1 --n-head 2 --n-embd 8 --context 8 --batch 2 --dropout 0.1 --eval-windows 3"
# shellcheck disable=SC2086
{
    starve "$run" gpt train --text "$text" $tiny --steps 2 --force --save "$run" --best "$run.best" --log "$run.log" \
        --quiz "$quiz" --report "$run.html"
    starve "$run" gpt train --text "$text" $tiny --steps 1 --force --save "$run" --level bpe --vocab 270
    base=$scratch/base
    "$build/gpt" train --text "$text" $tiny --steps 2 --save "$base" --log "$base.log" > /dev/null 2>&1
}
starve "$run" gpt train --resume "$base" --steps 3 --force --save "$run" --log "$base.log"
rows=$(cut -d, -f1 "$base.log" | tr '\n' ' ')
[ "$rows" = "step 1 2 3 " ] || { echo "oom: the log has the rows $rows"; findings=1; }
starve - gpt sample --load "$base" --length 4 --prompt The
starve - gpt eval --load "$base" --text "$text" --quiz "$quiz"
starve - gpt sample --load "$base" --length 3

[ -z "$(find "$scratch" -name '*.tmp.*')" ] || { echo "oom: temporary files are left"; findings=1; }
exit "$findings"
