#!/bin/sh
# Tests what `make release` and `make site` write, and that the workflow that publishes the site runs commands that
# exist: tests/package/release.sh BUILD. Needs emcc, esbuild, node, Doxygen and Python-Markdown.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
. tests/common/expect.sh
unset MAKEFLAGS WERROR
version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/tensor/version.h)
release=$build/release

# ---- the files ----

make -s BUILD="$build" DIRTY=1 release > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cat > "$scratch/wanted" << END
SHA256SUMS
attention.html
heed-$version-amalgamation.zip
heed-$version.tar.gz
heed-tasks.tar.gz
END
(cd "$release" && LC_ALL=C ls) > "$scratch/files"
check diff "$scratch/wanted" "$scratch/files"
(cd "$release" && sha256sum -c --strict SHA256SUMS) > "$scratch/sums"
check [ "$(grep -c ': OK$' "$scratch/sums")" -eq 4 ]
check cmp "$release/attention.html" "$build/page/attention.html"
check [ "$(wc -c < "$release/attention.html")" -lt 1200000 ]
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' \
    "$release/heed-$version-amalgamation.zip" "$scratch/unpacked"
for file in heed.h heed.c; do
    check cmp "$build/amalgamation/$file" "$scratch/unpacked/heed-$version-amalgamation/$file"
done
check cmp LICENSE "$scratch/unpacked/heed-$version-amalgamation/LICENSE"

# The same files give the same bytes.
cp "$release/SHA256SUMS" "$scratch/first"
touch "$build/amalgamation/heed.c"
sh package/release.sh "$build" "$version" > "$scratch/log"
check cmp "$release/SHA256SUMS" "$scratch/first"

# A page whose weights differ is no release; neither is one with changes that the tarball lacks.
mkdir -p "$scratch/other/page"
cp "$build/page/attention.html" "$scratch/other/page"
printf '#!/bin/sh\necho 0123456789abcdef\n' > "$scratch/other/page_hash"
chmod +x "$scratch/other/page_hash"
expect 1 "the page's weights after 500 steps with 1 heads have the hash [0-9a-f]*, those of HEED_ISA=baseline 01234567" \
    sh package/release.sh "$scratch/other" "$version"
git clone -q . "$scratch/clone"
echo >> "$scratch/clone/README.md"
expect 2 "commit your changes first" make -C "$scratch/clone" release

# ---- the site ----

make -s BUILD="$build" site REPOSITORY=https://example.org/heed/blob/main > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
check cmp "$build/page/attention.html" "$build/site/attention.html"
check [ -s "$build/site/reference/index.html" ]
cat > "$scratch/links.py" << 'END'
import html, os, posixpath, re, sys
site = sys.argv[1]
pages = {os.path.relpath(os.path.join(folder, name), site): open(os.path.join(folder, name), encoding="utf-8").read()
         for folder, _, names in os.walk(site) for name in names
         if name.endswith(".html") and name != "attention.html" and not folder.startswith(os.path.join(site, "reference"))}
ids = {path: set(re.findall(r' id="([^"]+)"', text)) for path, text in pages.items()}
links = broken = outside = 0
for path, text in pages.items():
    for link in re.findall(r'(?:href|src)="([^"]*)"', text):
        if re.match(r"[a-z]+:", link):
            outside += link.startswith("https://example.org/heed/blob/main/")
            if link.startswith("https://example.org") and not os.path.exists(link.split("main/")[1].partition("#")[0]):
                print(f"{path}: no file {link}")
                broken += 1
            continue
        file, _, anchor = html.unescape(link).partition("#")
        to = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        links += 1
        if not os.path.exists(os.path.join(site, to)) or (anchor and to in ids and anchor not in ids[to]):
            print(f"{path}: {link} leads nowhere")
            broken += 1
assert len(pages) > 20 and links > 200 and outside > 20, (len(pages), links, outside)
sys.exit(broken > 0)
END
check python3 -B "$scratch/links.py" "$build/site"

# ---- the workflow: steps of .ci/run, and targets of make ----

workflow=.ci/pages.yml
sed -n 's/^ *- run: //p' $workflow > "$scratch/commands"
check [ "$(wc -l < "$scratch/commands")" -ge 3 ]
make -pnrq help 2> /dev/null | sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' | sort -u > "$scratch/targets"
steps=$(sed -n 's/^\.ci\/run //p' "$scratch/commands")
check [ -n "$steps" ]
for step in $steps; do
    check grep -qE "(^|[ \"])$step([ \"]|\$)" .ci/run
    has "^$step$" "$scratch/targets"
done
for target in $(sed -n 's/^make //p' "$scratch/commands" | tr ' ' '\n' | grep -x '[a-z-]*'); do
    has "^$target$" "$scratch/targets"
done
groups=$(sed -n 's/^sudo sh tests\/install.sh //p' "$scratch/commands")
check [ -n "$groups" ]
for group in $groups; do
    has "^    $group)$" tests/install.sh
done
if grep -vE '^(sudo sh tests/install\.sh|\.ci/run|make) ' "$scratch/commands"; then
    echo "release: $workflow has other commands than those that this test compares"
    exit 1
fi
check grep -q "path: build/site" $workflow
echo "release: passed"
