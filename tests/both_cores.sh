#!/bin/sh
# Runs all suites in two processes at once, about as long each: tests/both_cores.sh build/test_heed
set -eu
first="toy gradients random random_misuse"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
"$1" $first > "$log" 2>&1 &
status=0
# shellcheck disable=SC2046
"$1" $(printf ' -%s' $first) || status=1
wait $! || status=1
cat "$log"
exit $status
