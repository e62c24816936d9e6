#!/bin/sh
# Compiles Heed without make: with one command, and as heed.h and heed.c, also for arm64; without a warning, with the
# results of make's library. And a program with heed.h, by gcc and clang, as C and C++. tests/package/cc.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8 # as tests/programs/outputs.sh, which recorded what programs print
unset COLUMNS
build=${1:-build}
. tests/common/expect.sh

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

# One command, without make
cc gcc -Isrc examples/quickstart.c src/*/*.c src/*/*/*.c -o "$scratch/quickstart"
"$scratch/quickstart" | check cmp - tests/fixtures/output/quickstart.txt

# heed.h and heed.c, here and, if the tools are there, on an emulated arm64: every program whose output is recorded
make BUILD="$build" amalgamation
prints_as_recorded() {
    compiler=$1 emulator=$2 heed=$scratch/heed_$1.o
    check $compiler -O2 -Wall -Wextra -Werror -c "$build/amalgamation/heed.c" -o "$heed"
    for output in tests/fixtures/output/*.txt; do
        program=$(basename "$output" .txt)
        [ -e "examples/$program.c" ] || continue
        case $emulator$program in qemu*lesson[89]*) continue ;; esac # minutes
        cc $compiler -static -I"$build/amalgamation" "examples/$program.c" "$heed" -o "$scratch/$program"
        $emulator "$scratch/$program" | check cmp - "$output"
    done
}
prints_as_recorded gcc ""
cc gcc -Isrc tests/package/bits.c "$scratch/heed_gcc.o" -o "$scratch/bits"
bits_of "$scratch/bits" 2> "$scratch/err" | check cmp - "$scratch/library"
if command -v aarch64-linux-gnu-gcc qemu-aarch64 > "$scratch/out"; then
    prints_as_recorded aarch64-linux-gnu-gcc qemu-aarch64
else
    skip "arm64: there is no aarch64-linux-gnu-gcc or qemu-aarch64"
fi
echo "cc: passed"
