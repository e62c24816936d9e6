#!/bin/sh
# Tests the page in browsers: tests/page/page.sh BUILD [SCREENSHOTS]. Needs BUILD/page/attention.html, page_hash, page_logits and gpt,
# Chromium, its driver and Python's selenium; with Firefox and axe-core (PyPI axe-core-python) it checks more.
set -eu

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shellcheck source=tests/page/browser.sh
. "$(dirname "$0")/browser.sh"

# Without a browser, and with the kernels that WebAssembly uses.
one=$(HEED_ISA=baseline "$build/page_hash" 500 1)
two=$(HEED_ISA=baseline "$build/page_hash" 500 2)
HEED_ISA=baseline "$build/page_story" "$build/story.bin" > "$folder/story"
cp "$build/story.bin" "$folder"
$python -B "$(dirname "$0")/page.py" "$build/page/attention.html" "$folder" "$one" "$two" ${2:+"$2"}
