#!/bin/sh
# Are the pages true? Every heed_ name in them is one that a public header has, every link leads to a
# file, and docs/pytorch.md has every operation that the headers declare.
set -eu
cd "$(dirname "$0")/.."
status=0
headers=$(grep -ohE '#include "[^"]+"' src/heed.h | cut -d'"' -f2 | sort -u | sed 's#^#src/#')
pages="README.md CONTRIBUTING.md bench/README.md docs/*.md examples/*.md"

# Names in macros of ops.def are written out in elementwise.h, so that a grep finds all.
# shellcheck disable=SC2086
known=$(grep -ohE '\bheed_[a-zA-Z0-9_]+' $headers | sort -u)
# What programs print stands in fences without a language, and may be anything. CONTRIBUTING.md shows how
# an operation would be added.
said=$(cat $pages | awk '/^```/ { output = !output && /^```$/ && !inside; inside = !inside; next } !output')
for name in $(echo "$said" | grep -oE '\bheed_[a-zA-Z0-9_]+' | sort -u); do
    if [ "$name" != heed_cube ] && ! echo "$known" | grep -qx "$name"; then
        grep -nE "\b$name\b" $pages
        echo "^ no public header has $name"
        status=1
    fi
done

# README's first code block is examples/quickstart.c, but for the #include, which is an installed program's.
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md > "${TMPDIR:-/tmp}/quickstart.$$"
if ! sed 's/"heed.h"/<heed.h>/' examples/quickstart.c | diff -u - "${TMPDIR:-/tmp}/quickstart.$$"; then
    echo "README's first code block is not examples/quickstart.c"
    status=1
fi
rm -f "${TMPDIR:-/tmp}/quickstart.$$"

for page in $pages; do
    for link in $(grep -oE '\]\([^)#:]+\)' "$page" | sed 's/^](//; s/)$//'); do
        if [ ! -e "$(dirname "$page")/$link" ]; then
            echo "$page: $link is not there"
            status=1
        fi
    done
done

# An operation stands in the table by its name or, with _dim, _dims or _with, by its plain form's.
# shellcheck disable=SC2046
for name in $(grep -ohE '^(heed_tensor \*|heed_status |int |bool )heed_[a-z0-9_]+\(' \
    $(echo "$headers" | grep autograd/ | grep -vE '/(op|apply|grad|gradcheck)\.h') |
    sed -E 's/.*(heed_[a-z0-9_]+)\(/\1/'); do
    plain=$(echo "$name" | sed -E 's/_(dim|dims|with)$//')
    case $name in
    *_backward) continue ;; # derivatives with a public name
    esac
    if ! grep -qE "\b($name|$plain)\b" docs/pytorch.md; then
        echo "docs/pytorch.md does not have $name"
        status=1
    fi
done
[ $status -ne 0 ] || echo "docs: names and links are there"
exit $status
