#!/bin/sh
# Makes each edit of examples/README.md and docs/answers.md in a copy of the lesson, runs it, and checks that
# it prints what the page shows.
#   tests/programs/course.sh [BUILD]
#
# In a page a `diff` block is an edit: its lines with ' ' and '-' are consecutive lines that occur exactly
# once in the lesson; they are replaced by the lines with ' ' and '+'. A `console` block begins with
# "$ build/PROGRAM ARGUMENT..."; the program, with the edits since the previous `console` block, must print
# the other lines of the block in this order; other lines may come between them.
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8 # heat maps of block characters
unset COLUMNS
build=${1:-build}
pages="examples/README.md docs/answers.md"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Splits the pages: example N becomes the files N.edits, N.command, N.lines and N.place.
# shellcheck disable=SC2086
awk -v to="$scratch/" '
    /^```/ {
        kind = inside ? "" : substr($0, 4)
        inside = !inside
        if (kind == "diff") print "@@" > (to (cases + 1) ".edits")
        fresh = kind == "console"
        next
    }
    kind == "diff" { print > (to (cases + 1) ".edits") }
    kind == "console" && fresh {
        print substr($0, 3) > (to (++cases) ".command")
        print FILENAME ":" FNR > (to cases ".place")
        fresh = 0
        next
    }
    kind == "console" { print > (to cases ".lines") }
' $pages

# edit EDITS FILE: prints the edited file; fails unless each edit matches exactly one place
edit() {
    awk '
    function replace(    i, k, place, places) {
        for (i = 1; i + olds - 1 <= lines; i++) {
            for (k = 1; k <= olds && line[i + k - 1] == old[k]; k++) ;
            if (k > olds) { place = i; places++ }
        }
        if (places != 1) { print places + 0 " places for this edit:\n" hunk > "/dev/stderr"; exit failed = 1 }
        for (i = 1; i < place; i++) changed[i] = line[i]
        for (k = 1; k <= news; k++) changed[i++] = new[k]
        for (k = place + olds; k <= lines; k++) changed[i++] = line[k]
        lines = i - 1
        for (i = 1; i <= lines; i++) line[i] = changed[i]
    }
    FILENAME == ARGV[1] { line[++lines] = $0; next }
    /^@@/ { if (olds) replace(); olds = news = 0; hunk = ""; next }
    { hunk = hunk $0 "\n" }
    /^[ -]/ { old[++olds] = substr($0, 2) }
    /^[ +]/ { new[++news] = substr($0, 2) }
    END { if (!failed) { replace(); for (i = 1; i <= lines; i++) print line[i] } exit failed }
    ' "$2" "$1"
}

number=1
while [ -e "$scratch/$number.command" ]; do
    command=$(cat "$scratch/$number.command")
    program=${command#build/}
    program=${program%% *}
    place=$(cat "$scratch/$number.place")
    if [ -e "$scratch/$number.edits" ]; then
        edit "$scratch/$number.edits" "examples/$program.c" > "$scratch/$program.c" ||
            { echo "(example at $place)"; exit 1; }
        ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Isrc -I. -Wall -Wextra "$scratch/$program.c" \
            "$build/libheed.a" -lm -pthread -o "$scratch/$program"
        run=$scratch/${command#build/}
    else
        run=$build/${command#build/}
    fi
    eval "$run" > "$scratch/printed" || echo "exit status $?" >> "$scratch/printed"
    touch "$scratch/$number.lines"
    awk -v command="$command" '
    FILENAME == ARGV[1] { wanted[++count] = $0; next }
    { if (at < count && $0 == wanted[at + 1]) at++ }
    END { if (at < count) { print command " does not print \"" wanted[at + 1] "\""; exit 1 } }
    ' "$scratch/$number.lines" "$scratch/printed" || { echo "(example at $place)"; exit 1; }
    number=$((number + 1))
done
for page in $pages; do
    grep -q "^$page:" "$scratch"/*.place || { echo "$page has no examples"; exit 1; }
done
echo "course: $((number - 1)) examples print what the pages show"
