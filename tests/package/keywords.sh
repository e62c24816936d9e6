# Compiles tests/package/keywords.c as C11, C17 and C23 with each of the given compilers that is installed: no warning, and
# a keyword that does not exist is an error that suggests the right one; a result that is dropped is a warning.
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wmissing-field-initializers -Wmissing-prototypes"
for cc in $(printf '%s\n' "$@" | sort -u); do
    command -v "$cc" > /dev/null || continue
    for standard in c11 c17 c2x; do
        flags="-std=$standard -Isrc -c -o /dev/null tests/package/keywords.c"
        $cc $strict -Werror $flags || exit 1
        text=$($cc -DWRONG $flags 2>&1) && { echo "keywords.sh: $cc takes .no_bais"; exit 1; }
        echo "$text" | grep -q "no_bais.*did you mean .*no_bias" || { echo "$text"; exit 1; }
        for call in 'heed_masked_fill(x, ids, 0)' 'heed_dropout_forward(0, x)'; do
            ! $cc "-DDROPPED=$call" -Werror $flags 2> /dev/null || { echo "keywords.sh: $cc lets one drop $call"; exit 1; }
        done
    done
done
