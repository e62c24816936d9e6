#!/bin/sh
# Does build/gpt learn a real text as PyTorch does? Trains on fixtures/gpt/licenses.txt and compares its
# log with fixtures/gpt/losses.csv, of the twin in examples/pytorch/char_gpt.py.
#   tests/gpt_job.sh [BUILD] [STEPS]
#
# With 1000 steps, as it is unless given: the first 50 losses to 1e-5, that of step 500 to 1e-3, and the last
# validation loss to 3 % and below 2.2 nats; and what it then writes consists of the text's words, at least a
# quarter of those with three letters or more. (Of random characters none does.) With fewer steps only the
# first 50 losses: while it warms up, which takes 100 steps, the learning rate does not depend on how many
# there are.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
steps=${2:-1000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

case $steps in
*[!0-9]* | "") echo "usage: tests/gpt_job.sh [BUILD] [STEPS]" >&2; exit 2 ;;
esac
[ "$steps" -gt 100 ] || steps=101
[ "$steps" -eq 1000 ] && windows=512 || windows=1
text=tests/fixtures/gpt/licenses.txt
"$build/gpt" train --text $text --steps "$steps" --eval-windows "$windows" --save "$scratch/model" \
    --log "$scratch/log.csv" > "$scratch/out" 2>&1 || { cat "$scratch/out"; exit 1; }

awk -F, -v steps="$steps" '
    function size(x) { return x < 0 ? -x : x }
    function wrong(words) { print "gpt_job: " words; failed = 1; exit 1 }
    # A number; nan and inf are none to awks of every kind.
    function number(text) {
        if (text !~ /^[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/) wrong("step " $1 ": \"" text "\" is no loss")
        return text + 0
    }
    FNR == 1 {
        split("", column)
        for (i = 1; i <= NF; i++) column[$i] = i
        next
    }
    FILENAME == ARGV[1] { loss[$1] = $column["loss"]; validation[$1] = $column["val_loss"]; next }
    {
        if ($1 != ++rows) wrong("row " rows " is of step " $1)
        off = size(number($column["loss"]) - loss[$1])
        if ($1 <= 50 && off > first) first = off
        if ($1 <= 50 && off > 1e-5 || $1 == 500 && steps == 1000 && off > 1e-3)
            wrong("step " $1 ": loss " $column["loss"] ", not " loss[$1])
        if ($1 == 500) middle = off
        last = $column["val_loss"]
    }
    END {
        if (failed) exit 1
        if (rows != steps) wrong(rows + 0 " rows, not " steps)
        printf "gpt_job: the first 50 losses are PyTorch'\''s to %.1e\n", first
        if (steps != 1000) exit
        printf "gpt_job: that of step 500 is to %.1e\n", middle
        last = number(last)
        if (size(last - validation[steps]) > 0.03 * validation[steps] || last >= 2.2)
            wrong("validation loss " last ", not " validation[steps])
        printf "gpt_job: validation loss %.5f, PyTorch'\''s is %.5f\n", last, validation[steps]
    }
' tests/fixtures/gpt/losses.csv "$scratch/log.csv"

[ "$steps" -eq 1000 ] || exit 0
"$build/gpt" sample --load "$scratch/model" --prompt "The " --length 1000 > "$scratch/sample"
words() {
    tr -cs 'A-Za-z' '\n' < "$1" | awk 'length($0) >= 3'
}
words $text > "$scratch/known"
words "$scratch/sample" | awk '
    FILENAME == ARGV[1] { known[$0]; next }
    { count++; found += $0 in known }
    END {
        printf "gpt_job: %d of the %d words that it writes stand in the text\n", found, count
        exit found * 4 < count || count < 50
    }
' "$scratch/known" -
