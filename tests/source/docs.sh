#!/bin/sh
# Checks the pages: every heed_ name in them is in heed.h, every link leads to a file or a heading, and pytorch.md lists
# every operation and module.
set -eu
cd "$(dirname "$0")/../.."
status=0
pages="README.md CONTRIBUTING.md bench/README.md tests/README.md docs/*.md examples/*.md"

# shellcheck disable=SC2086
known=$(grep -ohE '\bheed_[a-zA-Z0-9_]+' src/heed.h | sort -u)
# Program output, in fences without a language, is not checked. heed_cube is the example in CONTRIBUTING.md.
said=$(cat $pages | awk '/^```/ { output = !output && /^```$/ && !inside; inside = !inside; next } !output')
for name in $(echo "$said" | grep -oE '\bheed_[a-zA-Z0-9_]+' | sort -u); do
    if [ "$name" != heed_cube ] && ! echo "$known" | grep -qx "$name"; then
        grep -nE "\b$name\b" $pages
        echo "^ heed.h does not have $name"
        status=1
    fi
done

# README's first code block is examples/quickstart.c.
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md > "${TMPDIR:-/tmp}/quickstart.$$"
if ! diff -u examples/quickstart.c "${TMPDIR:-/tmp}/quickstart.$$"; then
    echo "README's first code block is not examples/quickstart.c"
    status=1
fi
rm -f "${TMPDIR:-/tmp}/quickstart.$$"

# Each question leads on: to a file, a heading, or a place on the page (`#...`).
awk '/^### / { if (question && !leads) print question; question = $0; leads = 0; next } /\]\(|`#[a-z]/ { leads = 1 }
    END { if (!leads) print question }' docs/questions.md > "${TMPDIR:-/tmp}/questions.$$"
if [ -s "${TMPDIR:-/tmp}/questions.$$" ]; then
    cat "${TMPDIR:-/tmp}/questions.$$"
    echo "^ docs/questions.md: these questions have no link"
    status=1
fi
rm -f "${TMPDIR:-/tmp}/questions.$$"

for page in *.md */*.md; do
    # Files named in the text. Templates (NAME, *) and what a build writes are not.
    for path in $(grep -oE '`(src|tests|examples|bench|docs|package)/[a-zA-Z0-9_./-]+`' "$page" | tr -d '`'); do
        case $path in *[A-Z][A-Z]*) continue ;; esac
        if [ ! -e "$path" ]; then
            echo "$page: $path does not exist"
            status=1
        fi
    done
    for link in $(grep -oE '\]\([^):]+\)' "$page" | sed 's/^](//; s/)$//'); do
        file=$(dirname "$page")/${link%%#*}
        [ "${link%%#*}" != "" ] || file=$page
        if [ ! -e "$file" ]; then
            echo "$page: $link does not exist"
            status=1
            continue
        fi
        # A heading's anchor: small letters, without punctuation, blanks as hyphens.
        case $link in
        *#*)
            if ! sed -n 's/^#* //p' "$file" | tr '[:upper:] ' '[:lower:]-' | tr -cd 'a-z0-9_\n-' | grep -qxe "${link#*#}"; then
                echo "$page: $link: no such heading"
                status=1
            fi
            ;;
        esac
    done
done

# lists PAGE NAME...: the page has all of these names
lists() {
    page=$1
    shift
    for name in "$@"; do
        if ! grep -qE "\b$name\b" "$page"; then
            echo "$page does not list $name"
            status=1
        fi
    done
}
# shellcheck disable=SC2046,SC2086
lists docs/pytorch.md $(grep -ohE '^struct heed_[a-z_]+ \*heed_[a-z_]+_new\(' src/heed.h | grep -oE 'heed_[a-z_]+_new')
# Operations: the functions that return a tensor, but those of scopes and modules. Forms with dims share a row.
# shellcheck disable=SC2046
lists docs/pytorch.md $(grep -oE '^HEED_NEW \*heed_[a-z0-9_]+' src/heed.h | grep -oE 'heed_[a-z0-9_]+$' |
    grep -vE '_scope_|_retain$|_values$|_forward|_dims?$')
# Macros that comments of heed.h name: tests/package/c_api.c compiles them with warnings.
for name in $(grep -oE '^ *# *define +HEED_[A-Z_]+' src/heed.h | grep -oE 'HEED_[A-Z_]+' |
    grep -vE '^HEED_PRINTF$|_H$' | sort -u); do
    ! grep -E '^ ?\*|^/\*' src/heed.h | grep -qw "$name" || lists tests/package/c_api.c "$name"
done
[ $status -ne 0 ] || echo "docs: all names and links exist"
exit $status
