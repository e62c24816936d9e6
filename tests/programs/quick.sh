#!/bin/sh
# Programs that check themselves, and outputs that are compared: what `make test` runs beside the suites. Prints only
# what fails.
#   CC="COMPILER FLAG..." tests/programs/quick.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

check() {
    "$@" > "$printed" 2>&1 || { cat "$printed"; echo "failed: $*"; exit 1; }
}
check "$build/custom_op"
check "$build/custom_module"
check "$build/gradcheck"
check sh tests/programs/outputs.sh "$build"
check sh tests/programs/lesson7.sh "$build"
check sh tests/programs/notebooks.sh
check sh tests/programs/gpt_resume.sh "$build"
check sh tests/programs/graphs.sh "$build"
