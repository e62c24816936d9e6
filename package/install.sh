#!/bin/sh
# Installs Heed or removes it: package/install.sh install|uninstall, as run by make. Uses nothing that BSD's install
# lacks: neither -D, -t nor long options.
set -eu
umask 022
action=$1
fail() {
    echo "make $action: $*" >&2
    exit 1
}

# Both become part of heed.pc, where these characters would have to be quoted.
for path in "$PREFIX" "$LIBDIR"; do
    case $path in
    '~'*) fail "'$path': the shell did not expand ~; write \$HOME" ;;
    *[[:space:]\'\"\\\$\&\;\|#:]*) fail "'$path': PREFIX and LIBDIR cannot contain spaces, quotes or any of \\ \$ & ; | # :" ;;
    esac
done
case $PREFIX in /*) ;; *) PREFIX=$PWD/$PREFIX ;; esac
PREFIX=${PREFIX%/}
case $LIBDIR in /*) ;; *) LIBDIR=$PREFIX/$LIBDIR ;; esac
include=$DESTDIR$PREFIX/include lib=$DESTDIR$LIBDIR

# Both actions remove what was installed, also by another version. A running program keeps its library.
rm -rf "$include/heed.h" "$include/heed" "$lib"/libheed.* "$lib/pkgconfig/heed.pc" "$lib/cmake/Heed" ||
    fail "cannot remove files from $DESTDIR$PREFIX; run it as root"
if [ "$action" = uninstall ]; then
    rmdir "$lib/pkgconfig" "$lib/cmake" 2> /dev/null || :
    case $DESTDIR$PREFIX in
    /usr | /usr/local) ;; # their folders existed before
    *) for folder in "$LIBDIR" "${LIBDIR%/*}" "$PREFIX/include" "$PREFIX"; do
           if [ -z "$DESTDIR" ]; then rmdir "$folder"; else (cd "$DESTDIR" && rmdir -p ".$folder"); fi 2> /dev/null || :
       done ;;
    esac
    echo "Heed is removed from $DESTDIR$PREFIX"
    exit
fi

mkdir -p "$include" "$lib/pkgconfig" 2> /dev/null && [ -w "$include" ] && [ -w "$lib" ] ||
    fail "cannot write to $DESTDIR$PREFIX; run it as root, or choose another folder: make install PREFIX=\$HOME/.local"
install -m 644 src/heed.h "$include"
install -m 644 "$BUILD/libheed.a" "$lib"
install -m 755 "$BUILD/shared/$SHARED" "$lib"
ln -s "$SHARED" "$lib/libheed.so"
sed -e "s|@PREFIX@|$PREFIX|" -e "s|@LIBDIR@|$LIBDIR|" -e "s|@VERSION@|$VERSION|" package/heed.pc.in \
    > "$lib/pkgconfig/heed.pc"

echo "Heed $VERSION is installed in $DESTDIR$PREFIX"
[ -z "$DESTDIR" ] || exit 0
ldconfig 2> /dev/null || : # glibc's loader finds libraries through a cache
echo "To compile a program:"
echo "    cc mine.c -I$PREFIX/include $LIBDIR/libheed.a -lm -pthread -o mine"
echo "or, with pkg-config and the shared library:"
case :$(pkg-config --variable pc_path pkg-config 2> /dev/null): in
*":$LIBDIR/pkgconfig:"*) ;;
*) echo "    export PKG_CONFIG_PATH=$LIBDIR/pkgconfig\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}" ;;
esac
# shellcheck disable=SC2016
echo '    cc mine.c $(pkg-config --cflags --libs heed) -o mine'
