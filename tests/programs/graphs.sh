#!/bin/sh
# Checks that docs/pictures/*.dot match the output of examples/graph.c, and that Graphviz, if
# installed, accepts them without a warning.
#   tests/programs/graphs.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
for file in docs/pictures/*.dot; do
    name=$(basename "$file" .dot)
    "$build/graph" "$name" | diff -u "$file" - || { echo "$file is out of date: make pictures"; exit 1; }
    if command -v dot > /dev/null; then
        warnings=$(dot -Tsvg "$file" 2>&1 > /dev/null)
        [ -z "$warnings" ] || { echo "$file: $warnings"; exit 1; }
    fi
done
echo "graphs: the pictures of docs/autograd.md are up to date"
