#!/bin/sh
# Tests the page in Chromium: tests/page/page.sh BUILD. Needs BUILD/page/attention.html, page_hash, page_story, page_logits and
# gpt, Chromium, its driver and Python's selenium; with axe-core (PyPI axe-core-python) it checks more.
set -eu

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shellcheck source=tests/page/browser.sh
. "$(dirname "$0")/browser.sh"

# Without a browser, and with the kernels that WebAssembly uses.
export HEED_ISA=baseline
"$build/page_story" "$build/story.bin" > "$folder/story"
$python -B "$(dirname "$0")/page.py" "$build/page/attention.html" "$folder" "$("$build/page_hash" 500 1)" "$("$build/page_hash" 500 2)"
