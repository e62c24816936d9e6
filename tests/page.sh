#!/bin/sh
# Tests the page in browsers: tests/page.sh BUILD [SCREENSHOTS]. Needs BUILD/page/attention.html and BUILD/page_hash,
# Chromium, its driver and Python's selenium; with Firefox and axe-core (PyPI axe-core-python) it checks more.
set -eu

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Debian's selenium is installed for /usr/bin/python3, which may not come first in PATH.
python=python3
python3 -c "import selenium" 2> /dev/null || python=/usr/bin/python3

[ -d "$build/axe/axe_core_python" ] || $python -m pip install -q --target "$build/axe" axe-core-python 2> /dev/null || true

# Without a browser, and with the kernels that WebAssembly uses.
one=$(HEED_ISA=baseline "$build/page_hash" 500 1)
two=$(HEED_ISA=baseline "$build/page_hash" 500 2)
PYTHONPATH="$build/axe" $python -B "$(dirname "$0")/page.py" "$build/page/attention.html" "$folder" "$one" "$two" ${2:+"$2"}
