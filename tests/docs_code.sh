#!/bin/sh
# Compiles and runs every code block of the pages; tests/docs_code.py has the rules.
#   tests/docs_code.sh [--full] [PAGE...]
# --full runs the long commands as printed, instead of a shorter form of them.
set -eu
cd "$(dirname "$0")/.."
make -s all
exec python3 tests/docs_code.py "$@"
