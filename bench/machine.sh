#!/bin/sh
# Describes the machine that a table was measured on.
say() {
    [ -z "$2" ] || printf '%-10s %s\n' "$1" "$2"
}
if command -v lscpu > /dev/null; then
    lscpu | sed -n 's/^\(Model name\|CPU(s)\|L1d\( cache\)*\|L2\( cache\)*\|L3\( cache\)*\): */\1: /p' |
        while IFS=: read -r what value; do
            say "$(echo "$what" | tr '[:upper:]' '[:lower:]' | sed 's/ cache//')" "$(echo $value)"
        done
fi
say system "$(uname -sr)"
say compiler "$(${CC:-cc} --version 2> /dev/null | head -n 1)"
say commit "$(git -C "$(dirname "$0")" rev-parse --short HEAD 2> /dev/null)"
say load "$(cut -d' ' -f1-3 /proc/loadavg 2> /dev/null)"
say date "$(date -u +%Y-%m-%d)"
