#!/bin/sh
# Installs Heed's files or removes them: package/install.sh install|uninstall, as run by make.
#
# `files` at the end lists all files; both actions follow it. Nothing is used that BSD's install lacks: neither -D,
# -t nor long options.
set -eu
umask 022
action=$1

fail() {
    echo "make $action: $*" >&2
    exit 1
}

# PREFIX and LIBDIR become part of heed.pc, where they would have to be quoted; DESTDIR does not.
for path in "$PREFIX" "$LIBDIR"; do
    case $path in
    *[[:space:]\'\"\\\$\&\;\|#]*) fail "'$path': PREFIX and LIBDIR cannot contain spaces, quotes or any of \\ \$ & ; | #" ;;
    esac
done
for path in "$PREFIX" "$LIBDIR" "${DESTDIR-}"; do
    case $path in '~'*) fail "'$path': the shell did not expand ~; write \$HOME" ;; esac
done
case $PREFIX in /* | "") ;; *) PREFIX=$PWD/$PREFIX ;; esac
PREFIX=${PREFIX%/}
case $LIBDIR in /*) ;; *) LIBDIR=$PREFIX/$LIBDIR ;; esac
LIBDIR=${LIBDIR%/}
include=$PREFIX/include
share=$PREFIX/share
cmake=$LIBDIR/cmake/Heed

# A library folder within PREFIX is written relative to it, so that the installed tree can be moved. "." and ".." would
# make the way back to PREFIX unclear.
below=${LIBDIR#"$PREFIX"/}
case /$below/ in
//* | */./* | */../*)
    PC_LIBDIR=$LIBDIR
    CMAKE_PREFIX=${PREFIX:-/}
    ;;
*)
    PC_LIBDIR="\${exec_prefix}/$below"
    CMAKE_PREFIX="\${_heed_lib}/$(echo "$below" | sed 's#[^/]\{1,\}#..#g')"
    ;;
esac
SONAME_VERSION=${VERSION%.*}
PC_RPATH='' CMAKE_SONAME=$SONAME
case $SHARED_FILE in
*.dylib) PC_RPATH=" -Wl,-rpath,\${libdir}" CMAKE_SONAME="@rpath/$SONAME" ;; # macOS
esac
PC_LIBS=
[ "$SHARED" != 0 ] || PC_LIBS=" -pthread" # the archive needs it; the shared library brings it

# ---- one file: installed or removed ----

# begin FILE: makes its folder, and removes the file, so that a running program keeps the old one
begin() {
    directory=$DESTDIR${1%/*}
    if ! mkdir -p "$directory" 2> /dev/null || [ ! -w "$directory" ]; then
        fail "cannot write to $directory; run it as root, or choose another folder: make $action PREFIX=\$HOME/.local"
    fi
    rm -f "$DESTDIR$1"
}

remove() {
    [ ! -e "$DESTDIR$1" ] && [ ! -L "$DESTDIR$1" ] || rm "$DESTDIR$1" ||
        fail "cannot remove $DESTDIR$1; run it as root"
}

# put MODE SOURCE FILE
put() {
    case $action in
    install) begin "$3" && install -m "$1" "$2" "$DESTDIR$3" ;;
    uninstall) remove "$3" ;;
    esac
}

# link TARGET FILE
link() {
    case $action in
    install) begin "$2" && ln -s "$1" "$DESTDIR$2" ;;
    uninstall) remove "$2" ;;
    esac
}

# edit SOURCE FILE SED-ARGUMENT...
edit() {
    source=$1 file=$2
    shift 2
    case $action in
    install)
        begin "$file"
        sed "$@" "$source" > "$DESTDIR$file"
        chmod 644 "$DESTDIR$file"
        ;;
    uninstall) remove "$file" ;;
    esac
}

# fill TEMPLATE FILE: replaces @NAME@ by the value of the variable
fill() {
    edit "$1" "$2" -e "s|@PREFIX@|$PREFIX|" -e "s|@PC_LIBDIR@|$PC_LIBDIR|" -e "s|@PC_RPATH@|$PC_RPATH|" \
        -e "s|@VERSION@|$VERSION|" -e "s|@SONAME_VERSION@|$SONAME_VERSION|" -e "s|@SHARED_FILE@|$SHARED_FILE|" \
        -e "s|@CMAKE_PREFIX@|$CMAKE_PREFIX|" -e "s|@CMAKE_SONAME@|$CMAKE_SONAME|" -e "s|@PC_LIBS@|$PC_LIBS|"
}

# ---- all files ----

# wanted 0|1: is this library installed? All are removed.
wanted() {
    [ "$action" = uninstall ] || [ "$1" != 0 ]
}

files() {
    # The parts include each other relative to themselves; heed.h finds them in heed/ beside it.
    for header in $HEADERS; do
        case $header in
        */*) put 644 "src/$header" "$include/heed/$header" ;;
        *) edit "src/$header" "$include/$header" 's|^#include "\([^"]*/\)|#include "heed/\1|' ;;
        esac
    done
    if wanted "$STATIC"; then
        put 644 "$BUILD/libheed.a" "$LIBDIR/libheed.a"
    fi
    if wanted "$SHARED"; then
        put 755 "$BUILD/shared/$SHARED_FILE" "$LIBDIR/$SHARED_FILE"
        link "$SHARED_FILE" "$LIBDIR/$SONAME"
        link "$SONAME" "$LIBDIR/$SHARED_LINK"
    fi
    fill package/heed.pc.in "$LIBDIR/pkgconfig/heed.pc"
    fill package/HeedConfig.cmake.in "$cmake/HeedConfig.cmake"
    fill package/HeedConfigVersion.cmake.in "$cmake/HeedConfigVersion.cmake"
    for program in $PROGRAMS; do
        name=heed-$(echo "$program" | tr _ -)
        put 755 "$BUILD/$program" "$PREFIX/bin/$name"
    done
    put 644 LICENSE "$share/licenses/heed/LICENSE"
}

# These folders are Heed's own. `make install` removes headers of another version; `make uninstall` keeps files that it
# did not install.
own="$include/heed $share/licenses/heed $cmake"
case $action in
install)
    begin "$include/heed.h"
    rm -rf "$DESTDIR$include/heed"
    files
    ;;
uninstall)
    files
    for folder in $own; do
        [ ! -d "$DESTDIR$folder" ] || find "$DESTDIR$folder" -depth -type d -exec rmdir {} + 2> /dev/null || :
    done
    ;;
esac

# The loader of glibc finds libraries through a cache.
if [ -z "$DESTDIR" ] && [ "$(id -u)" -eq 0 ] && [ "$(uname)" = Linux ] && command -v ldconfig > /dev/null; then
    ldconfig 2> /dev/null || :
fi
if [ "$action" = uninstall ]; then
    echo "Heed $VERSION is removed from $DESTDIR$PREFIX"
    exit
fi
echo "Heed $VERSION is installed in $DESTDIR$PREFIX"
if [ -z "$DESTDIR" ]; then
    case :$(pkg-config --variable pc_path pkg-config 2> /dev/null): in
    *":$LIBDIR/pkgconfig:"*) ;;
    *)
        echo "Compilers and programs find it there after:"
        # shellcheck disable=SC2016
        printf '    export %s=%s${%s:+:$%s}\n' PATH "$PREFIX/bin" PATH PATH \
            PKG_CONFIG_PATH "$LIBDIR/pkgconfig" PKG_CONFIG_PATH PKG_CONFIG_PATH \
            LD_LIBRARY_PATH "$LIBDIR" LD_LIBRARY_PATH LD_LIBRARY_PATH
        ;;
    esac
fi
