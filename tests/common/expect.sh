# Shared by the tests of programs, which source it: a temporary folder, deleted at exit, and checks.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect STATUS WORDS COMMAND...: the exit status, and words in the output
expect() {
    wanted=$1 words=$2
    shift 2
    status=0
    "$@" > "$scratch/out" 2>&1 < /dev/null || status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -q -e "$words" "$scratch/out"; then
        cat "$scratch/out"
        echo "$*: status $status, not $wanted; or no '$words'"
        exit 1
    fi
}

# check COMMAND...: must succeed.  has, lacks PATTERN FILE: some line matches, or none does
check() {
    "$@" || { echo "failed: $*"; exit 1; }
}
has() {
    grep -q -e "$1" "$2" || { cat "$2"; echo "$2: no '$1'"; exit 1; }
}
lacks() {
    if LC_ALL=C grep -e "$1" "$2"; then
        echo "$2: contains '$1'"
        exit 1
    fi
}

# skip REASON: something cannot be checked here; with HEED_STRICT=1, as in .ci/run, that is an error
skip() {
    echo "skipped: $1"
    [ "${HEED_STRICT:-0}" != 1 ] || exit 1
}

# refuse WORDS ARGUMENT...: $program prints one line with the words on stderr, nothing on stdout; status 2
# misuse WORDS ARGUMENT...: likewise for invalid flags; the line ends with the command that explains them
refuse() {
    refuse_with "" "$@"
    lacks "; try " "$scratch/err"
}
misuse() {
    refuse_with "; try $program.* --help" "$@"
}
refuse_with() {
    end=$1 words=$2
    shift 2
    status=0
    "$program" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
    if [ "$status" -ne 2 ] || [ -s "$scratch/out" ] || [ "$(wc -l < "$scratch/err")" -ne 1 ] ||
        ! grep -q -e "^${program##*/}: .*$words.*$end$" "$scratch/err"; then
        cat "$scratch/out" "$scratch/err"
        echo "$program $*: status $status, or no line with '$words'"
        exit 1
    fi
}
