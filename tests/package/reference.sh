#!/bin/sh
# Checks the reference that `make docs` writes with Doxygen: nothing is missing in the headers, every public name has a
# page and is found by the search, links lead somewhere, and the man pages are valid.
#   tests/package/reference.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
docs=$build/docs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "reference: $*"
    exit 1
}
command -v mandoc >/dev/null || fail "mandoc not found; run: make deps-dev"
command -v doxygen >/dev/null || fail "doxygen not found; run: make deps-dev"

installed="BUILD=$build PREFIX=/usr"
# shellcheck disable=SC2086
make -s docs $installed >"$work/out" 2>"$work/warnings" || { cat "$work/warnings"; fail "make docs fails"; }
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; fail "make docs prints warnings"; }
[ ! -s "$work/out" ] || { cat "$work/out"; fail "make docs prints something"; }
# shellcheck disable=SC2086
(umask 077 && make -s install-docs $installed DESTDIR="$work/a package" >"$work/out")
[ -z "$(find "$work/a package" -type f ! -perm 644)" ] || fail "install-docs: not all files can be read by all"
echo mine >"$work/a package/usr/share/man/man3/other.3"
cmp "$docs/man3/heed_matmul.3" "$work/a package/usr/share/man/man3/heed_matmul.3"
[ -f "$work/a package/usr/share/doc/heed/html/index.html" ] || fail "index.html is not installed"
# The page, if it is built.
page="$work/a package/usr/share/doc/heed/attention.html"
if [ -e "$build/page/attention.html" ]; then
    cmp "$build/page/attention.html" "$page"
else
    grep -q "^The page is left out, as it is not built" "$work/out" || fail "install-docs does not say that the page is missing"
    [ ! -e "$page" ] || fail "the page is installed, but was not built"
fi
# shellcheck disable=SC2086
make -s uninstall $installed DESTDIR="$work/a package" >"$work/out"
[ "$(cd "$work/a package" && find . -type f)" = ./usr/share/man/man3/other.3 ] || fail "uninstall leaves files, or removes others"

# Every function, macro and type has a man page with a description, and an entry in the search. The preprocessor lists
# them independently.
${CC:-cc} -Isrc -E -P src/heed.h >"$work/code.h"
${CC:-cc} -Isrc -E -dM src/heed.h | sed -n 's/^#define \(HEED_[A-Z0-9_]*\).*/\1/p' | grep -v '_H$' >"$work/names"
grep -oE '\bheed_[a-z0-9_]+ *\(' "$work/code.h" | tr -d ' (' >>"$work/names"
tr '\n' ' ' <"$work/code.h" | grep -oE '\btypedef [^;{]*(\{[^}]*\})?[^;]*;' | grep -oE '\bheed_[a-z0-9_]+ *(;|\()' |
    tr -d ' ;(' >>"$work/names"
grep -oE '^struct heed_[a-z0-9_]+ *\{?' "$work/code.h" | grep '{' | tr -d '{' | sed 's/ *$//; s/struct //' >>"$work/names"
sort -u "$work/names" >"$work/public"
[ "$(wc -l <"$work/public")" -gt 600 ] || fail "found only $(wc -l <"$work/public") public names"
cat "$docs"/html/search/all_*.js | grep -oE "^  \['[^']*',\['[^']*'" | sed "s/.*'\(.*\)'/\1/" | sort -u >"$work/indexed"
while read -r name; do
    page=$docs/man3/$name.3
    [ -f "$page" ] || fail "no man page: $name"
    ! grep -q '^\.so ' "$page" || page=$docs/$(sed -n 's/^\.so //p' "$page")
    awk '/^\.SH/ { inside = /Description/ } inside && !/^\./ { n++ } END { exit n == 0 }' "$page" || fail "$page: no text"
    grep -q "\\b$name\\b" "$page" || fail "$page does not mention $name"
    grep -qx "$name" "$work/indexed" || fail "the search does not know $name"
done <"$work/public"
grep -qx cross_entropy "$work/indexed" || fail "the search does not know cross_entropy without its prefix"

# has PAGE TEXT...: the rendered man page and the HTML contain each text.
has() {
    page=$1
    shift
    mandoc -Tascii -Owidth=80 "$docs/man3/$page.3" | col -bx | tr -s ' \n' ' ' >"$work/man"
    sed 's/<[^>]*>//g; s/&gt;/>/g; s/&#160;/ /g' "$docs/html/group__$(echo "$page" | sed 's/_/__/g').html" | tr -s ' \n' ' ' >"$work/html"
    for text in "$@"; do
        grep -qF -- "$text" "$work/man" || { cat "$work/man"; fail "man $page lacks: $text"; }
        grep -qF -- "$text" "$work/html" || { cat "$work/html"; fail "HTML of $page lacks: $text"; }
    done
}
has heed_matmul "heed_tensor * heed_matmul (heed_tensor *a, heed_tensor *b)" "torch.matmul(a, b)" \
    "a (..., m, k) b (..., k, n) -> y (..., m, n)" "y = a b da = g b^T db = a^T g" \
    "HEED_ERR_SHAPE" "the dtypes differ, or are bool." "lesson1_attention_head.c"
has heed_exp "y = e^x" "dx = g y" "torch.exp" "f32 with f64, or an operation" "lesson1_attention_head.c"
has heed_softmax "dx = y (g - sum(g y, dim))" "torch.softmax" "i64 or bool."
has heed_mse_loss "struct heed_loss_options" "dtarget = -dinput" "of a dtype that promotes with input's"
has heed_linear_new "struct heed_linear" "(out_features), or NULL" "torch.nn.Linear"
has heed_from_values "heed_tensor * heed_from_f32 (const float *const values, heed_shape shape)"
has struct_heed_op "names of the inputs in messages; NULL: \"input 0\", \"input 1\", ..."
has heed_dtype "int64_t, token ids and targets: torch.int64"
mandoc -Tascii "$docs/man3/heed_exp.3" | col -bx | grep -qF "#include <heed.h>" || fail "heed_exp lacks #include"

# Links lead to an anchor or a file.
(
    cd "$docs/html"
    for page in *.html; do
        echo "$page"
        grep -oE ' (id|name)="[^"]+"' "$page" | sed "s/^ [a-z]*=\"/$page#/; s/\"\$//" || true
    done
    ls
) | sort -u >"$work/targets"
(
    cd "$docs/html"
    for page in *.html; do
        grep -oE '(href|src)="[^"]+"' "$page" | sed "s/^[a-z]*=\"//; s/\"\$//; s/^#/$page#/" | grep -vE '^[a-z]+:|^search/' || true
    done
    cat search/all_*.js | grep -oE "'\.\./[^']*'" | sed "s/'\.\.\/\(.*\)'/\1/"
) | sort -u >"$work/links"
comm -23 "$work/links" "$work/targets" >"$work/broken"
[ ! -s "$work/broken" ] || { cat "$work/broken"; fail "these links lead nowhere"; }
[ "$(wc -l <"$work/links")" -gt 700 ] || fail "found only $(wc -l <"$work/links") links"

# Man pages are valid, and 80 columns wide.
# shellcheck disable=SC2046
mandoc -Tlint -Werror $(grep -L '^\.so' "$docs"/man3/*.3) || fail "mandoc warns"
for page in $(grep -L '^\.so' "$docs"/man3/*.3); do
    mandoc -Tascii -Owidth=80 "$page" | col -bx | awk -v page="$page" 'length > 80 { print page ": " $0; bad = 1 } END { exit bad }' ||
        fail "a line is wider than 80 columns"
done

# A header that lacks a comment, or names what does not exist, is reported.
mkdir "$work/tree"
cp -r package src docs examples bench README.md CONTRIBUTING.md SECURITY.md LICENSE CHANGELOG.md Makefile tests "$work/tree"
sed -i.old '/^\/\* heed_eye:/d; s/heed_full_like: x.s shape/heed_full_like: heed_nonsense/' "$work/tree/src/tensor/create.h"
if make -s -C "$work/tree" docs BUILD="$work/docs" >/dev/null 2>"$work/warnings"; then
    fail "a missing comment is no error"
fi
grep -q 'create.h:.*heed_eye_has_no_comment' "$work/warnings" || { cat "$work/warnings"; fail "heed_eye is not reported"; }
grep -q "create.h:.*'heed_nonsense'" "$work/warnings" || { cat "$work/warnings"; fail "heed_nonsense is not reported"; }

echo "reference: $(wc -l <"$work/public") public names have a page, $(wc -l <"$work/links") links, no warnings"
