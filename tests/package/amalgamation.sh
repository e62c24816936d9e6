#!/bin/sh
# Makes heed.h and heed.c, and uses them as a program would: in a folder with only these two files, with the
# warnings of gcc and clang. Kernels must give the same bits as the library's of the same instruction set, and the
# suites that depend most on the compiler must pass. With --all: all suites.
#   tests/package/amalgamation.sh [--all] [BUILD]
set -eu
cd "$(dirname "$0")/../.."
suites="ops/ parity_modules parity_optimisers version create read map scope thread parallel print generator math_f32 batch_gemm attention_dispatch
    portable denormal backward saved accumulate grad apply random_graphs optimizer optimizer_state optim_update clip flatten
    param_groups safetensors checkpoint training"
[ "${1-}" != --all ] || { suites= && shift; }
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

# shellcheck disable=SC2086
"$joined/test_heed" $suites
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
    HEED_ISA=v3 ./quickstart > errors 2>&1 || : # compiled for the baseline
    grep -q 'HEED_ISA=v3: unset it, or use baseline$' errors || fail "HEED_ISA=v3 names instruction sets that it lacks"
    $compiler -shared heed.o -lm -pthread -o libheed.so
    nm -D --defined-only libheed.so | awk '{ print $3 }' > symbols
    grep -qx heed_matmul symbols || fail "heed_matmul is not exported by $compiler"
    ! grep -vx 'heed_[a-z0-9_]*' symbols || fail "other names than heed_... are exported by $compiler"
    ! grep -x 'heed_choose_isa\|heed_kernels_.*\|heed_self' symbols || fail "$compiler exports internal names"
done

# ---- flags that cannot work ----

for flags in -ffast-math -mavx512f; do
    # AVX-512 exists on x86-64 only.
    case $flags,$($CC -dumpmachine) in -mavx512f,x86_64* | -ffast-math,*) ;; *) continue ;; esac
    ! $CC $flags -fsyntax-only heed.c 2> errors || fail "compiles with $flags"
    grep -q '#error' errors || fail "no #error with $flags"
done
echo "amalgamation: passed"
