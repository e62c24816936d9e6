#!/bin/sh
# Installs missing packages with the system's package manager; does nothing if all are installed.
#   tests/install.sh check        Check and pkg-config, for `make test`
#   tests/install.sh check dev    also the second compiler, sanitizers, formatter and checkers
#   tests/install.sh use          CMake, for tests/package/install_use.sh
#   tests/install.sh report       a browser and its driver, for tests/page/report.sh and page.sh
#   tests/install.sh page         the compiler to WebAssembly and esbuild, for `make page`
#   tests/install.sh dist         git and gzip, for `make dist`
#   tests/install.sh torch        what installs PyTorch, for tests/fixtures/torch.sh
#   tests/install.sh arm64        a compiler and an emulator for arm64, for tests/package/cc.sh
set -eu

missing=""

# want PROGRAM-OR-TEST  apt  dnf  apk  pacman  brew
want() {
    test_=$1
    shift
    if ! sh -c "$test_" >/dev/null 2>&1; then
        missing="$missing $(pick "$@")"
    fi
}

manager=""
for m in apt-get dnf apk pacman brew; do
    if command -v "$m" >/dev/null 2>&1; then
        manager=$m
        break
    fi
done

pick() {
    case $manager in
    apt-get) echo "$1" ;;
    dnf) echo "$2" ;;
    apk) echo "$3" ;;
    pacman) echo "$4" ;;
    brew) echo "$5" ;;
    *) echo "$1" ;;
    esac
}

for group in "$@"; do
    case $group in
    check)
        want "command -v pkg-config" pkg-config pkgconf-pkg-config pkgconf pkgconf pkg-config
        want "pkg-config --exists check" check check-devel check-dev check check
        ;;
    dev)
        want "command -v gcc" gcc gcc gcc gcc gcc
        want "command -v python3" python3 python3 python3 python python3
        want "command -v g++" g++ gcc-c++ g++ gcc gcc
        want "command -v clang" clang clang clang clang llvm
        want 'echo "int main(void){return 0;}" | clang -fsanitize=address,undefined -x c - -o /dev/null' \
            libclang-rt-dev compiler-rt compiler-rt compiler-rt llvm
        want "command -v clang-format" clang-format clang-tools-extra clang-extra-tools clang clang-format
        want "command -v cppcheck" cppcheck cppcheck cppcheck cppcheck cppcheck
        want "command -v valgrind" valgrind valgrind valgrind valgrind valgrind
        want "command -v xmllint" libxml2-utils libxml2 libxml2-utils libxml2 libxml2
        want "command -v script" bsdutils util-linux util-linux util-linux util-linux
        want "[ -e /usr/share/i18n/charmaps ]" locales glibc-locale-source musl-locales glibc-locales gettext
        want "command -v dot" graphviz graphviz graphviz graphviz graphviz
        want "command -v mpicc && command -v mpirun" "libopenmpi-dev openmpi-bin" openmpi-devel \
            "openmpi openmpi-dev" openmpi open-mpi
        ;;
    use)
        want "command -v cmake" cmake cmake cmake cmake cmake
        want "command -v pkg-config" pkg-config pkgconf-pkg-config pkgconf pkgconf pkg-config
        want "command -v readelf" binutils binutils binutils binutils binutils
        ;;
    report)
        want "command -v chromium || command -v chromium-browser" chromium chromium chromium chromium chromium
        want "command -v chromedriver" chromium-driver chromedriver chromium-chromedriver chromium chromedriver
        want "python3 -c 'import selenium' || /usr/bin/python3 -c 'import selenium'" python3-selenium \
            python3-selenium py3-selenium python-selenium selenium
        want "python3 -m pip --version" python3-pip python3-pip py3-pip python-pip python
        ;;
    page)
        want "command -v emcc" emscripten emscripten emscripten emscripten emscripten
        want "command -v esbuild" esbuild esbuild esbuild esbuild esbuild
        ;;
    dist)
        want "command -v git" git git git git git
        want "command -v gzip" gzip gzip gzip gzip gzip
        ;;
    torch)
        want "command -v cc" gcc gcc gcc gcc gcc
        want "command -v readelf" binutils binutils binutils binutils binutils
        want "command -v python3" python3 python3 python3 python python3
        want "python3 -m pip --version" python3-pip python3-pip py3-pip python-pip python
        want "python3 -m venv -h" python3-venv python3 python3 python python3
        ;;
    arm64)
        want "command -v aarch64-linux-gnu-gcc" gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu \
            aarch64-linux-gnu-gcc aarch64-linux-gnu-gcc
        want "echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -E -" libc6-dev-arm64-cross glibc-devel musl-dev \
            aarch64-linux-gnu-glibc aarch64-linux-gnu-gcc
        want "command -v qemu-aarch64" qemu-user qemu-user qemu-aarch64 qemu-user qemu
        ;;
    esac
done

# shellcheck disable=SC2086
missing=$(echo $missing)
[ -n "$missing" ] || exit 0
if [ -z "$manager" ]; then
    echo "no package manager found; please install: $missing" >&2
    exit 1
fi

# Debian's package name contains the compiler's version.
case $missing in
*libclang-rt-dev*)
    version=$(clang -dumpversion 2>/dev/null | cut -d. -f1 || true)
    missing=$(echo "$missing" | sed "s/libclang-rt-dev/libclang-rt-${version:-14}-dev/")
    ;;
esac
case $manager in
apt-get)
    install="DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
    command="apt-get update -qq && $install $missing"
    ;;
dnf) command="dnf install -y $missing" ;;
apk) command="apk add $missing" ;;
pacman) command="pacman -S --noconfirm --needed $missing" ;;
brew) command="brew install $missing" ;;
esac
if [ "$(id -u)" -ne 0 ] && [ "$manager" != brew ]; then
    printf '%s\n' "missing: $missing. Only root can install packages; run this, then make again:" "" \
        "    sudo sh -c '$command'" "" >&2
    exit 1
fi
echo "installing: $missing"
sh -c "$command"
