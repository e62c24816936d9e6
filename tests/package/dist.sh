#!/bin/sh
# Tests the release's tarball: its version is the same everywhere, the same commit gives the same bytes, and the tree
# in it builds, passes tests and installs without git.
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
unset MAKEFLAGS WERROR

version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/tensor/version.h)
heed=heed-$version
tarball=$PWD/build/$heed.tar.gz
make -s dist > /dev/null

# ---- the version ----

# CHANGELOG's first entry is version.h's version. CITATION.cff has the last release.
first=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
released=$(sed -n 's/^## \([0-9.]* (20..-..-..)\)$/\1/p' CHANGELOG.md | head -n 1)
check [ "${first% *}" = "$version" ]
[ "$first" = "$released" ] || check [ "$first" = "$version (unreleased)" ]
check [ "$(sed -n 's/^version: //p' CITATION.cff) ($(sed -n 's/^date-released: //p' CITATION.cff))" = "$released" ]

# ---- the bytes ----

cp "$tarball" "$scratch/first"
rm "$tarball"
make -s dist > /dev/null
check cmp "$tarball" "$scratch/first"
tar xzf "$tarball" -C "$scratch"
git ls-tree -r --name-only HEAD | grep -vx '\.git[a-z]*' | sort > "$scratch/wanted"
(cd "$scratch/$heed" && find . -type f | sed 's#^\./##' | sort) > "$scratch/unpacked"
check diff "$scratch/wanted" "$scratch/unpacked"

# ---- the tree in it ----

mkdir "$scratch/bin"
printf '#!/bin/sh\necho "$*" >> %s\nexit 127\n' "$scratch/git" > "$scratch/bin/git"
chmod +x "$scratch/bin/git"
export PATH="$scratch/bin:$PATH"
cd "$scratch/$heed"
expect 2 "not a clone" make dist
check [ ! -e "$scratch/git" ]

# Without optimisation, it builds in seconds.
quickly="OPTIMISE=-O0 ISAS=baseline"
# shellcheck disable=SC2086
make -s $quickly all build/test_heed
# shellcheck disable=SC2086
make -s $quickly install PREFIX=/usr DESTDIR="$scratch/root"
expect 0 "^[0-9]* passed, 0 failed$" build/test_heed tensor/ safetensors
expect 0 "and it -> mooed" build/quickstart

# In a chroot without /proc and pseudo-terminals, tests that need them are skipped, and counted apart.
bare='mount -t tmpfs none /proc && mount -t tmpfs none /dev/pts && exec "$@"'
if unshare -rm sh -c "$bare" sh true 2> /dev/null; then
    set -- unshare -rm sh -c "$bare" sh build/test_heed forks watch plot corpus
    expect 0 "^[0-9]* passed, 0 failed, [0-9]* skipped$" env HEED_STRICT=0 "$@"
    for why in "forks: /proc/self/exe is missing; mount /proc" \
        "watch: this machine has no pseudo-terminals; mount /dev/pts" \
        "plot: this machine has no pseudo-terminals; mount /dev/pts" \
        "corpus: /proc/self/status is missing; mount /proc"; do
        has "^skipped: [1-9][0-9]* of $why$" "$scratch/out"
    done
    skipped=$(awk '$1 == "skipped:" { sum += $2 } END { print sum }' "$scratch/out")
    has "^[0-9]* passed, 0 failed, $skipped skipped$" "$scratch/out"
    expect 1 "^[0-9]* passed, $skipped failed" env HEED_STRICT=1 "$@"
else
    skip "this user may not mount file systems"
fi

expect 0 "^Heed $version, " "$scratch/root/usr/bin/heed-gpt" --version
check [ ! -e "$scratch/git" ]
echo "dist: passed"
