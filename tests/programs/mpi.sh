#!/bin/sh
# Tests that train_mpi and toys_mpi give the same results on 1, 2 and 4 ranks, and that an error on one rank ends all
# ranks. `make mpi` builds them.
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

# expect STATUS WORDS ARGUMENT...: mpirun exits with this status; its ranks print the words once on stderr, and
# nothing on stdout
expect() {
    wanted=$1 words=$2
    shift 2
    status=0
    $run "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
    [ "$status" -eq "$wanted" ] || fail "$*: status $status, not $wanted"
    [ "$(grep -c "^train_mpi: " "$scratch/err")" -eq 1 ] || fail "$*: not one line"
    grep -q "^train_mpi: .*$words" "$scratch/err" || fail "$*: no '$words'"
    [ ! -s "$scratch/out" ] || fail "$*: printed something"
}

# ---- the same losses ----

for ranks in 1 2 4; do
    $run -np $ranks "$build/train_mpi" CHANGELOG.md 50 8 > "$scratch/out" 2> "$scratch/err" ||
        fail "$ranks ranks: status $?"
    grep "^step " "$scratch/out" > "$scratch/$ranks"
done
awk '
    FNR == 1 { file++ }
    { loss[file, $2] = $4; lines++ }
    file == 1 { steps[++count] = $2 }
    END {
        if (count != 6 || lines != 18) { print "not 6 losses each"; exit 1 }
        if (!(loss[1, 50] < loss[1, 1] - 1)) { print "the loss does not fall"; exit 1 }
        for (i = 1; i <= count; i++) for (f = 2; f <= 3; f++) {
            off = loss[f, steps[i]] - loss[1, steps[i]]
            if (off < 0) off = -off
            if (!(off <= 1e-5)) { print "step", steps[i] ": off by", off; bad = 1 }
        }
        exit bad
    }' "$scratch/1" "$scratch/2" "$scratch/4" > "$scratch/out" || fail "the losses differ"

# ---- rejected arguments ----

program=$build/train_mpi
printf 'abc' > "$scratch/short"
expect 2 "usage: mpirun" -np 2 "$program"
expect 2 "usage: mpirun" -np 1 "$program" CHANGELOG.md 1 2 3
expect 2 "10 is not divisible by 4 ranks; try 12" -np 4 "$program" CHANGELOG.md 5 10
expect 2 "1 is not divisible by 2 ranks; try 2" -np 2 "$program" CHANGELOG.md 5 1
expect 2 "STEPS: '0' is not a whole" -np 2 "$program" CHANGELOG.md 0
expect 2 "BATCH: '-8' is not a whole" -np 2 "$program" CHANGELOG.md 5 -8
expect 2 "BATCH: '8x' is not a whole" -np 2 "$program" CHANGELOG.md 5 8x
expect 2 "cannot read $scratch/none: No such file" -np 2 "$program" "$scratch/none"
expect 2 "$scratch is not a regular file" -np 2 "$program" "$scratch"
expect 2 "has 3 bytes; a context of 64 needs 65" -np 4 "$program" "$scratch/short"

# An error on one rank ends all ranks.
expect 1 "rank 1: HEED_ERR_VALUE: HEED_ISA=v9" -np 1 "$program" CHANGELOG.md 5 8 : \
    -np 1 env HEED_ISA=v9 "$program" CHANGELOG.md 5 8
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

# refused WORDS ARGUMENT...: all ranks end, and one says why
refused() {
    words=$1
    shift
    status=0
    $run -np 2 "$build/toys_mpi" "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
    [ $status -eq 2 ] || fail "toys_mpi $*: status $status, not 2"
    [ "$(grep -c "^toys: .*$words" "$scratch/err")" -eq 1 ] || fail "toys_mpi $*: no line, or more, with '$words'"
}
refused "no task is called 'cpoy'" cpoy
refused "unknown flag --nope" copy --nope
refused "--csv: cannot write /none/x" copy --csv /none/x
refused "no flag is called widht" copy --sweep widht=3
echo "mpi: 1, 2 and 4 ranks agree"
