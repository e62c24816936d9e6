#!/bin/sh
# Percentages have the same colors everywhere: page.css has those of shares.h, and nothing that draws them has others.
set -eu
cd "$(dirname "$0")/../.."

fail() {
    echo "shares.sh: $1" >&2
    exit 1
}

# color NAME: the value of HEED_SHARE_NAME
color() {
    value=$(sed -n "s/^#define HEED_SHARE_$1 *\"\(#[0-9a-f]*\)\"$/\1/p" src/tools/plot/shares.h)
    [ -n "$value" ] || fail "shares.h has no HEED_SHARE_$1"
    echo "$value"
}

# same VARIABLE LIGHT DARK: page.css gives the variable these two
same() {
    grep -qF -- "--$1: light-dark($(color "$2"), $(color "$3"));" examples/page/page.css ||
        fail "page.css: --$1 is not light-dark(HEED_SHARE_$2, HEED_SHARE_$3)"
}
same share-line LIGHT DARK
same share LIGHT_PALE DARK_PALE

for file in src/tools/plot/plot_svg.c examples/lab/common/report_page.c; do
    grep -q 'HEED_SHARE_' "$file" || fail "$file draws percentages without shares.h"
done

# Terminals: each color is xterm's number of a green (16 + 36 red + 6 green + blue, 0 to 5 each), after a grey.
sed -n 's/^ *static const int backgrounds\[\] = {\(.*\)};$/\1/p' src/tools/plot/heat_map.c | tr -d ',' | {
    read -r grey colors
    [ "$grey" -ge 232 ] || fail "heat_map.c: $grey is not a grey"
    for number in $colors; do
        cube=$((number - 16))
        green=$((cube / 6 % 6))
        [ $green -gt $((cube / 36)) ] && [ $green -ge $((cube % 6)) ] || fail "heat_map.c: $number is not green"
    done
}
echo "shares.sh: passed"
