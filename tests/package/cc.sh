#!/bin/sh
# Compiles Heed without make, with one command and as heed.h and heed.c, by gcc, clang and, if it is there, gcc for
# aarch64: without a warning, with the results of make's library. Then a program with heed.h, as C and C++. tests/package/cc.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
. tests/common/expect.sh
recorded=$PWD/tests/fixtures/output/quickstart.txt

# cc COMPILER ARGUMENT...
cc() {
    check "$@" -O2 -Wall -Wextra -Werror -lm -pthread
}

# bits_of PROGRAM: hashes of the results of all kernels
bits_of() {
    for isa in baseline v3 v4; do
        echo "$isa" && { HEED_ISA=$isa "$1" || echo "not supported here"; }
    done
}
cc gcc -Isrc tests/package/bits.c "$build/libheed.a" -o "$scratch/bits"
bits_of "$scratch/bits" > "$scratch/library" 2> "$scratch/err"

# heed.h in several standards of C and in C++17, with warnings that users may have
for language in "gcc -std=c11" "clang -std=c17" "gcc -std=c2x" "clang -std=c2x" \
    "g++ -x c++ -fno-exceptions -std=c++17 -Wno-missing-field-initializers"; do
    # shellcheck disable=SC2086
    check $language -Isrc -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror \
        tests/package/c_api.c -x none "$build/libheed.a" -o "$scratch/c_api" -lm -pthread
    check "$scratch/c_api"
done
sh tests/package/keywords.sh gcc clang

make BUILD="$build" amalgamation
for compiler in gcc clang; do
    cc $compiler -Isrc examples/quickstart.c src/*/*.c src/*/*/*.c -o "$scratch/quickstart"
    "$scratch/quickstart" | check cmp - "$recorded"
    check $compiler -O2 -Wall -Wextra -Werror -c "$build/amalgamation/heed.c" -o "$scratch/heed.o"
    for program in tests/fixtures/output/*.txt; do
        program=$(basename "$program" .txt)
        [ -e "examples/$program.c" ] || continue
        cc $compiler -I"$build/amalgamation" "examples/$program.c" "$scratch/heed.o" -o "$scratch/$program"
        "$scratch/$program" | check cmp - "tests/fixtures/output/$program.txt"
    done
    [ $compiler = clang ] || {
        cc gcc -Isrc tests/package/bits.c "$scratch/heed.o" -o "$scratch/bits"
        bits_of "$scratch/bits" 2> "$scratch/err" | check cmp - "$scratch/library"
    }
done

if command -v aarch64-linux-gnu-gcc qemu-aarch64 > "$scratch/out"; then
    cc aarch64-linux-gnu-gcc -static -Isrc examples/quickstart.c src/*/*.c src/*/*/*.c -o "$scratch/quickstart"
    qemu-aarch64 "$scratch/quickstart" | check cmp - "$recorded"
fi
echo "cc: passed"
