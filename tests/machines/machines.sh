#!/bin/sh
# Builds and tests Heed for other machines, on Debian: tests/machines/machines.sh [--short] [machine ...]
#
#   musl      x86-64 with musl: all suites; dlopen of the shared library
#   i686      32-bit x86: all suites but misuse, files and memory
#   aarch64   under qemu: all suites
#   s390x     big-endian: the build must fail with an error message
#   macos     aarch64 and x86-64, with zig: a program must compile and link; nothing runs
#
# Check is built for each machine from Debian's source package. All files are written to build/machines.
# --short takes a minute: quickstart and random graphs of all operations (tests/fuzz/graphs) instead of the suites, and
# macOS on aarch64 only.
set -eu
cd "$(dirname "$0")/../.."
short=false
[ "${1:-}" != --short ] || { short=true && shift; }
here=$PWD/build/machines
zig=$here/zig
! $short || here=$here/short
mkdir -p "$here"
sh tests/install.sh machines

get_check() {
    [ ! -d "$here/check/src" ] || return 0
    mkdir -p "$here/apt/lists/partial" "$here/check"
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "deb-src http://deb.debian.org/debian $release main" > "$here/apt/sources"
    set -- -qq -o "Dir::Etc::SourceList=$here/apt/sources" -o Dir::Etc::SourceParts=- \
        -o "Dir::State::Lists=$here/apt/lists" -o APT::Sandbox::User=root
    (cd "$here/apt" && apt-get "$@" update && apt-get "$@" source --download-only check)
    tar xzf "$here"/apt/check_*.orig.tar.gz -C "$here/check" --strip-components=1
}

# build MACHINE COMPILER [LDFLAGS]: everything, with a static Check; $emulator runs the programs
build() {
    if $short; then
        echo "== $1: quickstart, random graphs"
        make CC="$2" BUILD="$here/$1" LDFLAGS="$3" "$here/$1/quickstart" "$here/$1/fuzz_graphs"
        $emulator "$here/$1/fuzz_graphs" 1 1000
        $emulator "$here/$1/quickstart" > "$here/$1/quickstart.txt"
        grep 'and it -> mooed' "$here/$1/quickstart.txt"
        return
    fi
    get_check
    if [ ! -e "$here/$1/check/lib/libcheck.a" ]; then
        echo "== $1: Check"
        log=$here/check_$1.log
        { cmake -S "$here/check" -B "$here/$1/check_build" -DCMAKE_C_COMPILER="$2" \
            -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_BUILD_TYPE=Release -DCHECK_ENABLE_TESTS=OFF \
            -DCMAKE_INSTALL_PREFIX="$here/$1/check" -DCMAKE_INSTALL_LIBDIR=lib &&
            cmake --build "$here/$1/check_build" --target install; } > "$log" 2>&1 ||
            { tail "$log" && exit 1; }
        rm -f "$here/$1"/check/lib/*.so*
    fi
    echo "== $1: build"
    PKG_CONFIG_LIBDIR=$here/$1/check/lib/pkgconfig make CC="$2" BUILD="$here/$1" LDFLAGS="$3" \
        all "$here/$1/test_heed"
}

# run MACHINE [SUITE | -SUITE ...]: these suites, with the emulator $emulator
run() {
    ! $short || return 0
    program=$here/$1/test_heed
    shift
    $emulator "$program" "$@"
}

# musl's dlopen does not load libraries that need static TLS.
musl() {
    emulator=
    build musl musl-gcc ""
    run musl
    echo "== musl: dlopen"
    make CC=musl-gcc BUILD="$here/musl-shared" TLS_MODEL=global-dynamic shared
    musl-gcc -x c - -o "$here/musl/load" << 'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const char *(*isa)(void) = NULL;
    if (library != NULL) {
        *(void **)&isa = dlsym(library, "heed_isa");
    }
    return puts(isa != NULL ? isa() : dlerror()) < 0 || isa == NULL;
}
END
    "$here/musl/load" "$here/musl-shared/shared/libheed.so"
}

i686() {
    emulator=
    export EXTRA="-msse2 -mfpmath=sse" # x87 computes in extended precision
    build i686 i686-linux-gnu-gcc -static
    unset EXTRA
    # These expect sizes that only 64 bits can address.
    set -- -misuse -alloc -safetensors -safetensors_malformed -safetensors_reference -checkpoint \
        -training -atomic_file -file_faults
    run i686 "$@"
}

# Inner loops of products, with at least 16 multiply-adds between branches, must keep their sums in registers.
check_spills() {
    aarch64-linux-gnu-objdump -d --no-show-raw-insn "$1" | awk '
        /^[0-9a-f]+ </ { name = $2 }
        name ~ /multiply/ && /\tfmla\t/ { sums++ }
        sums && /\t(ld|st)[rp]\tq.*\[sp/ { spills++ }
        /\t(b|b\.[a-z]+|cbn?z|tbn?z|ret)\t/ {
            if (sums >= 16) { loops++ }
            if (sums >= 16 && spills) { print "spills in " name; bad = 1 }
            sums = spills = 0
        }
        END { if (loops < 2) { print "no inner loops found" } exit bad || loops < 2 }' >&2
}

# qemu-user fails an assertion when a process with threads forks.
aarch64() {
    emulator=qemu-aarch64
    build aarch64 aarch64-linux-gnu-gcc -static
    check_spills "$here/aarch64/src/tensor/kernels/baseline_f32.o"
    "$emulator" "$here/aarch64/quickstart" > "$here/aarch64/quickstart.txt"
    set -- -thread -parallel -unread -error
    run aarch64 "$@"
}

s390x() {
    echo "== s390x: build"
    if said=$(make -s CC=s390x-linux-gnu-gcc BUILD="$here/s390x" lib 2>&1); then
        echo "s390x: the library was built for a big-endian machine" >&2
        exit 1
    fi
    echo "$said" | grep '#error.*big-endian machines are not supported'
}

macos() {
    [ -d "$zig/ziglang" ] || python3 -m pip install -q --target "$zig" ziglang
    for cpu in aarch64 $($short || echo x86_64); do
        echo "== macos: build for $cpu"
        PYTHONPATH=$zig python3 -m ziglang cc -target "$cpu-macos" -O2 -Wall -Wextra -Werror \
            -Isrc examples/quickstart.c src/*/*.c src/*/*/*.c -o "$zig/quickstart"
    done
}

[ $# -gt 0 ] || set -- s390x macos musl i686 aarch64
for machine in "$@"; do
    $machine
done
