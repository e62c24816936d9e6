#!/bin/sh
# Completes Doxygen's man pages: adds all names of a page and #include <heed.h>, limits lines to 80 columns, and makes
# a link for each further name. Removes the pages of headers, guides and folders.
#   package/reference/man.sh MAN3
set -eu
cd "$1"
for page in [!hHs]*.3 section_*.3; do rm "$page"; done
for page in *.3; do
    title=${page%.3}
    # Each line of the synopsis declares the first bold name that a parenthesis, a brace or its end follows.
    names=$(sed -n '/^\.SH SYNOPSIS/,/^\.SH "Desc/s/^\.RI //p' "$page" |
        sed -nE 's/^"#define \\fB(\w+).*/\1/p; t; s/^[^(]*\(\* ?\\fB(\w+)\\fP\).*/\1/p; t; s/^[^(]*\\fB(\w+)\\fP *([({].*|")$/\1/p' |
        grep -i '^heed_' | grep -vx "$title" || true)
    for name in $names; do
        [ -f "$name.3" ] || echo ".so man3/$page" >"$name.3"
    done
    awk -v names="$(echo "$title" "$names" | xargs | sed 's/ /, /g')" '
        # Prints a preformatted line. If it is too long, its last column, or its last words, go below.
        function fit(line, words, indent) {
            sub(/ +$/, "", line)
            words = line
            sub(/^ +/, "", words)
            indent = length(line) - length(words)
            if (length(line) <= 72) {
                print line
            } else if (match(line, /[^ ].*[^ ]   +/)) {
                words = substr(line, RSTART + RLENGTH)
                fit(substr(line, 1, RSTART + RLENGTH - 1))
                fit(sprintf("%16s%s", "", words))
            } else if (length(words) <= 72 || !match(substr(words, 1, 68), /.* /)) {
                indent = substr("                ", 1, 72 - length(words))
                print indent words
            } else {
                fit(sprintf("%*s%s", indent < 4 ? indent : 4, "", substr(words, 1, RLENGTH)))
                fit("        " substr(words, RLENGTH + 1))
            }
        }
        /^\.SH NAME/ {
            print
            brief = ""
            while ((getline line) > 0 && line !~ /^\.SH/)
                if (line ~ /^ \\- /) brief = line
            sub(/\. *$/, "", brief)
            print names brief
            $0 = line
        }
        /^\.SH SYNOPSIS/ { print ".SH SYNOPSIS\n\\fB#include <heed.h>\\fP"; next }
        /^\.TH/ { # the date as man pages have it
            split($0, part, "\"")
            split(part[4], day, " ")
            sub(part[4], sprintf("%s-%02d-%02d", day[4], index("JanFebMarAprMayJunJulAugSepOctNovDec", day[2]) / 3 + 1, day[3]))
        }
        { gsub(/\\fC/, "\\f(CW") }
        /^\.nf/, /^\.fi/ {
            fit($0)
            after = $0
            next
        }
        /^\.RI "/ { # quotes within the argument of a macro
            argument = substr($0, 6, length($0) - 6)
            gsub(/"/, "\\(dq", argument)
            $0 = ".RI \"" argument "\""
        }
        /^$/ || /^\.PP/ && after ~ /^\.(SH|SS|PP|RS)/ { next }
        { print; after = $0 }' "$page" >"$page.new"
    mv "$page.new" "$page"
done
