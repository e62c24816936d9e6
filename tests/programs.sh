#!/bin/sh
# The programs as a user runs them, and the library as a user installs it.
set -eu
cd "$(dirname "$0")/.."
make -j2 all
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect STATUS WORDS COMMAND...: its exit status, and words in what it prints
expect() {
    wanted=$1 words=$2
    shift 2
    status=0
    "$@" > "$scratch/out" 2>&1 < /dev/null || status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -q -e "$words" "$scratch/out"; then
        cat "$scratch/out"
        echo "$*: status $status, not $wanted; or no '$words'"
        exit 1
    fi
}

token=build/next_token
expect 0 "it -> tasted good" $token
expect 0 "head . of 2" $token --heads 2 --steps 20
expect 0 "usage:" $token --help
expect 2 "unknown argument --nope" $token --nope
expect 2 "no number after --seed" $token --seed
expect 2 "not a number that fits: -1" $token --seed -1
expect 2 "not a number that fits: 9x" $token --heads 9x
expect 2 "not a number that fits: 99999999999999999999" $token --steps 99999999999999999999
expect 1 "HEED_ISA=v9" env HEED_ISA=v9 $token

# A reader that goes away, and a full disk.
$token | head -1 > /dev/null
if [ -e /dev/full ] && $token --steps 20 > /dev/full 2>&1; then
    echo "next_token does not notice a full disk"
    exit 1
fi

# In a terminal the progress line renews itself, and the heat map has colors.
if command -v script > /dev/null 2>&1; then
    TERM=xterm-256color script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    grep -q "$(printf '\033')\[48;5;" "$scratch/terminal"
    grep -q "$(printf '\r')step" "$scratch/terminal"
fi

# Installed, the library is found by pkg-config, from C and from C++.
make install PREFIX="$scratch/usr" > /dev/null
cat > "$scratch/mine.c" << 'END'
#include <heed.h>
int main(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 2), HEED_F32), true);
    heed_backward(heed_sum_dims(heed_mul_scalar(x, 3), HEED_DIMS(0, 1), false));
    double g = heed_at(x->grad, HEED_INDEX(1, 1));
    return heed_scope_end(&scope) != HEED_OK || g != 3 || heed_live_tensors() != 0;
}
END
cp "$scratch/mine.c" "$scratch/mine.cpp"
PKG_CONFIG_PATH=$scratch/usr/lib/pkgconfig
export PKG_CONFIG_PATH
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror "$scratch/mine.c" $(pkg-config --cflags --libs heed) \
    -o "$scratch/mine"
"$scratch/mine"
if command -v c++ > /dev/null 2>&1; then
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror "$scratch/mine.cpp" \
        $(pkg-config --cflags --libs heed) -o "$scratch/mine"
    "$scratch/mine"
fi
echo "programs: as they should"
