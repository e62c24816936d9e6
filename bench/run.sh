#!/bin/sh
# Runs Heed's benchmark against every peer found on this machine; bench/README.md explains the output. Called by
# make bench, which first builds bench_heed and the other programs:
#   bench/run.sh BUILD
# PYTHONS: interpreters whose PyTorch to measure. PEERS=none: only Heed. TSV: output file for the figures.
set -eu
build=$1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # presets that slow down a peer
export PYTHONDONTWRITEBYTECODE=1
here=$(dirname "$0")
set -- "${TSV:-$build/bench.tsv}" "$build/bench_heed" "$build/bench_peak"

sh "$here/machine.sh"

# The settings that make PyTorch fastest, and OpenBLAS with OpenMP if installed.
tuned="BENCH_TUNED=1 ATEN_CPU_CAPABILITY=avx512 MALLOC_MMAP_THRESHOLD_=2000000000"
tuned="$tuned MALLOC_TRIM_THRESHOLD_=8000000000 MALLOC_TOP_PAD_=67108864"
grep -qs avx512f /proc/cpuinfo || tuned=$(echo "$tuned" | sed 's/ATEN_CPU_CAPABILITY=avx512//')
for folder in /usr/lib/*/openblas-openmp; do
    if [ -e "$folder" ]; then
        tuned="$tuned LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
done

seen=
for python in ${PYTHONS:-python3 /usr/bin/python3}; do
    [ "${PEERS:-}" != none ] || break
    if version=$("$python" -c 'import torch; print(torch.__version__.split("+")[0])' 2> /dev/null); then
        case " $seen " in *" $version "*) continue ;; esac
        seen="$seen $version"
        set -- "$@" "PyTorch $version" "$python $here/peers/pytorch.py" \
            "PyTorch $version tuned" "env $tuned $python $here/peers/pytorch.py"
        echo "peer       PyTorch $version, default and tuned: $python"
    else
        echo "skipped    PyTorch: $python does not have it"
    fi
done

# build PEER COMMAND...: compiles a peer unless it is up to date; fails if a dependency is missing.
build() {
    peer=$1
    shift
    [ "$build/bench_$peer" -nt "$here/peers/$peer".c* ] || "$@" -I. "$here/peers/$peer".c* \
        "$build/bench/serve.o" -o "$build/bench_$peer" 2> "$build/bench_$peer.log"
}

if [ "${PEERS:-}" = none ]; then
    echo "skipped    all peers"
    exec "$build/bench_compare" "$@"
fi

# shellcheck disable=SC2046
if build openblas ${CC:-cc} -O2 -std=c11 -D_POSIX_C_SOURCE=200809L $(pkg-config --cflags openblas 2> /dev/null) \
    -Wl,--no-as-needed $(pkg-config --libs openblas 2> /dev/null || echo -lopenblas) -lm; then
    version=$(pkg-config --modversion openblas 2> /dev/null || true)
    set -- "$@" "OpenBLAS${version:+ $version}" "$build/bench_openblas"
    echo "peer       OpenBLAS $version"
else
    echo "skipped    OpenBLAS: not found, or no cblas.h ($build/bench_openblas.log)"
fi

torch=${TORCH_PREFIX:-/usr}/include
if [ ! -e "$torch/torch/csrc/api/include/torch/torch.h" ]; then
    echo "skipped    libtorch: no headers under $torch"
elif build libtorch ${CXX:-c++} -O2 -std=c++17 -w -I"$torch" -I"$torch/torch/csrc/api/include" \
    -Wl,--no-as-needed -L"${TORCH_PREFIX:-/usr}/lib" -ltorch -ltorch_cpu -lc10; then
    version=$(printf '#include <torch/version.h>\nTORCH_VERSION\n' |
        ${CXX:-c++} -E -P -x c++ -I"$torch/torch/csrc/api/include" - | tail -n 1 | tr -d '" ')
    set -- "$@" "libtorch $version, C++" "$build/bench_libtorch"
    echo "peer       libtorch $version in C++"
else
    echo "skipped    libtorch: compilation failed ($build/bench_libtorch.log)"
fi

exec "$build/bench_compare" "$@"
