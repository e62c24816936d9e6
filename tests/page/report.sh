#!/bin/sh
# Writes reports with both programs and tests them in a browser: tests/page/report.sh BUILD [SCREENSHOTS]
# Needs Chromium, its driver and Python's selenium.
set -eu

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "report.sh: $1" >&2
    exit 1
}

i=0
while [ $i -lt 300 ]; do
    echo "Ann is in Kiel. She gives the rope to Dan $i."
    i=$((i + 1))
done > "$folder/text"

# A prompt that would be markup if it were not escaped.
train() {
    "$build/gpt" train --text "$folder/text" --level byte --n-layer 2 --n-head 2 --n-embd 16 --dropout 0.1 \
        --prompt '</script><img src=x onerror=alert(1)>' --eval-every 10 "$@" 2> /dev/null
}
train --steps 40 --report "$folder/gpt.html" --save "$folder/with"
train --steps 40 --save "$folder/without"
cmp -s "$folder/with" "$folder/without" || fail "--report changes training"
train --steps 0 --warmup 0 --report "$folder/empty.html"
"$build/next_token" --steps 300 --report "$folder/toy.html" --save "$folder/toy" > /dev/null 2>&1
"$build/next_token" --steps 300 --save "$folder/toy2" > /dev/null 2>&1
cmp -s "$folder/toy" "$folder/toy2" || fail "next_token --report changes training"

# The pages of build/toys: one run, and many.
"$build/toys" recall --steps 120 --scores --report "$folder/recall.html" > "$folder/with" 2> /dev/null
"$build/toys" recall --steps 120 --scores > "$folder/without" 2> /dev/null
sed 's/[0-9.]* s$//' "$folder/with" > "$folder/with.plain"
sed 's/[0-9.]* s$//' "$folder/without" | cmp -s - "$folder/with.plain" || fail "toys --report changes training"
"$build/toys" copy --sweep width=8,16 --sweep heads=1,2 --seeds 2 --steps 60 --report "$folder/sweep.html" > /dev/null 2>&1

# A resumed run continues its report.
train --steps 20 --report "$folder/part.html" --save "$folder/part"
"$build/gpt" train --resume "$folder/part" --steps 40 --report "$folder/part.html" 2> /dev/null
"$build/gpt" compare "$folder/part.html" "$folder/gpt.html" > "$folder/compared"
grep -q '^  steps *40 of 40, finished *40 of 40, finished$' "$folder/compared" || fail "resumed run"
grep -q '^since	0$' "$folder/part.html" || fail "the report of a resumed run begins again"

# gpt compare: different settings, and a message for each fault.
train --steps 40 --lr 2e-3 --report "$folder/other.html" --log "$folder/log.csv"
"$build/gpt" compare "$folder/gpt.html" "$folder/other.html" --to "$folder/two.svg" > "$folder/compared"
grep -q '^  --lr  *0.001  *0.002$' "$folder/compared" || fail "compare: no --lr"
grep -q '^  --n-layer' "$folder/compared" && fail "compare: --n-layer is the same in both"
grep -q '^  --report' "$folder/compared" && fail "compare: outputs are not settings"
grep -q 'B val_loss' "$folder/two.svg" || fail "compare: no curve of B"
"$build/gpt" compare "$folder/log.csv" "$folder/gpt.html" > "$folder/compared"
grep -q 'A log has no settings' "$folder/compared" || fail "compare: settings of a log"
grep -q 'A loss' "$folder/compared" || fail "compare: no curve of A"

# A value of several lines stays in its cell, a NaN is not the lowest loss, and a full disk is one of stdout.
sed -e 's/^\(setting	--prompt	\).*/\1two\\nlines/' -e 's/^\(curve	val_loss	1	10\) [^ ]*/\1 nan/' \
    "$folder/gpt.html" > "$folder/lines.html"
"$build/gpt" compare "$folder/lines.html" "$folder/gpt.html" > "$folder/compared"
grep -q '^  --prompt            two lines                   </script>' "$folder/compared" || fail "compare: lines"
grep -q '^  lowest val_loss     [0-9]' "$folder/compared" || fail "compare: the lowest loss"
if [ -e /dev/full ]; then
    status=0
    "$build/gpt" compare "$folder/lines.html" "$folder/gpt.html" > /dev/full 2> "$folder/errors" || status=$?
    [ $status -eq 1 ] && grep -q '^gpt: standard output: No space left' "$folder/errors" || fail "compare: a full disk"
fi

refuses() {
    words=$1
    shift
    status=0
    "$build/gpt" compare "$@" > /dev/null 2> "$folder/errors" || status=$?
    [ $status -eq 2 ] || fail "compare $*: exit status $status"
    grep -qF -- "$words" "$folder/errors" || fail "compare $*: $(cat "$folder/errors")"
}
sed 's/^state.*/state/' "$folder/gpt.html" > "$folder/damaged.html"
sed '5,$d' "$folder/gpt.html" > "$folder/cut.html"
printf 'step,loss\n1,2\n2,two\n' > "$folder/damaged.csv"
refuses "takes two files" "$folder/gpt.html"
refuses "No such file" "$folder/gpt.html" "$folder/missing"
refuses "neither a report from gpt train --report nor a log" "$folder/with" "$folder/gpt.html"
refuses "line 3 of the data is damaged" "$folder/gpt.html" "$folder/damaged.html"
refuses "not a report of a training run" "$folder/gpt.html" "$folder/cut.html"
refuses "line 3" "$folder/gpt.html" "$folder/damaged.csv"
refuses "--to is --first" "$folder/gpt.html" "$folder/other.html" --to "$folder/gpt.html"
refuses "neither a report" "$folder" "$folder/gpt.html"
refuses "is a directory" "$folder/gpt.html" "$folder/other.html" --to "$folder"

# shellcheck source=tests/page/browser.sh
. "$(dirname "$0")/browser.sh"
$python -B "$(dirname "$0")/report.py" "$folder" ${2:+"$2"}
