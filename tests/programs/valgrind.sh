#!/bin/sh
# Runs a few programs under valgrind, one per core: it sees uninitialised memory, which AddressSanitizer does not. Fails
# on errors and leaks. The build must request each tensor from the system.
#   tests/programs/valgrind.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
export build=$1
small="--text CONTRIBUTING.md --n-layer 1 --n-embd 8 --context 8 --batch 2 --dropout 0.1 --eval-windows 2 --steps 2"
xargs -d '\n' -n 1 -P "$(nproc)" sh -c '
    said=$(valgrind -q --leak-check=full --error-exitcode=3 "$build"/$0 2>&1 > /dev/null) ||
        { printf "%s\n" "$said" "valgrind: $0"; exit 1; }' << END
gpt train $small
gpt train $small --level bpe --vocab 260
toys induction --steps 2 --batch 2 --test-rows 2 --length 8 --width 16 --scores --ablate
check_attention merged_by_view
lesson4_math_trick
custom_module
END
echo "valgrind: no errors or leaks"
