#!/bin/sh
# Tests that the benchmark works as bench/README.md says: Heed alone, in a single round; then with peers that
# crash, print nonsense, or lack a workload, all of which must be reported; then its statistics, with canned figures.
#   tests/programs/bench.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() {
    echo "bench: $*"
    sed 's/^/    /' "$out/table"
    exit 1
}
export ROUNDS=1
tab=$(printf '\t')

PEERS=none THREADS="1 2" WORKLOADS="w1.adam w5.nt.64x64x64 w6.gelu.1024 w6.gelu.65536.subnormal start memory.w4 generate \
toys.recall seeds.w1" \
    TSV=$out/tsv sh bench/run.sh "$build" > "$out/table" 2>&1 || fail "a run without peers failed"
for line in 'w1\.adam  *us  *[0-9.]*  *[0-9.]*' 'w5\.nt\.64x64x64  *GFLOP/s  *[0-9.]*  *[0-9.]*  *[0-9]* %' \
    'w6\.gelu\.1024  *ns/element .* %' \
    'w6\.gelu\.65536\.subnormal  *ns/element .* [0-9]* %$' 'generate  *us/token  *[0-9.]*' 'start  *ms ' 'memory\.w4  *MiB '; do
    [ "$(grep -c "^$line" "$out/table")" = 2 ] || fail "not two lines of $line"
done
! grep -E '(nan|inf)' "$out/table" || fail "nan or inf in the table"
[ "$(head -n 1 "$out/tsv" | tr "$tab" ' ')" = \
    "workload threads heed unit peer peer_value ratio low high rounds verdict" ] || fail "the tsv has the wrong columns"
[ "$(awk -F '\t' 'NR > 1 && NF == 11 && ($2 == 1 || $2 == 2) && $3 > 0' "$out/tsv" | wc -l)" = 22 ] ||
    fail "the tsv does not have 22 rows of figures"

# A peer that reports one second for every workload except one.
cat > "$out/slow" <<'END'
echo $$ > "$(dirname "$0")/slow.pid"
while read -r name; do
    case $name in w2.sgd) echo none ;; *) echo "1 by hand" ;; esac
done
END
status=0
THREADS=1 WORKLOADS="w1 w2 start" "$build/bench_compare" "$out/tsv" "$build/bench_heed" "$build/bench_peak" \
    Slow "sh $out/slow" Mute false Liar "yes moo" Gone "$out/nowhere" > "$out/table" 2> /dev/null || status=$?
[ $status = 1 ] || fail "status $status, not 1, with three broken peers"
[ "$(grep -c '^\* Slow (by hand)  *1e+06  *1e+06' "$out/table")" = 3 ] || fail "Slow is not the strongest peer three times"
grep -q '^Heed is ahead of all peers in 3 rows, level in 0; no row behind$' "$out/table" ||
    fail "Heed is behind Slow"
for words in 'Slow: exited with status 0' 'Mute: exited with status 1' 'Liar: invalid answer: moo' 'Gone: exited with status 127'; do
    grep -q "$words" "$out/table" || fail "does not report: $words"
done
awk -F '\t' '$1 == "w1.sgd" && $5 == "Slow" { found = $6 == 1000000 && $7 > 1000 } END { exit !found }' "$out/tsv" ||
    fail "the tsv has no ratio of Slow"

# Canned times of Heed and a peer. The verdict is "behind" only if the interval of the ratios is below 1, not if a peer
# is fast only once or only in some rounds.
cat > "$out/canned" <<'END'
if [ "$2" = list ]; then
    for name in ahead behind unsure alternating lucky rising; do echo "$name 0 ms 1000 - 0"; done
    exit
fi
last=
while read -r name; do
    [ "$name" = "$last" ] || round=0
    last=$name round=$((round + 1))
    case $1.$name.$round in
    peer.ahead.*) echo 0.0011 ;;
    peer.behind.[123] | peer.unsure.[1234]) echo 0.002 ;;
    peer.behind.* | peer.unsure.*) echo 0.0009 ;;
    peer.alternating.*[13579]) echo 0.0005 ;;
    peer.alternating.*) echo 0.0015 ;;
    peer.lucky.7) echo 0.00001 ;;
    peer.lucky.*) echo $((11 * round))e-4 ;; # 1.1 times Heed's time, as both slow down
    heed.lucky.* | peer.rising.*) echo "${round}e-3" ;;
    heed.*) echo 0.001 ;;
    esac
done
END
# canned ROUNDS WORKLOAD...: rows of the tsv, from the ratio on
canned() {
    ROUNDS=$1
    shift
    THREADS=1 WORKLOADS="$*" "$build/bench_compare" "$out/tsv" "sh $out/canned heed" false \
        Peer "sh $out/canned peer" > "$out/table" 2>&1 || fail "a run with canned figures failed"
    tail -n +2 "$out/tsv" | cut -f 1,7- | tr "$tab" ' '
}
[ "$(canned 15 ahead behind unsure alternating lucky)" = "ahead 1.1 1.1 1.1 15 ahead
behind 0.9 0.9 0.9 15 behind
unsure 0.9 0.9 2 15 level
alternating 0.5 0.5 1.5 15 level
lucky 1.1 1.1 1.1 15 ahead" ] || fail "wrong ratios, intervals or verdicts"
[ "$(sed -n '/^Heed is/,$p' "$out/table" | tr -s ' ')" = \
    "Heed is ahead of all peers in 2 rows, level in 2; behind:
behind 1 thread 0.9 [0.9, 0.9] Peer" ] || fail "does not list exactly the row behind"
# shellcheck disable=SC2016
awk -f bench/table.awk "$out/tsv" | grep -qxF '| `behind` | ms | 1 | **0.90** |' || fail "wrong Markdown table"
# The ranks of the interval, as in tables of the sign test.
# shellcheck disable=SC2086
for ranks in "3 2 1 3" "5 3 1 5" "6 3.5 1 6" "9 5 2 8" "10 5.5 2 9" "15 8 4 12" "30 15.5 10 21"; do
    set -- $ranks
    [ "$(canned "$1" rising)" = "rising $2 $3 $4 $1 $([ "$3" = 1 ] && echo level || echo ahead)" ] ||
        fail "the interval of $1 rounds is not from the value of rank $3 to that of rank $4"
done

# The request loop in Python, and its copy of the sizes of GPTs.
if command -v python3 > /dev/null; then
    cat > "$out/peer.py" <<'END'
import sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, "bench/peers")
import serve

def prepare(name):
    if name == "bad":
        serve.check_losses([1.0, 2.0])
    return ("by hand", lambda calls: time.sleep(1e-3 * calls)) if name == "good" else None

if sys.argv.pop() == "sizes":
    for name, size in serve.GPTS.items():
        print(name, *size)
else:
    serve.answer_requests(prepare)
END
    printf 'good\ngood\nbad\nbad\nother\ngood\n' | python3 "$out/peer.py" > "$out/table"
    [ "$(sed 's/^0\.00[1-9][0-9]* /1 ms /' "$out/table")" = "1 ms by hand
1 ms by hand
wrong the loss does not fall
wrong the loss does not fall
none
1 ms by hand" ] || fail "wrong answers of a peer in Python"
    python3 "$out/peer.py" sizes > "$out/table"
    sed -n 's/^    {"\(.*\)", \(.*\), [A-Z_]*},$/\1 \2/p' bench/gpt_sizes.h | tr -d , | cmp -s - "$out/table" ||
        fail "bench/gpt_sizes.h and bench/peers/serve.py differ"
fi

# What the peers in Python begin with: the parameters of each seed, and data of the sizes of build/toys.
"$build/bench_heed" data recall 3 "$out/recall" || fail "data: status $?"
for words in '"wte.weight":{"dtype":"F32","shape":\[3,32,32\]' '"inputs":{"dtype":"I64","shape":\[3,64,24\]' \
    '"targets":{"dtype":"I64","shape":\[3,64,8\]' '"losses":{"dtype":"F32","shape":\[3\]'; do
    grep -aq "$words" "$out/recall" || fail "data: no $words"
done
! "$build/bench_heed" data nothing 3 "$out/nothing" 2> "$out/table" || fail "data: no error without such a model"

# With PyTorch: the peer's first losses are Heed's; if it computes something else, it says so. Two workers share seeds.
torch=${TORCH:-$build/torch}/bin/python
if [ -x "$torch" ]; then
    cp -r bench/peers "$out/peers"
    sed -i 's/-math.inf/-1/' "$out/peers/pytorch_training.py"
    asked=$(printf 'w1.sgd\ntoys.recall\n')
    export BENCH_HEED="$build/bench_heed" PYTHONDONTWRITEBYTECODE=1
    echo "$asked" | OMP_NUM_THREADS=1 "$torch" bench/peers/pytorch.py > "$out/table"
    [ "$(grep -c '^[0-9.e-]*\( sdpa\)*$' "$out/table")" = 2 ] || fail "PyTorch does not measure small models"
    echo toys.recall | BENCH_TUNED=1 OMP_NUM_THREADS=1 "$torch" "$out/peers/pytorch.py" > "$out/table"
    grep -q '^wrong the first loss is [0-9.]*, in Heed [0-9.]*$' "$out/table" || fail "a model without a mask is not found"
    echo seeds.w1 | OMP_NUM_THREADS=2 "$torch" bench/peers/pytorch.py > "$out/table"
    grep -q '^[0-9.e-]* processes$' "$out/table" || fail "PyTorch does not measure many seeds"
fi

# Ending a run ends its peers too, although they are suspended most of the time.
ROUNDS=1000 WORKLOADS=w1 "$build/bench_compare" "$out/tsv" "$build/bench_heed" "$build/bench_peak" \
    Slow "sh $out/slow" > "$out/table" 2>&1 &
sleep 1
kill -TERM $!
wait $! 2> /dev/null && fail "SIGTERM does not end it"
sleep 0.2
! kill -0 "$(cat "$out/slow.pid")" 2> /dev/null || fail "a peer is still running"
echo "bench: passed"
