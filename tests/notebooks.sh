#!/bin/sh
# Do the lessons print the numbers that the notebooks print, digit by digit?
#
# fixtures/notebooks/PROGRAM.txt holds them, copied from the notebook, beside fixtures/output/PROGRAM.txt,
# which outputs.sh holds against the program itself. Its format:
#
#   # a comment
#   == a line that the program prints
#   [[ 1.25  -inf]
#    [-0.5    2. ]]           the numbers that follow there, in order; all but numbers is passed over
#   ~~ another such line
#   9.999943e-01 0.000124     the same, for numbers that were not printed as one array
#
# Headings come in the order of the output, each after the numbers of the one before; one may come
# twice. A number is what stands alone between blanks, brackets, braces and commas: "2:", "K_1" and
# "tensor" are none. The program may print more digits, never fewer: rounded to those of the notebook,
# they are the same. numpy and torch drop zeros at the end, but give the numbers of an array one count of
# decimals: after == all have that of the longest one (0.5 above is 0.50), after ~~ each its own.
#
# Each comparison is tried with the notebook's last digit changed as well, and must then fail.
set -eu
cd "$(dirname "$0")/.."
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
    function decimals(x) { # behind the point, before the e
        sub(/[eE].*/, "", x)
        return index(x, ".") ? length(x) - index(x, ".") : 0
    }
    function exponent(x) { return x ~ /[eE]/ ? substr(x, match(x, /[eE]/) + 1) + 0 : 0 }

    # Is what the program prints what the notebook prints, to `digits` decimals of its notation?
    function same(theirs, ours, digits,    last) {
        if (theirs !~ /[0-9]/ || ours !~ /[0-9]/) return theirs == ours # inf, nan
        if (decimals(ours) - exponent(ours) < decimals(theirs) - exponent(theirs)) return 0
        last = digits - exponent(theirs)
        if (last < 0) last = 0
        return sprintf("%.*f", last, ours) == sprintf("%.*f", last, theirs)
    }
    function changed(x,    mantissa, digit) { # the last digit is another one
        if (x !~ /[0-9]/) return x "x"
        mantissa = x
        sub(/[eE].*/, "", mantissa)
        match(mantissa, /[0-9]\.?$/)
        digit = substr(mantissa, RSTART, 1)
        return substr(mantissa, 1, RSTART - 1) (digit + 1) % 10 substr(x, RSTART + 1)
    }
    function fail(sentence) { print program ": " sentence; failed = 1; exit 1 }

    function look_at_section(s,    i, found, printed, theirs, digits) {
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
            if (same(changed(theirs), printed[i], digits))
                fail("a change of " theirs " after \"" heading[s] "\" would not be seen")
            seen++
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
            look_at_section(s)
        }
        if (!seen) fail("nothing to compare with")
        print program ": " seen " numbers are the notebook'\''s"
    }' program="$(basename "$notebook" .txt)" "$notebook" \
        "tests/fixtures/output/$(basename "$notebook")" || status=1
done
exit $status
