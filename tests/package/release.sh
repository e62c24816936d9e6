#!/bin/sh
# Tests what `make release` writes, and that the tarball builds without git: tests/package/release.sh BUILD. Needs emcc,
# esbuild and node.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
. tests/common/expect.sh
unset MAKEFLAGS WERROR
version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/heed.h)
release=$build/release

# ---- the version: CHANGELOG's first entry has that of heed.h; CITATION.cff has that of the last release ----

first=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
released=$(sed -n 's/^## \([0-9.]* (20..-..-..)\)$/\1/p' CHANGELOG.md | head -n 1)
check [ "${first% *}" = "$version" ]
[ "$first" = "$released" ] || check [ "$first" = "$version (unreleased)" ]
check [ "$(sed -n 's/^version: //p' CITATION.cff) ($(sed -n 's/^date-released: //p' CITATION.cff))" = "$released" ]

# ---- the files ----

make -s BUILD="$build" DIRTY=1 release > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cat > "$scratch/wanted" << END
SHA256SUMS
attention.html
attention_check.py
heed-$version.tar.gz
heed-tasks.tar.gz
heed_attention_check-$version-py3-none-any.whl
END
(cd "$release" && LC_ALL=C ls) > "$scratch/files"
check diff "$scratch/wanted" "$scratch/files"
(cd "$release" && sha256sum -c --strict SHA256SUMS) > "$scratch/sums"
check [ "$(grep -c ': OK$' "$scratch/sums")" -eq 5 ]
check cmp "$release/attention.html" "$build/page/attention.html"
check [ "$(wc -c < "$release/attention.html")" -lt 1200000 ]

# The same files give the same bytes.
cp "$release/SHA256SUMS" "$scratch/first"
touch "$build/amalgamation/heed.c"
rm "$build/heed-$version.tar.gz"
make -s BUILD="$build" dist > /dev/null
sh package/release.sh "$build" "$version" > "$scratch/log"
check cmp "$release/SHA256SUMS" "$scratch/first"

# A tree with changes that the tarball lacks is no release.
git clone -q . "$scratch/clone"
echo >> "$scratch/clone/README.md"
expect 2 "commit your changes first" make -C "$scratch/clone" release

# ---- the tree in the tarball, without git ----

tar xzf "$release/heed-$version.tar.gz" -C "$scratch"
git ls-tree -r --name-only HEAD | grep -vx '\.git[a-z]*' | sort > "$scratch/wanted"
(cd "$scratch/heed-$version" && find . -type f | sed 's#^\./##' | sort) > "$scratch/unpacked"
check diff "$scratch/wanted" "$scratch/unpacked"
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "$*" >> %s\nexit 127\n' "$scratch/git" > "$scratch/bin/git"
chmod +x "$scratch/bin/git"
export PATH="$scratch/bin:$PATH"
cd "$scratch/heed-$version"
expect 2 "Error 127" make dist # the stand-in works; nothing else may need git
rm "$scratch/git"
make -s OPTIMISE=-O0 all build/test_heed # without optimisation: in seconds
expect 0 "^[0-9]* passed, 0 failed$" build/test_heed tensor/ safetensors
expect 0 "and it -> mooed" build/quickstart
check [ ! -e "$scratch/git" ]
echo "release: passed"
