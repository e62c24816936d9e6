#!/bin/sh
# Tests the Debian packages, in minutes: builds them with all tests, checks them with lintian, installs them in a
# minimal Debian, compiles and runs programs there, and removes them. Needs root or user namespaces, and the network.
#   tests/package/deb.sh --short: in about two minutes, without optimisation, tests or the minimal Debian
set -eu
short=false
[ "${1-}" != --short ] || short=true
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
unset MAKEFLAGS WERROR
sh tests/install.sh check dist deb page
log=build/deb.log
mkdir -p build
! $short || export DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
make deb > $log 2>&1 || { tail -40 $log; exit 1; }

# The packages are unpacked, and their tests find them there.
if $short; then
    for package in libheed0.1 libheed-dev heed-tools heed-doc; do
        dpkg-deb -x build/deb/${package}_*.deb "$scratch/root"
    done
    for program in gpt next-token stories graph; do
        check [ -s "$scratch/root/usr/share/man/man1/heed-$program.1.gz" ]
    done
    # The page trains to the weights of the native program.
    make build/page_hash > /dev/null
    check [ "$(node package/page_hash.mjs "$scratch/root/usr/share/doc/heed/attention.html" 50 1)" = \
        "$(HEED_ISA=baseline build/page_hash 50 1)" ]
    libraries=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    export PATH="$scratch/root/usr/bin:$PATH" LD_LIBRARY_PATH="$scratch/root$libraries"
    export LIBRARY_PATH="$scratch/root$libraries"
    export PKG_CONFIG_SYSROOT_DIR="$scratch/root" PKG_CONFIG_LIBDIR="$scratch/root$libraries/pkgconfig"
    for test in package/debian/tests/quickstart package/debian/tests/programs; do
        sh $test > "$scratch/log" 2>&1 || { cat "$scratch/log"; echo "deb: $test failed"; exit 1; }
    done
    echo "deb: passed"
    exit
fi

# The kernels keep their -O3; dpkg's other flags reach every compiler and linker call.
grep -e ' -c src/tensor/kernels/.* -o ' $log > "$scratch/kernels"
grep -e ' -c [a-z]*/.* -o ' $log > "$scratch/compiled"
grep -e '^cc .* -Wl,' $log | grep -v -e ' -c ' > "$scratch/linked"
check [ "$(wc -l < "$scratch/kernels")" -gt 20 ]
check [ "$(wc -l < "$scratch/linked")" -gt 5 ]
lacks ' -O2 ' "$scratch/kernels"
every() {
    check [ "$(grep -vc -e " $1 " "$2")" -eq 0 ]
}
every -O3 "$scratch/kernels"
every -fstack-protector-strong "$scratch/compiled"
every -D_FORTIFY_SOURCE=2 "$scratch/compiled"
every -Wl,-z,now "$scratch/linked"

cat > "$scratch/trial" << 'END'
set -e
cd /root
export DEBIAN_FRONTEND=noninteractive MANPAGER=cat
apt-get install -y -qq ./*.deb > log 2>&1 || { cat log; exit 1; }
for test in quickstart programs; do
    (cd source && sh debian/tests/$test)
done
for program in gpt next-token stories graph; do
    man heed-$program > page
    grep -q 'heed-'$program page
done
[ -s /usr/share/doc/heed/attention.html ]
apt-get purge -y -qq heed-doc heed-tools libheed-dev libheed0.1 > log 2>&1 || { cat log; exit 1; }
! find /usr /etc /var/lib/dpkg/info -name '*heed*' | grep .
END
set -- "$PWD"/build/deb/libheed0.1_*.deb "$PWD"/build/deb/libheed-dev_*.deb "$PWD"/build/deb/heed-tools_*.deb "$PWD"/build/deb/heed-doc_*.deb
mkdir -p "$scratch/source/examples" "$scratch/source/debian"
cp examples/quickstart.c "$scratch/source/examples"
cp -R package/debian/tests "$scratch/source/debian"
mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkgconf,man-db --format=null \
    --customize-hook="copy-in $* $scratch/trial $scratch/source /root" \
    --customize-hook='chroot "$1" sh /root/trial' bookworm
echo "deb: passed"
