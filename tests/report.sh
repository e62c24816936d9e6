#!/bin/sh
# Writes reports with both programs, and tests them in a browser: tests/report.sh BUILD [SCREENSHOTS]
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
    "$build/gpt" train --text "$folder/text" --level byte --n-layer 2 --n-head 2 --n-embd 16 \
        --prompt '</script><img src=x onerror=alert(1)>' --eval-every 10 "$@" 2> /dev/null
}
train --steps 40 --report "$folder/gpt.html" --save "$folder/with"
train --steps 40 --save "$folder/without"
cmp -s "$folder/with" "$folder/without" || fail "--report changes what is learned"
train --steps 0 --warmup 0 --report "$folder/empty.html"
"$build/next_token" --steps 300 --report "$folder/toy.html" --save "$folder/toy" > /dev/null 2>&1
"$build/next_token" --steps 300 --save "$folder/toy2" > /dev/null 2>&1
cmp -s "$folder/toy" "$folder/toy2" || fail "next_token --report changes what is learned"

# A resumed run continues its report.
train --steps 20 --report "$folder/part.html" --save "$folder/part"
"$build/gpt" train --resume "$folder/part" --steps 40 --report "$folder/part.html" 2> /dev/null
"$build/gpt" compare "$folder/part.html" "$folder/gpt.html" > "$folder/compared"
grep -q '^  steps *40 of 40, finished *40 of 40, finished$' "$folder/compared" || fail "resumed run"
grep -q '^since	0$' "$folder/part.html" || fail "the report of a resumed run begins again"
python3 -B "$(dirname "$0")/report.py" "$folder" ${2:+"$2"}
