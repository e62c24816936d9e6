#!/bin/sh
# Puts the page together: examples/page/build.sh ENGINE.wasm STORY.bin GPT.safetensors PAGE.html
# esbuild joins the modules; this script puts stylesheets, scripts, WebAssembly and the models into page.html,
# where lines of the form <!-- insert NAME --> stand for them.
set -eu

here=$(dirname "$0")
wasm=$1
story=$2
gpt=$3
page=$4
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

join() {
    esbuild "$here/$1.js" --bundle --format=iife --charset=utf8 --target=es2021 --minify-whitespace --log-level=warning \
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
cat "$here/page.css" "$here/story.css" "$here/gpt.css" "$here/onward.css" > "$parts/css"
awk -v parts="$parts" '
    /^ *<!-- insert [a-z]+ -->$/ {
        name = parts "/" $3
        while ((getline line < name) > 0) print line
        close(name)
        next
    }
    { print }' "$here/page.html" > "$parts/page"
mv "$parts/page" "$page"
