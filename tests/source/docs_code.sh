#!/bin/sh
[ ! -d "${1-}" ] || shift # BUILD
# Compiles and runs every code block of the pages; tests/source/docs_code.py has the rules.
#   tests/source/docs_code.sh [--full] [PAGE...]
# --full runs the long commands as printed, instead of a shorter form of them.
set -eu
cd "$(dirname "$0")/../.."
make -s all
[ ! -d "${1-}" ] || shift # BUILD
exec python3 tests/source/docs_code.py "$@"
