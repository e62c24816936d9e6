# What tests of programs share; they read it with `.`: a folder that goes at the end, and words for what
# is expected. Shell, not a program.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect STATUS WORDS COMMAND...: its exit status, and words in what it prints
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

# check COMMAND...: it succeeds.  has, lacks PATTERN FILE: a line like this is there, or none is
check() {
    "$@" || { echo "not so: $*"; exit 1; }
}
has() {
    grep -q -e "$1" "$2" || { cat "$2"; echo "$2: no '$1'"; exit 1; }
}
lacks() {
    if LC_ALL=C grep -e "$1" "$2"; then
        echo "$2: there is '$1'"
        exit 1
    fi
}

# refuse WORDS ARGUMENT...: $program says one line on stderr that holds the words, nothing on stdout, status 2
refuse() {
    words=$1
    shift
    status=0
    "$program" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
    if [ "$status" -ne 2 ] || [ -s "$scratch/out" ] || [ "$(wc -l < "$scratch/err")" -ne 1 ] ||
        ! grep -q -e "^${program##*/}: .*$words.*; try --help$" "$scratch/err"; then
        cat "$scratch/out" "$scratch/err"
        echo "$program $*: status $status, or no line with '$words'"
        exit 1
    fi
}
