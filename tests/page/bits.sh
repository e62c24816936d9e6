#!/bin/sh
# Kernels in WebAssembly give the bits of the baseline kernels, and the signs of zeros are the same for all instruction
# sets: tests/page/bits.sh BUILD. Needs emcc, node, BUILD/libheed.a and BUILD/page/libheed.a.
set -eu
cd "$(dirname "$0")/../.."

build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bits="-Isrc tests/package/bits.c"

# same WHAT FILE: fails if the file differs from the baseline's.
same() {
    diff "$folder/baseline" "$2" || { echo "bits.sh: $1 differs from HEED_ISA=baseline" >&2 && exit 1; }
}

# shellcheck disable=SC2086
${CC:-cc} $bits "$build/libheed.a" -lm -pthread -o "$folder/bits"
# shellcheck disable=SC2086
emcc $bits "$build/page/libheed.a" -sSUPPORT_LONGJMP=wasm -sALLOW_MEMORY_GROWTH -sSINGLE_FILE -o "$folder/bits.js"

HEED_ISA=baseline "$folder/bits" --signs > "$folder/baseline"
for isa in v3 v4; do
    HEED_ISA=$isa "$folder/bits" --isa > "$folder/isa" 2>&1 || continue # not supported on this machine
    HEED_ISA=$isa "$folder/bits" --signs > "$folder/signs"
    same "the sign of a zero with HEED_ISA=$isa" "$folder/signs"
done
node "$folder/bits.js" --signs > "$folder/signs"
same "the sign of a zero in WebAssembly" "$folder/signs"

# f64 depends on libm.
HEED_ISA=baseline "$folder/bits" | grep -v f64 > "$folder/baseline"
node "$folder/bits.js" | grep -v f64 > "$folder/wasm"
same "a result in WebAssembly" "$folder/wasm"
echo "bits.sh: passed"
