#!/bin/sh
# Compares the functions that the shared library exports, and the sizes of the public types on 64-bit machines, with
# package/symbols.txt (docs/abi.md): tests/package/symbols.sh [--update] [BUILD]. `make shared` must have run.
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C
. tests/common/expect.sh
update=false
[ "${1-}" != --update ] || { update=true && shift; }
build=${1:-build}
list=package/symbols.txt

nm -D --defined-only "$build/shared/libheed.so" | awk '{ print $3 }' | sort > "$scratch/symbols"

# Types end with "} heed_shape;", or begin with "struct heed_tensor {".
cc=${CC:-cc}
{
    printf '#include <stdio.h>\n#include "heed.h"\nint main(void)\n{\n'
    $cc -E -P -Isrc src/heed.h | sed -n -e 's/.*} \(heed_[a-z0-9_]*\);.*/\1/p' \
        -e 's/^ *\(struct heed_[a-z0-9_]*\) {.*/\1/p' | sort -u |
        sed 's/.*/    printf("sizeof(&) = %zu\\n", sizeof(&));/'
    printf '    return 0;\n}\n'
} > "$scratch/sizes.c"
$cc -Isrc "$scratch/sizes.c" -o "$scratch/sizes"
"$scratch/sizes" >> "$scratch/symbols"
check [ "$(grep -c sizeof "$scratch/symbols")" -gt 40 ]

if $update; then
    cp "$scratch/symbols" $list
    exit
fi
if ! diff -u $list "$scratch/symbols"; then
    echo "symbols: the ABI changed; docs/abi.md says what is allowed. If it is intended, run: make symbols"
    exit 1
fi
echo "symbols: $(grep -vc sizeof $list) functions, $(grep -c sizeof $list) types, as in $list"
