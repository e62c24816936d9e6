#!/bin/sh
# Profiles a training step on one thread: the share of each function, by perf.
#   bench/profile.sh BUILD [WORKLOAD]        default: w4
set -eu
build=$1
workload=${2:-w4}
if ! command -v perf > /dev/null; then
    echo "profile: perf not found; install it, for example: apt-get install linux-perf" >&2
    exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export HEED_NUM_THREADS=1
perf record -q -F 997 -o "$log" "$build/bench_heed" "$workload" 100
perf report -q -i "$log" --no-children --percent-limit 0.5 --sort symbol --stdio 2> /dev/null |
    awk '$1 ~ /%$/ { printf "%7s  %s%s\n", $1, $3, $2 == "[k]" ? " (kernel)" : "" }'
