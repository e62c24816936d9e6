#!/bin/sh
# Measures which lines and branches of src/ the tests reach, with this machine's instruction sets merged, and prints
# the lines that none reaches: tests/source/coverage.sh [folder]. Fails below LEAST_LINES and LEAST_BRANCHES percent.
set -eu
cd "$(dirname "$0")/../.."
out=${1:-build/coverage}
sh tests/install.sh check coverage
make BUILD="$out" EXTRA=--coverage "$out/test_heed"
find "$out" -name '*.gcda' -delete

# A process writes the counters of all files when it exits, which takes longer than most tests. So suites that do not
# need separate processes run in one. Three
# suites take long and reach no line that others do not.
forking="error threads multihead parallel unread files gpt_files gpt_run"
run() {
    case " $forking " in
    *" $1 "*) "$out/test_heed" "$1" ;;
    *) CK_FORK=no "$out/test_heed" "$1" ;;
    esac > "$out/$1.log" 2>&1 || { cat "$out/$1.log" && exit 1; }
}
for suite in $("$out/test_heed" --suites | grep -vxE "toy|determinism|forks"); do
    run "$suite"
done
for isa in baseline v3; do # the suites that compute most
    export HEED_ISA=$isa
    for suite in $("$out/test_heed" --has-isa && echo ops limits parity optim); do
        run "$suite"
    done
done

gcovr -r . --object-directory "$out" --filter src/ --exclude-unreachable-branches --json "$out/gcovr.json"
python3 tests/source/coverage.py "$out/gcovr.json" tests/source/coverage.txt "${LEAST_LINES:-98}" "${LEAST_BRANCHES:-92}"
