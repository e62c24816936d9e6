#!/bin/sh
# Makes heed.h and heed.c, and uses them as a program would: in a folder with only these two files, with the warnings of
# gcc and clang. Kernels must give the same bits as the library's of the same instruction set, and the suites must pass.
#   tests/package/amalgamation.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
joined=$build/amalgamation
CC=${CC:-cc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "amalgamation: $*"
    exit 1
}

programs=$(basename -s .txt tests/fixtures/output/*.txt)
# shellcheck disable=SC2086
make BUILD="$build" CC="$CC" WERROR=-Werror "$build/libheed.a" "$joined/test_heed" $(printf "$joined/%s " $programs)

# ---- with the library's tests ----

"$joined/test_heed" tensor/ autograd/ ops/ nn/
sh tests/programs/outputs.sh "$joined"
for library in "$joined/heed.o" "$build/libheed.a"; do
    $CC -std=c11 -Isrc tests/package/bits.c "$library" -lm -pthread -o "$scratch/bits"
    isa=$("$scratch/bits" --isa)
    HEED_ISA=${first=$isa} "$scratch/bits" > "$scratch/$(basename "$library")"
done
diff "$scratch/heed.o" "$scratch/libheed.a" || fail "results differ from the library's with HEED_ISA=$first"

# ---- in a folder of its own ----

cp "$joined/heed.h" "$joined/heed.c" "$scratch"
sed 's/<heed.h>/"heed.h"/' examples/quickstart.c > "$scratch/quickstart.c"
cd "$scratch"
for compiler in "$CC" clang; do
    command -v "${compiler##* }" > /dev/null || continue
    (cd / && $compiler -Wall -Wextra -Werror -fPIC -c "$scratch/heed.c" -o "$scratch/heed.o") # it includes itself
    $compiler -Wall -Wextra -Werror quickstart.c heed.o -lm -pthread -o quickstart
    ./quickstart | grep -q '^the cow hid and it -> mooed$' || fail "quickstart fails with $compiler"
done
echo "amalgamation: passed"
