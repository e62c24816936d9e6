#!/bin/sh
# The lines and branches of src/ that the tests reach, with all instruction sets of this machine merged:
# tests/coverage.sh [folder]. Lines that no test reaches are printed, unless tests/coverage.txt gives a reason.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/coverage}
make BUILD="$out" OPTIMISE=-O1 EXTRA="--coverage -fprofile-update=prefer-atomic" "$out/test_heed"
find "$out" -name '*.gcda' -delete

# A process writes the counters of all files when it ends, which takes longer than most tests: suites whose tests need
# no process of their own run in one.
forking="error threads multihead parallel forks unread determinism files gpt_files gpt_run"
run() {
    case " $forking " in
    *" $1 "*) "$out/test_heed" "$1" ;;
    *) CK_FORK=no "$out/test_heed" "$1" ;;
    esac > "$out/log_$1" 2>&1 || { cat "$out/log_$1" && exit 1; }
}
for suite in $("$out/test_heed" --suites); do
    run "$suite"
done
for isa in baseline v3; do # the suites that compute most
    export HEED_ISA=$isa
    for suite in $("$out/test_heed" --has-isa && echo ops limits parity gradients optim denormal); do
        run "$suite"
    done
done

gcovr -r . --object-directory "$out" --filter src/ --exclude-unreachable-branches --json "$out/gcovr.json"
python3 tests/coverage.py "$out/gcovr.json" tests/coverage.txt
