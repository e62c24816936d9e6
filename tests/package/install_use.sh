#!/bin/sh
# Installs Heed into a temporary folder, and uses it as programs outside the tree do: with cc alone, pkg-config, CMake and
# dlopen. Then removes it: tests/package/install_use.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
root=$PWD
. tests/common/expect.sh
unset PREFIX LIBDIR DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH
export LC_ALL=C.UTF-8
version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/heed.h)
minor=${version%.*}
recorded=$root/tests/fixtures/output/quickstart.txt

# ---- a folder to pack: after make nothing is compiled, and everybody may read the files ----

make BUILD="$build" all shared > /dev/null
destination="$scratch/a package"
staged="$destination/opt/heed"
(umask 077 && make BUILD="$build" CC=false DESTDIR="$destination" PREFIX=/opt/heed install) > "$scratch/out"
echo "Heed $version is installed in $staged" | check cmp - "$scratch/out"
check [ "$(find "$destination" -mindepth 1 ! -perm -444)" = "" ]
check [ "$(find "$destination" -type d ! -perm 755)" = "" ]

nm -D --defined-only "$staged/lib/libheed.so" > "$scratch/symbols"
has " T heed_matmul$" "$scratch/symbols"
lacks " [^T] \| T [^h]\| heed_self$\| heed_kernels_" "$scratch/symbols"

# What an older version left is removed; so is everything, with the folders, by uninstall.
touch "$staged/lib/libheed.so.0.0"
make BUILD="$build" DESTDIR="$destination" PREFIX=/opt/heed install > /dev/null
check [ "$(find "$destination" -name '*.0.0')" = "" ]
make BUILD="$build" DESTDIR="$destination" PREFIX=/opt/heed uninstall > /dev/null
check [ "$(find "$destination" -mindepth 1)" = "" ]

# Files of others stay, also in a library folder with another name.
use="BUILD=$build DESTDIR=$scratch/use PREFIX=/usr/ LIBDIR=/usr/lib/machine"
# shellcheck disable=SC2086
{
    make $use install > /dev/null
    has '^libdir=/usr/lib/machine$' "$scratch/use/usr/lib/machine/pkgconfig/heed.pc"
    touch "$scratch/use/usr/lib/machine/libother.so"
    make $use uninstall > /dev/null
}
check [ "$(find "$scratch/use" ! -type d)" = "$scratch/use/usr/lib/machine/libother.so" ]

expect 2 "cannot write to /dev/null/usr/local; run it as root, or choose" make BUILD="$build" DESTDIR=/dev/null install
expect 2 "'/a b': PREFIX and LIBDIR cannot contain" make BUILD="$build" PREFIX="/a b" install
expect 2 "'/a:b': PREFIX and LIBDIR cannot contain" make BUILD="$build" PREFIX="/a:b" install
expect 2 "the shell did not expand ~" make BUILD="$build" PREFIX="~/heed" install

# ---- the lines that make install prints ----

heed=$scratch/heed
make BUILD="$build" PREFIX="$heed" LIBDIR=lib/machine install > "$scratch/lines"
mkdir "$scratch/mine"
cd "$scratch/mine"
cp "$root/examples/quickstart.c" mine.c

# runs PROGRAM [lacks]: it prints what it should; its library is the shared one, or not
runs() {
    "$1" | check cmp - "$recorded"
    readelf -d "$1" > "$scratch/dynamic"
    "${2-has}" "NEEDED.*libheed.so.$version" "$scratch/dynamic"
}
eval "$(sed -n '/^    cc.*libheed.a/p' "$scratch/lines")"
runs ./mine lacks
eval "$(sed -n '/^    export/p' "$scratch/lines")"
line=$(sed -n 's/^    \(cc .*pkg-config.*\)/\1/p' "$scratch/lines")
has "^ *$(echo "$line" | sed 's/\$/\\$/')$" "$root/README.md"
eval "$line -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror"
runs ./mine
check [ "$(pkg-config --modversion heed)" = "$version" ]

# A running program can load the library.
python3 - "$heed/lib/machine/libheed.so" << 'END'
import ctypes, sys
heed = ctypes.CDLL(sys.argv[1])
heed.heed_isa.restype = ctypes.c_char_p
assert heed.heed_isa()
END
make -C "$root" BUILD="$build" PREFIX="$heed" LIBDIR=lib/machine uninstall > /dev/null
check [ ! -e "$heed" ]

# ---- CMake: after cmake --install, as a part of the tree, and fetched ----

# built LINE...: configures a program with these lines of CMake, builds it and runs it
built() {
    { printf 'cmake_minimum_required(VERSION 3.14)\nproject(mine C)\n' && printf '%s\n' "$@"
      echo 'add_executable(mine mine.c)'
      echo 'target_link_libraries(mine Heed::heed)'; } > CMakeLists.txt
    rm -rf built
    { cmake -S . -B built -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$scratch/cmake" && cmake --build built -j; } \
        > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
    runs built/mine lacks
}
{ cmake -S "$root" -B "$scratch/tree" -DCMAKE_BUILD_TYPE=Debug && cmake --build "$scratch/tree" -j &&
    cmake --install "$scratch/tree" --prefix "$scratch/cmake"; } > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
built "find_package(Heed $minor REQUIRED)"
built "add_subdirectory($root heed)"
built 'include(FetchContent)' "FetchContent_Declare(heed SOURCE_DIR $root)" 'FetchContent_MakeAvailable(heed)'
echo "find_package(Heed $minor.999 REQUIRED)" >> CMakeLists.txt
expect 1 "HeedConfig.cmake, version: $version" cmake -S . -B newer -DCMAKE_PREFIX_PATH="$scratch/cmake"
echo "install_use: passed"
