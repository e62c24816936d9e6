#!/bin/sh
# Tests that the benchmark works as bench/README.md says: Heed alone; then with peers that crash, print nonsense, or lack a
# workload; then its statistics, with canned figures; then PyTorch.    tests/programs/bench.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
. tests/common/expect.sh
run="env ROUNDS=1 THREADS=1 PEERS=none python3 -B bench/run.py"
heed=$build/bench_heed

expect 0 '^| `w1.adam` | 1 | [0-9.e+-]* us |$' $run "$heed"
[ "$(grep -c '^| `.*` | 1 | [0-9.e+-]* [a-zA-Z/]* |$' "$scratch/out")" = "$("$heed" list | wc -l)" ] ||
    { cat "$scratch/out" && echo "not every workload has a figure" && exit 1; }

# Peers that report one second for every workload but one, end, and print nonsense.
cat > "$scratch/slow" << 'END'
echo $$ > "$(dirname "$0")/slow.pid"
while read -r name; do
    case $name in w2.sgd) echo none ;; *) echo "1 by hand" ;; esac
done
END
expect 0 '^| `w1.sgd` | 1 | .* us | [0-9.e+]* \[.*\] |$' env OTHER="Slow=sh $scratch/slow" WORKLOADS="w1.sgd w2" $run "$heed"
has '^| `w2.sgd` | 1 | .* us |  |$' "$scratch/out"
has '^Heed is behind in 0 rows$' "$scratch/out"
expect 1 "failed: it ended with status" env OTHER="Gone=false" WORKLOADS=w1.sgd $run "$heed"
expect 1 "failed: moo" env OTHER="Liar=yes moo" WORKLOADS=w1.sgd $run "$heed"

# Canned times. A row is behind only if the interval of the ratios is below 1, not if a peer is fast only once or in some
# rounds. The ranks of the interval are those of the sign test.
cat > "$scratch/canned" << 'END'
#!/bin/sh
if [ "${1:-}" = list ]; then
    for name in ahead behind unsure lucky rising; do echo "$name 0 ms 1000"; done
    exit
fi
last=
while read -r name; do
    [ "$name" = "$last" ] || round=0
    last=$name round=$((round + 1))
    case ${PEER:-heed}.$name.$round in
    peer.ahead.*) echo 0.0011 ;;
    peer.behind.[123] | peer.unsure.[1234]) echo 0.002 ;;
    peer.behind.* | peer.unsure.*) echo 0.0009 ;;
    peer.lucky.7) echo 0.00001 ;;
    peer.lucky.*) echo $((11 * round))e-4 ;; # 1.1 times Heed's time, as both slow down
    heed.lucky.* | peer.rising.*) echo "${round}e-3" ;;
    *) echo 0.001 ;;
    esac
done
END
chmod +x "$scratch/canned"
# canned ROUNDS WORKLOAD: the ratio and its interval
canned() {
    OTHER="Peer=env PEER=peer $scratch/canned" ROUNDS=$1 WORKLOADS=$2 THREADS=1 PEERS=none python3 -B bench/run.py "$scratch/canned" |
        sed -n "s/^| .$2. .* ms | \(.*\) |/\1/p"
}
check [ "$(canned 15 ahead)" = "1.1 [1.1, 1.1]" ]
check [ "$(canned 15 behind)" = "0.9 [0.9, 0.9] behind" ]
check [ "$(canned 15 unsure)" = "0.9 [0.9, 2]" ]
check [ "$(canned 15 lucky)" = "1.1 [1.1, 1.1]" ]
for ranks in "3 2 [1, 3]" "6 3.5 [1, 6]" "9 5 [2, 8]" "15 8 [4, 12]"; do
    check [ "$(canned "${ranks%% *}" rising)" = "${ranks#* }" ]
done

# PyTorch: its first losses are Heed's; if it computes something else, it says so.
torch=${TORCH:-build/torch}/bin/python
if [ -x "$torch" ]; then
    export BENCH_HEED="$heed" OMP_NUM_THREADS=1
    printf 'w1.sgd\nseeds.w1\nw6.softmax.3072x64.backward\nother\n' | "$torch" -B bench/peers/pytorch.py > "$scratch/out"
    check [ "$(sed 's/^[0-9.e-]*$/figure/' "$scratch/out" | xargs)" = "figure figure figure none" ]
    cp -r bench/peers "$scratch/peers"
    sed -i 's/-math.inf/-1/' "$scratch/peers/pytorch_training.py"
    echo toys.recall | BENCH_TUNED=1 "$torch" -B "$scratch/peers/pytorch.py" > "$scratch/out"
    has '^wrong the first loss is [0-9.]*, in Heed [0-9.]*$' "$scratch/out"
else
    skip "bench: there is no $torch"
fi

# Ending a run ends its peers too, although they are suspended most of the time.
OTHER="Slow=sh $scratch/slow" ROUNDS=1000 WORKLOADS=w1 THREADS=1 PEERS=none python3 -B bench/run.py "$heed" > "$scratch/out" 2>&1 &
sleep 2
kill -TERM $!
wait $! 2> "$scratch/err" && { echo "SIGTERM does not end it" && exit 1; }
sleep 0.2
! kill -0 "$(cat "$scratch/slow.pid")" 2> "$scratch/err" || { echo "a peer is still running" && exit 1; }
echo "bench: passed"
