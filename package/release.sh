#!/bin/sh
# Makes a release in BUILD/release: package/release.sh BUILD VERSION, as run by `make release`. The tarball holds the last
# commit, so the page may not have changes of its own; DIRTY=1 allows them, for tests. The page must train to the weights
# of the native program.
set -eu
build=$1 version=$2
release=$build/release
git diff --quiet HEAD || [ -n "${DIRTY:-}" ] || {
    echo "make release: commit your changes first: the tarball holds the last commit, the page what is here" >&2
    exit 1
}
make BUILD="$build" dist page "$build/page_hash" amalgamation

for heads in 1 2; do
    native=$(HEED_ISA=baseline "$build/page_hash" 500 $heads)
    page=$(node package/page_hash.mjs "$build/page/attention.html" 500 $heads)
    if [ "$native" != "$page" ]; then
        echo "make release: the page's weights after 500 steps with $heads heads have the hash $page, those of" \
            "HEED_ISA=baseline $native" >&2
        exit 1
    fi
done

rm -rf "$release"
mkdir "$release"
cp "$build/heed-$version.tar.gz" "$build/page/attention.html" examples/pytorch/attention_check.py "$release"
python3 package/wheel.py "$release"
sh package/task_kit.sh "$build" > /dev/null
(cd "$release" && sha256sum -- * > SHA256SUMS)
echo "$release has the release: $(cd "$release" && echo ./* | sed 's#\./##g')"
