#!/bin/sh
# Tests that the benchmark works as bench/README.md says: Heed alone, in a single round; then with peers that
# crash, print nonsense, or lack a workload, all of which must be reported.
#   tests/bench.sh [BUILD]
set -eu
cd "$(dirname "$0")/.."
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

PEERS=none THREADS="1 2" WORKLOADS="w1.adam w5.nt.64x64x64 w6.gelu.1024 w6.gelu.65536.subnormal start memory.w4" \
    TSV=$out/tsv sh bench/run.sh "$build" > "$out/table" 2>&1 || fail "a run without peers failed"
for line in 'w1\.adam  *us  *[0-9.]*  *[0-9.]*' 'w5\.nt\.64x64x64  *GFLOP/s  *[0-9.]*  *[0-9.]*  *[0-9]* %' \
    'w6\.gelu\.1024  *ns/element .* %' \
    'w6\.gelu\.65536\.subnormal  *ns/element  *[0-9.]*' 'start  *ms ' 'memory\.w4  *MiB '; do
    [ "$(grep -c "^$line" "$out/table")" = 2 ] || fail "not two lines of $line"
done
head -n 1 "$out/tsv" | grep -qx "workload${tab}threads${tab}heed${tab}unit${tab}peer${tab}peer_value${tab}ratio" ||
    fail "the tsv has the wrong columns"
[ "$(awk -F '\t' 'NR > 1 && NF == 7 && ($2 == 1 || $2 == 2) && $3 > 0' "$out/tsv" | wc -l)" = 12 ] ||
    fail "the tsv does not have twelve rows of figures"

# A peer that reports one second for every workload except one.
cat > "$out/slow" <<'END'
echo $$ > "$(dirname "$0")/slow.pid"
while read -r name; do
    case $name in w2.sgd) echo none ;; *) echo "1 by hand" ;; esac
done
END
status=0
THREADS=1 WORKLOADS="w1 w2" "$build/bench_compare" "$out/tsv" "$build/bench_heed" "$build/bench_peak" \
    Slow "sh $out/slow" Mute false Liar "yes moo" Gone "$out/nowhere" > "$out/table" 2> /dev/null || status=$?
[ $status = 1 ] || fail "status $status, not 1, with three broken peers"
[ "$(grep -c '\*Slow (by hand)  *1e+06  *1e+06' "$out/table")" = 3 ] || fail "Slow is not the strongest peer three times"
grep -q '^Heed is behind the strongest peer in 0 of 3:' "$out/table" || fail "Heed is behind Slow"
for words in 'Mute: exited with status 1' 'Liar: invalid answer: moo' 'Gone: exited with status 127'; do
    grep -q "$words" "$out/table" || fail "does not report: $words"
done
awk -F '\t' '$1 == "w1.sgd" && $5 == "Slow" { found = $6 == 1000000 && $7 > 1000 } END { exit !found }' "$out/tsv" ||
    fail "the tsv has no ratio of Slow"

# Ending a run ends its peers too, although they are suspended most of the time.
ROUNDS=1000 WORKLOADS=w1 "$build/bench_compare" "$out/tsv" "$build/bench_heed" "$build/bench_peak" \
    Slow "sh $out/slow" > "$out/table" 2>&1 &
sleep 1
kill -TERM $!
wait $! 2> /dev/null && fail "SIGTERM does not end it"
sleep 0.2
! kill -0 "$(cat "$out/slow.pid")" 2> /dev/null || fail "a peer is still running"
echo "bench: passed"
