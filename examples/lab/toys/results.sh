#!/bin/sh
# The figures of docs/toys.md: examples/lab/toys/results.sh [BUILD [FOLDER]], which is build/toys-results by default. Takes
# hours on two cores. What has been made is kept, so after an interruption the same command does the rest; delete the
# folder after changes. Results that take long come last. QUICK=1 takes a few steps of everything, to test the script.
set -eu
cd "$(dirname "$0")/../../.."
build=${1:-build}
out=${2:-$build/toys-results}
mkdir -p "$out"
trap 'exit 130' INT

# toys ARGUMENT...: with QUICK, these settings are replaced by small ones
toys() {
    if [ -n "${QUICK:-}" ]; then
        left=$#
        while [ $left -gt 0 ]; do
            case $1 in
            --steps | --warmup | --symbols | --eval-every | --test-rows) shift 2 && left=$((left - 2)) ;;
            --seeds) set -- "$@" --seeds 2 && shift 2 && left=$((left - 2)) ;;
            *) set -- "$@" "$1" && shift && left=$((left - 1)) ;;
            esac
        done
        set -- "$@" --steps 10 --warmup 0 --eval-every 5 --test-rows 16
    fi
    "$build/toys" "$@"
}

# many NAME ARGUMENT...: runs with their table and page; one NAME ARGUMENT...: a run with its log and page, and what it shows
many() {
    name=$1
    shift
    echo "== $name: toys $*"
    toys "$@" --csv "$out/$name.csv" --report "$out/$name.html" --resume > "$out/$name.new"
    mv "$out/$name.new" "$out/$name.txt"
    cat "$out/$name.txt"
}
one() {
    name=$1
    shift
    echo "== $name: toys $*"
    if [ ! -e "$out/$name.txt" ]; then
        toys "$@" --log "$out/$name.log" --report "$out/$name.html" --force > "$out/$name.new"
        mv "$out/$name.new" "$out/$name.txt"
    fi
    cat "$out/$name.txt"
}

# ---- each task, and controls that fail ----

for task in copy reverse sort induction recall majority parity dyck lottery; do
    many $task $task --seeds 20
done
many induction_1_layer induction --layers 1 --seeds 20
many induction_no_positions induction --layers 1 --positions none --seeds 3
many recall_1_layer recall --layers 1 --seeds 10
many copy_no_positions copy --positions none --seeds 10

# ---- inside the induction model ----

for seed in 0 1 2; do
    one induction_seed_$seed induction --seed $seed --scores --ablate --attribution --patch
done
one induction_sudden induction --steps 300 --eval-every 10
one induction_value induction --patch --input "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3" \
    --corrupted "1 2 3 20 5 6 7 8 9 10 11 12 1 2 3"
one induction_key induction --patch --input "1 2 3 4 5 6 7 8 9 10 11 12 1 2 3" \
    --corrupted "1 2 20 4 5 6 7 8 9 10 3 12 1 2 3"
many induction_1_head induction --heads 1 --steps 4000 --until 0.99 --seeds 5
one induction_1_head_inside induction --heads 1 --steps 4000 --until 0.99 --scores --ablate --patch

# ---- what is needed, and what happens on longer sequences ----

many recall_sizes recall --steps 2000 --until 0.99 --sweep width=8,16,32 --sweep heads=1,2,4 --seeds 5
many sort_sizes sort --layers 1 --steps 4000 --until 0.99 --sweep width=4,8,16,32 --sweep heads=1,2,4 --seeds 5
many sort_2_layers sort --steps 4000 --until 0.99 --sweep width=4,8,16,32 --sweep heads=1,2,4 --seeds 5
many sort_attention_only sort --layers 2 --ff 0 --steps 4000 --until 0.99 --sweep width=16,32 --sweep heads=1,2 --seeds 5
one parity_by_position parity --by-position
many copy_longer copy --longer 12 --sweep positions=rotary,sinusoidal,learned --seeds 10
many recall_longer recall --longer 12 --sweep positions=rotary,sinusoidal,learned,none --seeds 10

# ---- minutes to hours ----

many modadd modadd --until 0.99 --seeds 20
one modadd_seed_0 modadd --until 0.99 --spectrum
many modadd_slower modadd --lr 1e-3 --seeds 3
for seed in 0 1 2 3 4; do
    one regression_seed_$seed regression --seed $seed --test-rows 2048 --by-position
done
awk '/^ *[0-9]+ / { loss[$1] += $2; best[$1] += $4; n[$1]++; if ($1 > last) last = $1 }
    END {
        print "mean over the seeds: examples, error of the model, of least squares"
        for (i = 1; i <= last; i += 2) printf "%8d %9.3f %9.3f\n", (i - 1) / 2, loss[i] / n[i], best[i] / n[i]
    }' "$out"/regression_seed_?.txt | tee "$out/regression.txt"
one modadd_113 modadd --symbols 113 --share 0.3 --width 128 --ff 512 --steps 8000 --until 0.99 --spectrum
one modadd_113_paper modadd --symbols 113 --share 0.3 --width 128 --ff 512 --lr 1e-3 --steps 30000 --until 0.99 --spectrum
