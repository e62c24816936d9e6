#!/bin/sh
# Follows CONTRIBUTING.md in a copy of the tree: with all of its edits the new operation builds and passes;
# without any one of them, the build or a test fails.
set -eu
cd "$(dirname "$0")/../.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# $edits: one per line, FILE <tab> PATTERN <tab> TEXT
edits=$tree/edits
awk '/^<!-- edit: / { split($0, part, "\""); file = $3; pattern = part[2]; wanted = 1; next }
     wanted && /^```c$/ { inside = 1; next }
     inside && /^```$/ { inside = wanted = 0; next }
     inside { printf "%s\t%s\t%s\n", file, pattern, $0 }' CONTRIBUTING.md > "$edits"
count=$(wc -l < "$edits")
if [ "$count" -ne 3 ]; then
    echo "CONTRIBUTING.md shows $count edits, not 3"
    exit 1
fi

# apply LEFT_OUT: makes a fresh copy of the sources with all edits but that one (0: with all)
apply() {
    for part in Makefile package src tests examples; do
        cp -Rp "$part" "$tree/"
    done
    number=0
    while IFS="$(printf '\t')" read -r file pattern text; do
        number=$((number + 1))
        [ "$number" -ne "$1" ] || continue
        pattern="$pattern" text="$text" awk '
            { print } index($0, ENVIRON["pattern"]) && !done { print ENVIRON["text"]; done = 1 }
            END { exit !done }' "$tree/$file" > "$tree/edited" ||
            { echo "$file: no line contains $pattern"; exit 1; }
        cp "$tree/edited" "$tree/$file"
    done < "$edits"
}

# check: builds and runs the gradient checks; the output is in $tree/log
check() {
    (cd "$tree" && make WERROR=-Werror build/test_heed && build/test_heed gradients) > "$tree/log" 2>&1
}

apply 0
if ! check; then
    tail -20 "$tree/log"
    echo "the operation of CONTRIBUTING.md does not build or pass"
    exit 1
fi
echo "all three edits: built and checked"
if (cd "$tree" && build/test_heed parity) > "$tree/log" 2>&1 ||
    ! grep -q "cube has no row in tests/parity.def" "$tree/log"; then
    tail -20 "$tree/log"
    echo "the parity suite does not report the missing comparison with PyTorch"
    exit 1
fi
echo "without PyTorch's numbers: $(grep -m1 "cube has no row" "$tree/log" | cut -c1-150)"

# expect LEFT_OUT WORDS WHAT
expect() {
    apply "$1"
    if check; then
        echo "without $3 everything passes"
        exit 1
    fi
    if ! grep -q "$2" "$tree/log"; then
        tail -20 "$tree/log"
        echo "without $3 the output does not contain '$2'"
        exit 1
    fi
    echo "without $3: $(grep -m1 "$2" "$tree/log" | cut -c1-150)"
}
expect 1 "heed_cube" "the definition"
expect 2 "heed_cube" "the prototype"
expect 3 "cube" "the row"
