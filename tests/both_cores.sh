#!/bin/sh
# Runs all suites except those in SKIP, two at a time, slowest first: tests/both_cores.sh build/test_heed
set -eu
long="gradients parity toy random"
{
    printf '%s\n' $long
    # shellcheck disable=SC2086
    "$1" --suites | grep -vxF "$(printf '%s\n' $long)"
} | grep -vxF "$(printf '%s\n' ${SKIP:-no_suite})" | xargs -n 1 -P 2 sh -c 'log=$("$0" "$1" 2>&1) && failed=0 || failed=1; echo "$log"; exit $failed' "$1"
