#!/bin/sh
# Do the lessons print every digit that the notebooks print?
#
# Compares fixtures/notebooks/PROGRAM.txt, copied from the notebook, with fixtures/output/PROGRAM.txt, which
# outputs.sh compares with the program itself. Format of the former:
#
#   # a comment
#   == a line that the program prints
#   [[ 1.25  -inf]
#    [-0.5    2. ]]           the numbers that follow it, in order; other text is skipped
#   ~~ another such line
#   9.999943e-01 0.000124     the same, for numbers that were not printed as one array
#
# Headings are in the order of the output, and may repeat. Numbers are separated by blanks, brackets, braces
# and commas: "2:", "K_1" and "tensor" are not numbers. The program may print more digits than the notebook,
# not fewer, and must agree when rounded to the notebook's. numpy and torch print all numbers of an array
# with the same number of decimals but drop trailing zeros: after == all have the decimals of the longest
# (0.5 above is 0.50), after ~~ each has its own.
set -eu
cd "$(dirname "$0")/../.."
status=0
for notebook in tests/fixtures/notebooks/*.txt; do
    LC_ALL=C awk '
    # Splits a line into the numbers on it; returns how many.
    function numbers_of(line, numbers,    words, count, i, found) {
        gsub(/[][(){},]/, " ", line)
        count = split(line, words, " ")
        found = 0
        for (i = 1; i <= count; i++)
            if (words[i] ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/ ||
                words[i] ~ /^[-+]?(inf|nan)$/)
                numbers[++found] = words[i]
        return found
    }
    function decimals(x) { # digits between the point and the exponent
        sub(/[eE].*/, "", x)
        return index(x, ".") ? length(x) - index(x, ".") : 0
    }
    function exponent(x) { return x ~ /[eE]/ ? substr(x, match(x, /[eE]/) + 1) + 0 : 0 }

    # Do the numbers of notebook and program agree, to `digits` decimals in the notation of the notebook?
    function same(theirs, ours, digits,    last) {
        if (theirs !~ /[0-9]/ || ours !~ /[0-9]/) return theirs == ours # inf, nan
        if (decimals(ours) - exponent(ours) < decimals(theirs) - exponent(theirs)) return 0
        last = digits - exponent(theirs)
        if (last < 0) last = 0
        return sprintf("%.*f", last, ours) == sprintf("%.*f", last, theirs)
    }
    function fail(sentence) { print program ": " sentence; failed = 1; exit 1 }

    function compare_section(s,    i, found, printed, theirs, digits) {
        while (at < lines && output[++at] != heading[s]) ;
        if (output[at] != heading[s]) fail("prints no further line \"" heading[s] "\"")
        for (i = 1; i <= count[s]; i++) {
            while (found < i) {
                if (++at > lines) fail("too few numbers after \"" heading[s] "\"")
                for (k = 1; k <= numbers_of(output[at], row); k++) printed[++found] = row[k]
            }
            theirs = number[s, i]
            digits = loose[s] ? decimals(theirs) : longest[s, theirs ~ /[eE]/]
            if (!same(theirs, printed[i], digits))
                fail("number " i " after \"" heading[s] "\" is " printed[i] ", in the notebook " theirs)
            compared++
        }
    }

    FNR == 1 { file++ }
    file == 2 { output[++lines] = $0; next }
    /^#/ { next }
    /^(==|~~) / { heading[++sections] = substr($0, 4); loose[sections] = /^~~/; next }
    {
        for (k = 1; k <= numbers_of($0, row); k++) {
            number[sections, ++count[sections]] = row[k]
            if (decimals(row[k]) > longest[sections, row[k] ~ /[eE]/])
                longest[sections, row[k] ~ /[eE]/] = decimals(row[k])
        }
    }
    END {
        if (failed) exit 1
        for (s = 1; s <= sections; s++) {
            if (!count[s]) fail("no numbers to compare with after \"" heading[s] "\"")
            compare_section(s)
        }
        if (!compared) fail("nothing to compare with")
        print program ": " compared " numbers match the notebook"
    }' program="$(basename "$notebook" .txt)" "$notebook" \
        "tests/fixtures/output/$(basename "$notebook")" || status=1
done
exit $status
