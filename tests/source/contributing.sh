#!/bin/sh
# Follows CONTRIBUTING.md in a copy of the tree: with its four edits and one command every suite that knows operations
# passes; without any one of them, the build or a test fails and says what is missing.
# PYTORCH is a Python that has PyTorch.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTORCH:-build/torch/bin/python}
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree log=$scratch/log

# $edits: one per line, FILE <tab> PATTERN <tab> TEXT
edits=$scratch/edits
awk '/^<!-- edit: / { split($0, part, "\""); file = $3; pattern = part[2]; wanted = 1; next }
     wanted && !inside && /^```/ { inside = 1; next }
     inside && /^```$/ { inside = wanted = 0; next }
     inside { printf "%s\t%s\t%s\n", file, pattern, $0 }' CONTRIBUTING.md > "$edits"
count=$(wc -l < "$edits")
if [ "$count" -ne 4 ]; then
    echo "CONTRIBUTING.md shows $count edits, not 4"
    exit 1
fi

# apply LEFT_OUT: restores the sources of the copy, and makes all edits but that one (0: all)
apply() {
    mkdir -p "$tree"
    for part in ./*.md .ci CITATION.cff LICENSE Makefile bench package src tests examples docs; do
        cp -Rp "$part" "$tree/"
    done
    number=0
    while IFS="$(printf '\t')" read -r file pattern text; do
        number=$((number + 1))
        [ "$number" -ne "$1" ] || continue
        pattern="$pattern" text="$text" awk '
            { print } index($0, ENVIRON["pattern"]) && !done { print ENVIRON["text"]; done = 1 }
            END { exit !done }' "$tree/$file" > "$scratch/edited" ||
            { echo "$file: no line contains $pattern"; exit 1; }
        cp "$scratch/edited" "$tree/$file"
    done < "$edits"
}

# inside COMMAND...: runs it in the copy; what it prints is in $log
inside() {
    (cd "$tree" && "$@") > "$log" 2>&1
}

# passes COMMAND...: the same, and prints the end of the log if it fails
passes() {
    inside "$@" || { tail -20 "$log"; echo "contributing: failed with all edits: $*"; exit 1; }
}

# fails WORDS WHAT COMMAND...: the command fails and its output contains the words
fails() {
    words=$1 what=$2
    shift 2
    if inside "$@"; then
        echo "contributing: everything passes without $what"
        exit 1
    fi
    if ! grep -q "$words" "$log"; then
        tail -20 "$log"
        echo "contributing: without $what the output does not contain '$words'"
        exit 1
    fi
    echo "without $what: $(grep -m1 "$words" "$log" | cut -c1-150)"
}

build() {
    make WERROR=-Werror build/test_heed
}

apply 0
passes build
fails "make fixtures OP=cube" "make fixtures" build/test_heed elementwise
passes sh tests/source/docs.sh
passes make fixtures OP=cube PYTORCH="$python"
passes build
passes build/test_heed elementwise operations expression out_of_memory
passes make shared
passes make build/fuzz_graphs
passes build/fuzz_graphs 1 2000
passes "$python" -B tests/differential/run.py build/shared/libheed.so --only cube --cases 100
echo "four edits, make fixtures OP=cube: every suite that knows operations passes"

apply 1
fails "heed_cube" "the definition" build
apply 2
fails "heed_cube" "the prototype" build
apply 3
check_rows() {
    build && build/test_heed operations
}
fails "cube has no row" "the row" check_rows
apply 4
fails "does not list heed_cube" "the row for readers" sh tests/source/docs.sh
