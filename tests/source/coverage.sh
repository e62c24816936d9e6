#!/bin/sh
# Measures which lines and branches of src/ the tests reach, with this machine's instruction sets merged, and prints
# the lines that none reaches: tests/source/coverage.sh [folder]. Fails below LEAST_LINES and LEAST_BRANCHES percent.
set -eu
cd "$(dirname "$0")/../.."
out=${1:-build/coverage}
sh tests/install.sh check coverage
make BUILD="$out" EXTRA=--coverage "$out/test_heed"
find "$out" -name '*.gcda' -delete

# A process writes the counters of all files when it exits, which takes longer than most tests: hence --one-process. Three
# suites take long and reach no line that others do not.
"$out/test_heed" --one-process -toy -determinism -forks
for isa in baseline v3; do # the suites that compute most
    ! HEED_ISA=$isa "$out/test_heed" --has-isa ||
        HEED_ISA=$isa "$out/test_heed" --one-process ops/ batch_gemm attention_dispatch math_f32 limits parity_modules parity_optimisers optimizer
done

gcovr -r . --object-directory "$out" --filter src/ --exclude-unreachable-branches --json "$out/gcovr.json"
python3 tests/source/coverage.py "$out/gcovr.json" tests/source/coverage.txt "${LEAST_LINES:-98}" "${LEAST_BRANCHES:-92}"
