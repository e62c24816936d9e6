#!/bin/sh
# Runs Heed's benchmark against every peer found on this machine; bench/README.md explains the output. Called by
# make bench, which first builds bench_heed and the other programs:
#   bench/run.sh BUILD
# PEERS: the peers to measure, among pytorch compile jax openblas libtorch kann llm.c; default all; none: only Heed.
# PYTHONS: interpreters whose PyTorch and JAX to measure. KANN, LLM_C: folders of the sources of KANN and llm.c.
# ISA=v3: all programs held to AVX2. TSV: output file for the figures.
set -eu
build=$1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # presets that slow down a peer
TORCHINDUCTOR_CACHE_DIR=$(cd "$build" && pwd)/torchinductor
BENCH_HEED=$(cd "$build" && pwd)/bench_heed
export PYTHONDONTWRITEBYTECODE=1 TORCHINDUCTOR_CACHE_DIR BENCH_HEED
here=$(dirname "$0")
native="-O3 -march=native"
peak=$build/bench_peak

case ${ISA:-} in
'') grep -qs avx512f /proc/cpuinfo && avx512="ATEN_CPU_CAPABILITY=avx512" ;;
v3)
    export HEED_ISA=v3 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2
    export OPENBLAS_CORETYPE=Haswell XLA_FLAGS="${XLA_FLAGS:-} --xla_cpu_max_isa=AVX2"
    native="-O3 -march=haswell"
    peak=$build/bench_peak_v3
    ;;
*)
    echo "bench: ISA=$ISA: only v3 is supported, which holds Heed and its peers to AVX2" >&2
    exit 2
    ;;
esac
set -- "${TSV:-$build/bench.tsv}" "$build/bench_heed" "$peak"

sh "$here/machine.sh"
[ -z "${ISA:-}" ] || echo "held to    AVX2: Heed, its peers and the bounds"

# wants PEER: true if PEERS names it or is empty.
wants() {
    case " ${PEERS:-$1} " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# The settings that make PyTorch fastest, and OpenBLAS with OpenMP if installed.
tuned="BENCH_TUNED=1 ${avx512:-} MALLOC_MMAP_THRESHOLD_=2000000000"
tuned="$tuned MALLOC_TRIM_THRESHOLD_=8000000000 MALLOC_TOP_PAD_=67108864"
for folder in /usr/lib/*/openblas-openmp; do
    if [ -e "$folder" ]; then
        tuned="$tuned LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
done

# Compilation uses one thread, because worker processes would outlive the benchmark.
compiled="BENCH_COMPILED=1 TORCHINDUCTOR_COMPILE_THREADS=1 ${avx512:-}"

# version_of PYTHON MODULE: prints the version of a module; nothing if it or NumPy is missing.
version_of() {
    "$1" -c "import numpy, $2; print($2.__version__.split('+')[0])" 2> /dev/null ||
        echo "skipped    $2: $1 does not have it and numpy" >&2
}

seen=
for python in ${PYTHONS:-python3 /usr/bin/python3}; do
    torch=$(if wants pytorch || wants compile; then version_of "$python" torch; fi)
    jax=$(if wants jax; then version_of "$python" jax; fi)
    case " $seen " in *" $torch,$jax "*) continue ;; esac
    seen="$seen $torch,$jax"
    if [ -n "$torch" ] && wants pytorch; then
        set -- "$@" "PyTorch $torch" "$python $here/peers/pytorch.py" \
            "PyTorch $torch tuned" "env $tuned $python $here/peers/pytorch.py"
        echo "peer       PyTorch $torch, default and tuned: $python"
    fi
    if [ -n "$torch" ] && wants compile; then
        if ! "$python" -c 'import torch; torch.compiler.reset' 2> /dev/null; then
            echo "skipped    torch.compile: PyTorch $torch does not have it"
        elif ! command -v "${CXX:-g++}" > /dev/null; then
            echo "skipped    torch.compile: it needs g++"
        else
            set -- "$@" "torch.compile $torch" "env $compiled $python $here/peers/pytorch.py"
            echo "peer       torch.compile $torch: $python"
        fi
    fi
    if [ -n "$jax" ]; then
        set -- "$@" "JAX $jax, jit" "$python $here/peers/jax_training.py" \
            "JAX $jax, loop" "env BENCH_LOOP=1 $python $here/peers/jax_training.py"
        echo "peer       JAX $jax, a call per step and a compiled loop: $python"
    fi
done

# build PEER COMMAND...: compiles a peer unless it is up to date; fails if a dependency is missing.
build() {
    peer=$1
    shift
    [ "$build/bench_$peer" -nt "$here/peers/$peer".c* ] || "$@" -I. "$here/peers/$peer".c* \
        "$build/bench/serve.o" -o "$build/bench_$peer" 2> "$build/bench_$peer.log"
}
c="${CC:-cc} -std=gnu11"
openblas="$(pkg-config --cflags openblas 2> /dev/null) -Wl,--no-as-needed
    $(pkg-config --libs openblas 2> /dev/null || echo -lopenblas) -lm"

# shellcheck disable=SC2086
if ! wants openblas; then
    :
elif build openblas $c -O2 $openblas; then
    version=$(pkg-config --modversion openblas 2> /dev/null || true)
    set -- "$@" "OpenBLAS${version:+ $version}" "$build/bench_openblas"
    echo "peer       OpenBLAS $version"
else
    echo "skipped    OpenBLAS: not found, or no cblas.h ($build/bench_openblas.log)"
fi

prefix=${TORCH_PREFIX:-/usr} headers=${TORCH_PREFIX:-/usr}/include/torch/csrc/api/include
if ! wants libtorch; then
    :
elif [ ! -e "$headers/torch/torch.h" ]; then
    echo "skipped    libtorch: no headers under $prefix/include"
elif build libtorch ${CXX:-c++} -O2 -std=c++17 -w -I"$prefix/include" -I"$headers" \
    -Wl,--no-as-needed -L"$prefix/lib" -ltorch -ltorch_cpu -lc10; then
    version=$(printf '#include <torch/version.h>\nTORCH_VERSION\n' |
        ${CXX:-c++} -E -P -x c++ -I"$headers" - | tail -n 1 | tr -d '" ')
    set -- "$@" "libtorch $version, C++" "$build/bench_libtorch"
    echo "peer       libtorch $version in C++"
else
    echo "skipped    libtorch: compilation failed ($build/bench_libtorch.log)"
fi

rm -f "$build/bench_kann" "$build/bench_llm_c" # may be built for another ISA or from another folder
# shellcheck disable=SC2086
if ! wants kann; then
    :
elif [ ! -e "${KANN:-}/kann.c" ]; then
    echo "skipped    KANN: set KANN to the folder of its sources"
elif build kann $c $native -DHAVE_CBLAS -I"$KANN" "$KANN/kann.c" "$KANN/kautodiff.c" $openblas -pthread; then
    set -- "$@" "KANN with OpenBLAS" "$build/bench_kann"
    echo "peer       KANN with OpenBLAS: $KANN"
else
    echo "skipped    KANN: compilation failed ($build/bench_kann.log)"
fi

# The flags are those of llm.c's Makefile.
# shellcheck disable=SC2086
if ! wants llm.c; then
    :
elif [ ! -e "${LLM_C:-}/train_gpt2.c" ]; then
    echo "skipped    llm.c: set LLM_C to the folder of its sources"
elif build llm_c $c $native -Ofast -fno-finite-math-only -fopenmp -DOMP -w -I"$LLM_C" -lm; then
    set -- "$@" "llm.c" "$build/bench_llm_c"
    echo "peer       llm.c: $LLM_C"
else
    echo "skipped    llm.c: compilation failed ($build/bench_llm_c.log)"
fi

[ "${PEERS:-}" != none ] || echo "skipped    all peers"
exec "$build/bench_compare" "$@"
