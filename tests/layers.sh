#!/bin/sh
# Checks includes, by the paths that they resolve to:
#   1. nn -> autograd -> tensor -> nothing; no layer includes one above it
#   2. tensor/kernels/ works on raw memory, never on a tensor: it includes only itself and the files in FLAT
#   3. nn includes only public headers of the layers below: those that heed.h includes
#   4. public headers include only public headers
#   5. no cycles between units; a unit is a .c and the .h of the same name
#   6. an include in src/ is relative to its file, so that no -I path can redirect it
#   7. unit names are unique
set -eu
cd "$(dirname "$0")/.."
FLAT="src/tensor/dtype.h src/tensor/parallel.h"

problems=$(mktemp)
trap 'rm -f "$problems" "$problems".*' EXIT

# FROM TO LINE of each of our includes, as paths from the root.
find src -name '*.[ch]' -o -name '*.def' | sort | xargs awk '
    function resolve(dir, path,    parts, n, i, out, depth) {
        n = split(dir "/" path, parts, "/")
        depth = 0
        for (i = 1; i <= n; i++) {
            if (parts[i] == "..") depth--
            else if (parts[i] != "." && parts[i] != "") out[++depth] = parts[i]
        }
        path = out[1]
        for (i = 2; i <= depth; i++) path = path "/" out[i]
        return path
    }
    /^#[ \t]*include "/ {
        split($0, quoted, "\"")
        dir = FILENAME
        sub(/\/[^\/]*$/, "", dir)
        print FILENAME, resolve(dir, quoted[2]), FNR
    }' > "$problems.edges"

public="src/heed.h $(awk '$1 == "src/heed.h" { print $2 }' "$problems.edges")"
awk -v public="$public" -v flat="$FLAT" '
    function room(path) { return path ~ /^src\/nn\// ? 3 : path ~ /^src\/autograd\// ? 2 : path ~ /^src\/tensor\// ? 1 : 4 }
    function problem(why) { print $1 ":" $3 ": includes " $2 ": " why }
    BEGIN {
        n = split(public, names, " "); for (i = 1; i <= n; i++) is_public[names[i]] = 1
        n = split(flat, names, " "); for (i = 1; i <= n; i++) is_flat[names[i]] = 1
    }
    (getline line < $2) < 0 { problem("no such file; paths are relative to the file that includes") }
    { close($2) }
    room($2) > room($1) { problem("a layer above") }
    $1 ~ /\/kernels\// && $2 !~ /\/kernels\// && !is_flat[$2] { problem("kernels work on raw memory, never on a tensor") }
    room($1) == 3 && room($2) < 3 && !is_public[$2] { problem("nn includes only public headers of the layers below") }
    is_public[$1] && !is_public[$2] { problem("not public, although " $1 " is") }
    ' "$problems.edges" > "$problems"

# tsort reports cycles, and names the units in them.
sed -E 's/\.(c|h|def) / /; s/\.(c|h|def) [0-9]+$//' "$problems.edges" | awk '$1 != $2' |
    { tsort > /dev/null 2> "$problems.circles" || sed 's/^tsort: -: *//; s/^tsort: /    /' "$problems.circles" >> "$problems"; }

find src -name '*.[ch]' | sed 's/\.[ch]$//' | sort -u | awk -F/ '{ if ($NF in seen) print $0 ": same name as " seen[$NF]; seen[$NF] = $0 }' \
    >> "$problems"

if [ -s "$problems" ]; then
    cat "$problems"
    exit 1
fi
echo "layers: includes point one way, without cycles"
