#!/bin/sh
# Tests that toys_mpi gives the same results on 1, 2 and 4 ranks, and that an error on one rank ends all ranks. `make mpi`
# builds it.
#   tests/programs/mpi.sh [BUILD]
# shellcheck disable=SC2086
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Open MPI needs flags to run more ranks than cores, or as root. The timeout ends runs that hang.
export HEED_NUM_THREADS=1 # the ranks share the cores
run="timeout 300 mpirun"
if mpirun --version | grep -q "Open MPI"; then
    run="$run --oversubscribe --allow-run-as-root"
fi

# fail WORDS: prints the output and the words
fail() {
    cat "$scratch/out" "$scratch/err"
    echo "mpi: $*"
    exit 1
}

# ---- toys: the same runs on any number of ranks, and after the death of one ----

toys="copy --sweep width=8,16 --seeds 4 --steps 60"
# results CSV: its lines without the seconds, sorted
results() {
    sed 's/,[^,]*$//' "$1" | sort
}
"$build/toys" $toys --csv "$scratch/alone" > "$scratch/table" 2> "$scratch/err"
results "$scratch/alone" > "$scratch/results"
for ranks in 1 2 4; do
    $run -np $ranks "$build/toys_mpi" $toys --csv "$scratch/runs.$ranks" > "$scratch/out" 2> "$scratch/err" ||
        fail "toys_mpi, $ranks ranks: status $?"
    cmp -s "$scratch/out" "$scratch/table" || fail "toys_mpi, $ranks ranks: another table"
    results "$scratch/runs.$ranks" | cmp - "$scratch/results" || fail "toys_mpi, $ranks ranks: other results"
done
: > "$scratch/died"
$run -np 3 "$build/toys_mpi" $toys --steps 3000 --csv "$scratch/died" --force > "$scratch/out" 2> "$scratch/err" &
running=$!
while [ "$(grep -c ^copy "$scratch/died" || true)" -lt 1 ]; do sleep 0.1; done
kill -KILL "$(ps -eo pid,args | awk -v file="$scratch/died" '
    $2 ~ /toys_mpi$/ && $NF == "--force" && $(NF - 1) == file { last = $1 } END { print last }')"
wait $running && fail "a killed rank: status 0"
[ "$(grep -c ^copy "$scratch/died")" -lt 8 ] || fail "all runs had ended before the rank was killed"
$run -np 2 "$build/toys_mpi" $toys --steps 3000 --csv "$scratch/died" --resume > "$scratch/out" 2> "$scratch/err" ||
    fail "toys_mpi --resume: status $?"
[ "$(grep -c ^copy "$scratch/died")" -eq 8 ] || fail "toys_mpi --resume: not 8 runs"

# An error ends all ranks, and one says why.
status=0
$run -np 2 "$build/toys_mpi" cpoy > "$scratch/out" 2> "$scratch/err" || status=$?
[ $status -eq 2 ] && [ "$(grep -c "^toys: no task is called 'cpoy'" "$scratch/err")" -eq 1 ] || fail "status $status"
echo "mpi: 1, 2 and 4 ranks agree"
