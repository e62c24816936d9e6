#!/bin/sh
# Makes the pictures of README and docs/: docs/pictures/make.sh BUILD
# Needs Graphviz (dot), Chromium with its driver, and Python's selenium. Takes a few minutes: README's GPT
# is trained.
set -eu
build=$1
pictures=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for program in dot chromium chromedriver; do
    command -v $program > /dev/null || { echo "make pictures: needs $program: apt-get install graphviz chromium-driver python3-selenium" >&2; exit 1; }
done

for graph in tanh attention; do
    "$build/graph" $graph > "$pictures/$graph.dot"
    dot -Tsvg "$pictures/$graph.dot" -o "$pictures/$graph.svg"
done

"$build/stories" > "$folder/stories.txt"
"$build/gpt" train --text "$folder/stories.txt" --steps 1000 --prompt "Ann gives the rope to Dan. " \
    --report "$folder/report.html"
python3 -B "$pictures/screenshots.py" "$folder/report.html" "$build/page/attention.html" "$pictures"
