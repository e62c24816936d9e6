#!/bin/sh
# Checks the reference that `make docs` writes (package/reference): nothing is missing in the headers, every public
# name has a page, links lead somewhere, and the man pages are valid.
#   tests/reference.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
docs=$build/docs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "reference: $*"
    exit 1
}
command -v mandoc >/dev/null || fail "mandoc not found; run: make deps-dev"
browser=$(command -v chromium || command -v chromium-browser) || fail "chromium not found; run: make deps-dev"

make -s docs BUILD="$build" >"$work/out" 2>"$work/warnings" || { cat "$work/warnings"; fail "make docs fails"; }
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; fail "make docs prints warnings"; }
cat "$work/out"

# Every function, macro and type has a man page with a description, and an entry in the HTML. The preprocessor lists
# them independently.
${CC:-cc} -Isrc -E -P src/heed.h >"$work/code.h"
${CC:-cc} -Isrc -E -dM src/heed.h | sed -n 's/^#define \(HEED_[A-Z0-9_]*\).*/\1/p' | grep -v '_H$' >"$work/names"
grep -oE '\bheed_[a-z0-9_]+ *\(' "$work/code.h" | tr -d ' (' >>"$work/names"
tr '\n' ' ' <"$work/code.h" | grep -oE '\btypedef [^;{]*(\{[^}]*\})?[^;]*;' | grep -oE '\bheed_[a-z0-9_]+ *(;|\()' |
    tr -d ' ;(' >>"$work/names"
grep -oE '^struct heed_[a-z0-9_]+ *\{?' "$work/code.h" | grep '{' | tr -d '{' | sed 's/ *$//; s/struct /struct-/' >>"$work/names"
sort -u "$work/names" >"$work/public"
[ "$(wc -l <"$work/public")" -gt 600 ] || fail "found only $(wc -l <"$work/public") public names"
cat "$docs"/html/*.html | grep -oE ' id="[^"]+"' | sed 's/^ id="//; s/"$//' | sort -u >"$work/anchors"
while read -r name; do
    page=$docs/man3/$name.3
    [ -f "$page" ] || fail "no man page: $name"
    ! grep -q '^\.so ' "$page" || page=$docs/$(sed -n 's/^\.so //p' "$page")
    awk '/^\.SH/ { inside = /DESCRIPTION/ } inside && !/^\./ { n++ } END { exit n == 0 }' "$page" || fail "$page: no text"
    grep -qF "$(echo "$name" | sed 's/-/\\-/')" "$page" || fail "$page does not mention $name"
    grep -qx "$name" "$work/anchors" || fail "no HTML entry: $name"
done <"$work/public"

# has PAGE TEXT...: the rendered man page and the HTML contain each text.
has() {
    page=$1
    header=$2
    shift 2
    mandoc -Tascii -Owidth=80 "$docs/man3/$page.3" | col -bx >"$work/man"
    sed -n "/id=\"$page\"/,/<\/section>/p" "$docs/html/$header.html" | sed 's/<[^>]*>//g; s/&gt;/>/g' >"$work/html"
    for text in "$@"; do
        grep -qF -- "$text" "$work/man" || { cat "$work/man"; fail "man $page lacks: $text"; }
        grep -qF -- "$text" "$work/html" || { cat "$work/html"; fail "$header.html#$page lacks: $text"; }
    done
}
has heed_matmul autograd-ops-matmul "heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b);" "torch.matmul(a, b)" \
    "a (..., m, k)   b (..., k, n)   ->   y (..., m, n)" "y = a b         da = g b^T           db = a^T g" \
    "HEED_ERR_SHAPE" "the dtypes differ, or are bool." "From examples/"
has heed_exp autograd-ops-elementwise "y = e^x" "dx = g y" "torch.exp" "From examples/"
has heed_softmax autograd-ops-softmax "dx = y (g - sum(g y, dim))" "torch.softmax" "i64 or bool."
has heed_mse_loss autograd-ops-loss "typedef struct heed_loss_options {" "dtarget = -dinput"
has heed_linear_new nn-layers-linear "struct heed_linear {" "/* (out_features), or NULL */" "torch.nn.Linear"
has heed_from_values tensor-create "heed_tensor *heed_from_f32(const float *const values,"
mandoc -Tascii "$docs/man3/heed_exp.3" | col -bx | grep -q "f32 with f64, or an operation" || fail "heed_exp lacks the errors of its header"

# Links lead to an anchor or a file.
sed -n 's/.*", "\([^" ]*\.html[^" ]*\)", ".*/\1/p' "$docs/html/search-index.js" >"$work/indexed"
[ "$(wc -l <"$work/indexed")" -ge "$(wc -l <"$work/public")" ] || fail "the search knows only $(wc -l <"$work/indexed") names"
(
    cd "$docs/html"
    for page in *.html; do
        echo "$page"
        grep -oE ' id="[^"]+"' "$page" | sed "s/^ id=\"/$page#/; s/\"\$//" || true
    done
    ls
) | sort -u >"$work/targets"
(
    cd "$docs/html"
    for page in *.html; do
        grep -oE '(href|src)="[^"]+"' "$page" | sed "s/^[a-z]*=\"//; s/\"\$//; s/^#/$page#/" | grep -vE '^[a-z]+:' || true
    done
    cat "$work/indexed"
) | sort -u >"$work/links"
comm -23 "$work/links" "$work/targets" >"$work/broken"
[ ! -s "$work/broken" ] || { cat "$work/broken"; fail "these links lead nowhere"; }
[ "$(wc -l <"$work/links")" -gt 700 ] || fail "found only $(wc -l <"$work/links") links"

# Man pages are valid, and 80 columns wide.
# shellcheck disable=SC2046
mandoc -Tlint -Wwarning $(grep -L '^\.so' "$docs"/man3/*.3) || fail "mandoc warns"
for page in $(grep -L '^\.so' "$docs"/man3/*.3); do
    mandoc -Tascii -Owidth=80 "$page" | col -bx | awk -v page="$page" 'length > 80 { print page ": " $0; bad = 1 } END { exit bad }' ||
        fail "a line is wider than 80 columns"
done

# The search works without a server.
"$browser" --headless=new --no-sandbox --disable-gpu --virtual-time-budget=2000 --dump-dom \
    "file://$(cd "$docs" && pwd)/html/index.html?q=cross%20entropy" 2>/dev/null >"$work/found"
grep -oE '<ol id="results">.*' "$work/found" | grep -oE 'href="[^"]*"' | head -1 | grep -q '#heed_cross_entropy"' ||
    fail "the search does not find cross entropy"

# A header that lacks a comment, or names what does not exist, is reported.
mkdir "$work/tree"
cp -r package src docs examples bench README.md CONTRIBUTING.md SECURITY.md LICENSE CHANGELOG.md tests "$work/tree"
sed -i.old '/^\/\* heed_eye:/d; s/heed_full_like: x.s shape/heed_full_like: heed_nonsense/' "$work/tree/src/tensor/create.h"
if python3 -B "$work/tree/package/reference" "$work/docs" >/dev/null 2>"$work/warnings"; then
    fail "a missing comment is no error"
fi
grep -q 'create.h:[0-9]*: heed_eye has no comment' "$work/warnings" || { cat "$work/warnings"; fail "heed_eye is not reported"; }
grep -q 'heed_nonsense is not public' "$work/warnings" || { cat "$work/warnings"; fail "heed_nonsense is not reported"; }

echo "reference: $(wc -l <"$work/public") public names have a page, $(wc -l <"$work/links") links, no warnings"
