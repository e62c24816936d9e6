#!/bin/sh
# Do includes point one way only? nn -> autograd -> tensor; nn sees nothing but public headers; the
# kernels see no tensor's insides. Prints each include that does not, and fails.
set -eu
cd "$(dirname "$0")/.."
status=0

# forbid FILES PATTERN WHY
forbid() {
    if grep -nE "#include \"($2)" $1; then
        echo "^ $3"
        status=1
    fi
}

forbid "src/tensor/*.[ch] src/tensor/ops.def" "autograd/|nn/|heed.h" "tensor is the ground: it includes no layer above"
forbid "src/autograd/*.[ch]" "nn/|heed.h" "autograd includes tensor alone"
forbid "src/tensor/kernels.c src/tensor/lines.c src/tensor/gemm.c src/tensor/gemm_*.h \
        src/tensor/kernels_dtype.h" \
    "tensor/(core|scope|create|walk|iterate|thread)" "kernels know pointers and counts only"

# Public is what heed.h includes, and what those include.
public=$(grep -ohE '#include "[^"]+"' src/heed.h src/nn/nn.h | cut -d'"' -f2 | sort -u)
for include in $(grep -ohE '#include "(tensor|autograd)/[^"]+"' src/nn/*.[ch] | cut -d'"' -f2 | sort -u); do
    if ! echo "$public" | grep -qx "$include"; then
        grep -n "#include \"$include\"" src/nn/*.[ch]
        echo "^ nn uses public headers alone: $include is not one"
        status=1
    fi
done

# What is public includes only what is public, and stands in the overview of heed.h.
for header in $public; do
    for include in $(grep -ohE '#include "[^"]+"' "src/$header" | cut -d'"' -f2); do
        if ! echo "$public" | grep -qx "$include"; then
            echo "src/$header: includes $include, which is internal"
            status=1
        fi
    done
    case $header in
    nn/*) ;;
    *) grep -q " \*   $header" src/heed.h || { echo "src/heed.h does not list $header"; status=1; } ;;
    esac
done
[ $status -ne 0 ] || echo "layers: includes point one way"
exit $status
