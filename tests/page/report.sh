#!/bin/sh
# Writes reports with the programs and tests them in a browser: tests/page/report.sh BUILD
# Needs Chromium, its driver and Python's selenium.
set -eu

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "report.sh: $1" >&2
    exit 1
}

echo '</script><img src=x onerror=alert(1)>' > "$folder/text"
i=0
while [ $i -lt 300 ]; do
    echo "Ann is in Kiel. She gives the rope to Dan $i."
    i=$((i + 1))
done >> "$folder/text"

# A prompt that would be markup if it were not escaped.
train() {
    "$build/gpt" train --text "$folder/text" --n-layer 2 --n-head 2 --n-embd 16 --dropout 0.1 \
        --prompt '</script><img src=x onerror=alert(1)>' --eval-every 10 "$@" 2> /dev/null
}
train --steps 40 --report "$folder/gpt.html" --save "$folder/with" --log "$folder/a.csv"
train --steps 40 --save "$folder/without" --log "$folder/b.csv"
cmp -s "$folder/with" "$folder/without" || fail "--report changes training"
cp examples/lab/view.html "$folder/view.html"

"$build/toys" recall --steps 120 --scores --report "$folder/recall.html" > "$folder/with" 2> /dev/null
"$build/toys" recall --steps 120 --scores > "$folder/without" 2> /dev/null
sed 's/[0-9.]* s$//' "$folder/with" > "$folder/with.plain"
sed 's/[0-9.]* s$//' "$folder/without" | cmp -s - "$folder/with.plain" || fail "toys --report changes training"
"$build/toys" copy --sweep width=8,16 --seeds 2 --steps 60 --report "$folder/sweep.html" > /dev/null 2>&1

# shellcheck source=tests/page/browser.sh
. "$(dirname "$0")/browser.sh"
$python -B "$(dirname "$0")/report.py" "$folder"
