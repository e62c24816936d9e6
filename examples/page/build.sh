#!/bin/sh
# Trains the models of the page and puts it together: examples/page/build.sh BUILD, as run by `make page`, which has built
# the programs. Writes BUILD/page/attention.html. esbuild joins the modules; this script puts stylesheets, scripts,
# WebAssembly and the models into page.html, where lines of the form <!-- insert NAME --> stand for them.
set -eu

here=$(dirname "$0")
build=$1
wasm=$build/page/engine.wasm
page=$build/page/attention.html
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

# The models of the story and of the map, trained with the kernels that WebAssembly uses, unless they are there.
export HEED_ISA=baseline
story=$build/story.bin gpt=$build/page_gpt.safetensors
[ "$story" -nt "$build/page_train" ] || "$build/page_train" "$story"
if ! [ "$gpt" -nt "$build/page_shrink" ]; then
    # The stories lack some letters: with these things the model can read any word in small letters.
    "$build/stories" | sed 's/kite/pizza/g; s/lamp/jug/g; s/rope/quilt/g' > "$parts/text"
    "$build/gpt" train --text "$parts/text" --n-layer 2 --n-head 2 --n-embd 32 --batch 16 --steps 3000 --lr 8e-3 \
        --eval-every 1000 --save "$parts/trained" --force 2> "$parts/log" || { cat "$parts/log" >&2; exit 1; }
    "$build/page_shrink" "$parts/trained" "$gpt"
fi

join() {
    esbuild "$here/$1.js" --bundle --format=iife --charset=utf8 --target=es2021 --minify --log-level=warning \
        > "$parts/$1"
    if grep -qi '</script' "$parts/$1"; then
        echo "build.sh: $1.js contains </script, which would end it in the page" >&2
        exit 1
    fi
}
join main
join worker
gzip -9 -n < "$wasm" | base64 | tr -d '\n' > "$parts/wasm"
base64 < "$story" | tr -d '\n' > "$parts/story"
gzip -9 -n < "$gpt" | base64 | tr -d '\n' > "$parts/gpt"
cat "$here/page.css" "$here/story.css" "$here/gpt.css" > "$parts/css"
awk -v parts="$parts" '
    /^ *<!-- insert [a-z]+ -->$/ {
        name = parts "/" $3
        while ((getline line < name) > 0) print line
        close(name)
        next
    }
    { print }' "$here/page.html" > "$parts/page"
mv "$parts/page" "$page"
echo "$page is built; open it in a browser"
