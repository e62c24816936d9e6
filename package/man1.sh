#!/bin/sh
# Prints the man page of a program, made from its --help: package/man1.sh PROGRAM NAME
#
# If the help lists commands, the help of each becomes a section. Nothing is printed if the program cannot run on this
# machine.
set -eu
program=$1
name=$2
version=$("$program" --version 2> /dev/null) || exit 0

# The help, with the installed names of programs in place of those in the tree.
help() {
    "$program" "$@" --help | awk -v own="${program##*/}" -v name="$name" '{
        if (match($0, "^(usage: )? *" own " ")) {
            $0 = substr($0, 1, RLENGTH - length(own) - 1) name substr($0, RLENGTH)
        }
        while (match(" " $0, /[^-a-z](gpt (train|sample|eval|info|export)|stories --)/)) {
            $0 = substr($0, 1, RSTART - 1) "heed-" substr($0, RSTART)
        }
        print
    }'
}

# roff SECTION...: turns a help text into roff. The usage becomes a synopsis below the first title; the text follows
# below the second title, if there is one. Lines that begin with two spaces are rows "term  text", whose text may
# continue below, or else examples.
roff() {
    awk -v first="$1" -v second="${2-}" '
        function plain(text) {
            gsub(/\\/, "\\e", text)
            gsub(/-/, "\\-", text)
            gsub(/\047/, "\\(aq", text)
            return (text ~ /^[.]/ ? "\\\\&" : "") text
        }
        function enter(next_mode) {
            if (mode == "example" && next_mode != "example") print ".RE\n.fi"
            if (next_mode == "example" && mode != "example") print ".PP\n.nf\n.RS 4"
            mode = next_mode
        }
        NR == 1 { print ".SH " first "\n.nf" }
        NR == 1, /^$/ {
            sub(/^(usage:)? */, "")
            print /./ ? plain($0) : ".fi"
            if (/^$/ && second != "") print ".SH " second
            after_title = second != ""
            next
        }
        /^Exit status: / && second == "" { next } # it is in the main text
        /^$/ { enter(""); next }
        /^  (\[?--|[a-z]+ )/ {
            enter("row")
            term = substr($0, 3)
            text = ""
            if (match(term, term ~ /^[a-z]/ ? " +" : "  +")) {
                text = substr(term, RSTART + RLENGTH)
                term = substr(term, 1, RSTART - 1)
            }
            print ".TP\n.B " plain(term)
            if (text != "") print plain(text)
            continued = text != ""
            next
        }
        mode == "row" { # the range of a number, or the text of a long term
            sub(/^ +/, "")
            if (continued) print ".br"
            print plain($0)
            continued = 1
            next
        }
        /^  / { enter("example"); print plain(substr($0, 3)); next }
        {
            if (mode != "text" && !after_title) print ".PP"
            after_title = 0
            enter("text")
            print plain($0)
        }
        END { enter("") }'
}

# "Trains a GPT on text. It ..." -> "trains a GPT on text"
summary() {
    help | awk '/^$/ { if (text) exit; begun = 1; next }
        begun { text = text (text ? " " : "") $0 }
        END {
            sub(/\. .*|\.$/, "", text)
            sub(/ Without .*/, "", text)
            print tolower(substr(text, 1, 1)) substr(text, 2)
        }'
}

upper=$(echo "$name" | tr '[:lower:]' '[:upper:]')
echo ".TH $upper 1 \"\" \"$(echo "$version" | cut -d, -f1)\" \"User Commands\""
printf '.SH NAME\n%s \\- %s\n' "$name" "$(summary | sed 's/-/\\-/g')"
help | roff SYNOPSIS DESCRIPTION
for command in $(help | awk '/COMMAND --help/ { print list; exit } /^  [a-z]+ / { list = list " " $1 }'); do
    help "$command" | roff "\"$(echo "$command" | tr '[:lower:]' '[:upper:]')\""
done
