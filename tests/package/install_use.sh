#!/bin/sh
# Installs Heed into a temporary folder, moves it, and uses it as programs outside the tree do: through pkg-config and
# CMake, with the shared library and the archive. Then removes it: tests/package/install_use.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
root=$PWD
. tests/common/expect.sh
unset PREFIX LIBDIR DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH
cc=${CC:-cc}
version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/tensor/version.h)
minor=${version%.*}
strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror"

# ---- installing: without GNU's install or Check; nothing is compiled a second time ----

mkdir "$scratch/bin"
cat > "$scratch/bin/install" << 'END'
#!/bin/sh
for argument; do
    case $argument in -D* | -t* | -v* | --*) echo "install: illegal option $argument" >&2 && exit 64 ;; esac
done
exec /usr/bin/install "$@"
END
printf '#!/bin/sh\nexit 1\n' > "$scratch/bin/pkg-config"
cat > "$scratch/bin/links" << END
#!/bin/sh
for argument; do
    [ "\$argument" != -c ] || { echo "compiled a second time: \$*" >&2 && exit 1; }
done
exec $cc "\$@"
END
chmod +x "$scratch/bin/"*
bsd="env PATH=$scratch/bin:$PATH"
make BUILD="$build" all
rm -rf "$build/shared"
destination="$scratch/a \$package"
$bsd make BUILD="$build" CC=links DESTDIR="$destination" PREFIX=/opt/heed install > "$scratch/out" 2>&1 ||
    { cat "$scratch/out"; exit 1; }
has "^Heed $version is installed in $destination/opt/heed$" "$scratch/out"

# A second time nothing is compiled, and what an older version left is removed.
echo old > "$destination/opt/heed/include/heed/tensor/old.h"
umask 077
$bsd make BUILD="$build" CC=false DESTDIR="$destination" PREFIX=/opt/heed install > "$scratch/out"
umask 022
check [ "$(wc -l < "$scratch/out")" -eq 1 ]
check [ ! -e "$destination/opt/heed/include/heed/tensor/old.h" ]
for file in include/heed.h include/heed/nn/module.h lib/libheed.a lib/pkgconfig/heed.pc lib/cmake/Heed/HeedConfig.cmake \
    share/licenses/heed/LICENSE bin/heed-gpt; do
    mode=-rw-r--r--
    [ $file != bin/heed-gpt ] || mode=-rwxr-xr-x
    check [ "$(ls -l "$destination/opt/heed/$file" | cut -c1-10)" = $mode ]
done
check [ "$(find "$destination" -type d ! -perm 755)" = "" ]

refused() {
    expect 2 "$1" make BUILD="$build" install "$2"
}
refused "make install: cannot write to /dev/null/heed/.*; run it as root, or choose" DESTDIR=/dev/null/heed
refused "'/a b': PREFIX and LIBDIR cannot contain" "PREFIX=/a b"
refused "'/a#b': PREFIX and LIBDIR cannot contain" "PREFIX=/a#b"
refused "the shell did not expand ~" "PREFIX=~/heed"
refused "the shell did not expand ~" "DESTDIR=~/heed"
# make expands neither variable.
for variable in PREFIX LIBDIR; do
    # shellcheck disable=SC2088
    refused "'~/a\$b': PREFIX and LIBDIR cannot contain" "$variable=~/a\$b"
    expect 2 "'/a\$(b)': PREFIX and LIBDIR cannot contain" env "$variable=/a\$(b)" make BUILD="$build" install
done

mv "$destination/opt/heed" "$scratch/moved"
heed=$scratch/moved

# ---- the libraries: only public functions, no path of this machine ----

nm -D --defined-only "$heed/lib/libheed.so" > "$scratch/symbols"
if awk '$2 != "T" || $3 !~ /^heed_/' "$scratch/symbols" | grep .; then
    echo "the shared library exports more than functions named heed_..."
    exit 1
fi
# docs/abi.md: exactly those of the public headers.
awk '{ print $3 }' "$scratch/symbols" | LC_ALL=C sort > "$scratch/exported"
grep -v sizeof package/symbols.txt > "$scratch/declared"
check diff -u "$scratch/declared" "$scratch/exported"
readelf -d "$heed/lib/libheed.so" "$heed/bin/heed-gpt" > "$scratch/dynamic"
has "SONAME.*\[libheed.so.$minor\]" "$scratch/dynamic"
lacks "RPATH\|RUNPATH" "$scratch/dynamic"

# What makes it as fast as the archive: neither the state of a thread nor its own functions are reached through the
# loader. docs/abi.md promises the size of the state.
readelf -lrW "$heed/lib/libheed.so" > "$scratch/relocations"
lacks "__tls_get_addr" "$scratch/relocations"
lacks "JUMP_SLO.* heed_" "$scratch/relocations"
check [ "$(($(awk '$1 == "TLS" { print $6 }' "$scratch/relocations")))" -le 1024 ]

# ---- a program outside the tree; its own headers have names of Heed's ----

mkdir -p "$scratch/mine/tensor" "$scratch/mine/heed/tensor"
cd "$scratch/mine"
for decoy in tensor.h error.h tensor/tensor.h tensor/error.h dtype.h; do
    echo '#error "a header of the program was included"' > $decoy
done
sed 's/"heed.h"/<heed.h>/' "$root/examples/quickstart.c" > quickstart.c
recorded=$root/tests/fixtures/output/quickstart.txt
# It calls libm itself.
cat > sine.c << 'END'
#include <heed.h>
#include <math.h>
int main(int argc, char **argv)
{
    return !(sin(argc) > 0.8 && heed_version() != NULL && argv != NULL);
}
END

# runs PROGRAM shared|static: it uses that library, and works
runs() {
    if readelf -d "$1" | grep -q "NEEDED.*libheed.so.$minor"; then linked=shared; else linked=static; fi
    check [ "$linked" = "$2" ]
    LC_ALL=C.UTF-8 LD_LIBRARY_PATH="$heed/lib" "$1" > "$scratch/printed"
    case $1 in *quickstart* | */mine) check cmp "$recorded" "$scratch/printed" ;; esac
}

export PKG_CONFIG_PATH="$heed/lib/pkgconfig"
flags="pkg-config --define-prefix heed"
check [ "$(pkg-config --modversion heed)" = "$version" ]
# shellcheck disable=SC2046,SC2086
{
    $cc -std=c11 $strict -I. -Itensor quickstart.c $($flags --cflags --libs) -o quickstart
    runs ./quickstart shared
    $cc -std=c11 $strict -I. -Itensor quickstart.c $($flags --static --cflags --libs) -static -o quickstart
    runs ./quickstart static
    $cc -std=c11 $strict -I. -Itensor sine.c $($flags --cflags --libs) -o sine
    runs ./sine shared
}

# The library can be loaded by a running program, and dlclose does not remove it while threads need it: its own, and
# one that has used it, whose memory it frees when that thread ends.
cat > load.c << 'END'
#include <dlfcn.h>
#include <heed.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *library;
static pthread_barrier_t used, unloaded;
static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        puts(dlerror());
        exit(1);
    }
    return found;
}
static void *use(void *result)
{
    void (*set_num_threads)(int);
    void (*begin)(heed_scope *);
    heed_status (*end)(heed_scope *);
    heed_tensor *(*randn)(heed_shape, heed_dtype), *(*matmul)(heed_tensor *, heed_tensor *);
    *(void **)&set_num_threads = find("heed_set_num_threads");
    *(void **)&begin = find("heed_scope_begin");
    *(void **)&end = find("heed_scope_end");
    *(void **)&randn = find("heed_randn");
    *(void **)&matmul = find("heed_matmul");
    heed_scope scope;
    set_num_threads(2);
    begin(&scope);
    heed_tensor *x = randn(HEED_SHAPE(300, 300), HEED_F32);
    const int failed = matmul(x, x) == NULL;
    *(int *)result = failed + (end(&scope) != HEED_OK);
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&unloaded);
    return NULL;
}
/* load LIBRARY ... HEED: what cannot be loaded before Heed is left out */
int main(int argc, char **argv)
{
    int result = 0;
    pthread_t thread;
    for (int i = 1; i < argc; i++) {
        library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&unloaded, NULL, 2);
    pthread_create(&thread, NULL, use, &result);
    pthread_barrier_wait(&used);
    dlclose(library);
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
    return result;
}
END
# shellcheck disable=SC2046
$cc -std=gnu11 -Wall load.c $($flags --cflags) -ldl -pthread -o load
check ./load "$heed/lib/libheed.so"

# Other libraries have used up the static TLS: it says so, and the two remedies of docs/abi.md work.
others=
for size in 1024 512 256 128 64 32; do
    echo "static _Thread_local char state[$size] __attribute__((tls_model(\"initial-exec\"))); char *get$size(void) { return state; }" > other.c
    $cc -fPIC -shared other.c -o other$size.so
    others="$others ./other$size.so"
done
# shellcheck disable=SC2086
{
    expect 1 "libheed.so.*: cannot allocate memory in static TLS block" ./load $others "$heed/lib/libheed.so"
    check env "$(sed -n 's/^    \(GLIBC_TUNABLES=[^ ]*\) .*/\1/p' "$root/docs/abi.md")" ./load $others "$heed/lib/libheed.so"
    (cd "$root" && make -s BUILD="$build/dynamic" ISAS=baseline TLS_MODEL=global-dynamic shared)
    dynamic=$root/$build/dynamic/shared/libheed.so
    check ./load $others "$dynamic"
    readelf -dW "$dynamic" > "$scratch/dynamic"
    lacks STATIC_TLS "$scratch/dynamic"
}

# ---- CMake ----

project() {
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(mine C)\n'
    cat
}
built() {
    CC=$cc cmake -S . -B "$1" -DCMAKE_PREFIX_PATH="$heed" > "$scratch/log" 2>&1 &&
        cmake --build "$1" >> "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
}
cp quickstart.c mine.c
awk '/^```/ { inside = /^```cmake/; next } inside' "$root/docs/install.md" > lines.cmake # these make mine of mine.c
check [ "$(wc -l < lines.cmake)" -eq 3 ]
project > CMakeLists.txt << 'END'
include(lines.cmake)
add_executable(quickstart_static quickstart.c)
target_link_libraries(quickstart_static Heed::heed_static)
add_executable(sine sine.c)
target_link_libraries(sine Heed::heed)
END
built shared
runs shared/mine shared
runs shared/sine shared
runs shared/quickstart_static static
sed 's/^find_package.*/set(BUILD_SHARED_LIBS OFF)\nfind_package(Heed 0.1 REQUIRED COMPONENTS static)/' lines.cmake > edited
mv edited lines.cmake
built static
runs static/mine static

next=$(echo "$minor" | awk -F. '{ print $1 "." $2 + 1 }')
project > CMakeLists.txt << END
foreach(version $minor $version $minor...$next $minor...<$next 0 1 0.0 $next $minor.999 0.0...<$version)
  unset(Heed_DIR CACHE)
  find_package(Heed \${version} QUIET)
  message("version \${version}: \${Heed_FOUND}")
endforeach()
END
expect 0 "version" cmake -S . -B versions -DCMAKE_PREFIX_PATH="$heed"
sed -n 's/^version //p' "$scratch/out" > versions.txt
diff versions.txt - << END
$minor: 1
$version: 1
$minor...$next: 1
$minor...<$next: 1
0: 0
1: 0
0.0: 0
$next: 0
$minor.999: 0
0.0...<$version: 0
END
project > CMakeLists.txt << END
find_package(Heed $next REQUIRED)
END
expect 1 "HeedConfig.cmake, version: $version" cmake -S . -B versions -DCMAKE_PREFIX_PATH="$heed"

# ---- a library folder with a name of its own, one library only, and removal ----

cd "$root"
use="DESTDIR=$scratch/use PREFIX=/usr/ LIBDIR=/usr/lib/machine/ BUILD=$build"
# shellcheck disable=SC2086
make $use STATIC=0 install > "$scratch/out"
check [ ! -e "$scratch/use/usr/lib/machine/libheed.a" ]
# shellcheck disable=SC2016
has '^libdir=${exec_prefix}/lib/machine$' "$scratch/use/usr/lib/machine/pkgconfig/heed.pc"
# shellcheck disable=SC2016
has '${_heed_lib}/../.."' "$scratch/use/usr/lib/machine/cmake/Heed/HeedConfig.cmake"
# shellcheck disable=SC2086
make $use uninstall > "$scratch/out"
check [ "$(find "$scratch/use" ! -type d)" = "" ]
# shellcheck disable=SC2086
make $use SHARED=0 install > "$scratch/out"
check [ ! -e "$scratch/use/usr/lib/machine/libheed.so" ]
has '^Libs: .*-lheed -lm -pthread$' "$scratch/use/usr/lib/machine/pkgconfig/heed.pc"
# shellcheck disable=SC2086
make $use install > "$scratch/out"
echo other > "$scratch/use/usr/lib/machine/libother.so"
echo other > "$scratch/use/usr/include/heed/tensor/other.h"
# shellcheck disable=SC2086
make $use uninstall > "$scratch/out"
(cd "$scratch/use" && find . ! -type d) | sort > "$scratch/left"
printf './usr/%s\n' include/heed/tensor/other.h lib/machine/libother.so | diff - "$scratch/left"
rm "$scratch/use/usr/include/heed/tensor/other.h"
# shellcheck disable=SC2086
make $use uninstall > "$scratch/out"
check [ "$(find "$scratch/use" -iname '*heed*')" = "" ]
make DESTDIR="$scratch/use" PREFIX=/usr LIBDIR=../lib STATIC=0 SHARED=0 BUILD="$build" install > "$scratch/out"
has '^libdir=/usr/../lib$' "$scratch/use/lib/pkgconfig/heed.pc"
has '(_heed_prefix "/usr" ABSOLUTE)' "$scratch/use/lib/cmake/Heed/HeedConfig.cmake"

# ---- README's lines, with what make install prints ----

make BUILD="$build" PREFIX="$scratch/home" install > "$scratch/out"
has "^Heed $version is installed in $scratch/home$" "$scratch/out"
eval "$(sed -n 's/^    \(export .*\)/\1/p' "$scratch/out")"
cd "$scratch/mine"
line=$(sed -n 's/^    \(cc mine.c .*\)/\1/p' "$root/README.md")
eval "$line -g"
LC_ALL=C.UTF-8 ./mine | cmp - "$recorded"
echo "install_use: passed"
