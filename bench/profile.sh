#!/bin/sh
# Where the time of a training step goes: the share of each function, by perf, on one thread.
#   bench/profile.sh BUILD [WORKLOAD]        w4, unless another is named
set -eu
build=$1
workload=${2:-w4}
if ! command -v perf > /dev/null; then
    echo "profile: there is no perf; install it: apt-get install linux-perf, say" >&2
    exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export HEED_NUM_THREADS=1
perf record -q -F 997 -o "$log" "$build/bench_heed" "$workload" 100
perf report -q -i "$log" --no-children --percent-limit 0.5 --sort symbol --stdio 2> /dev/null |
    awk '$1 ~ /%$/ { printf "%7s  %s%s\n", $1, $3, $2 == "[k]" ? " (kernel)" : "" }'
