#!/bin/sh
# Runs the programs as a user does: what the programs of the lab have in common, next_token, and the lessons.
#   tests/programs/programs.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
build=${1:-build}

# ---- help, wrong flags, another processor, a closed pipe, a full disk ----

# common PROGRAM COMMAND ARGUMENT...: COMMAND may be empty; with the arguments the program prints something
common() {
    name=$1 command=$2 program=$build/$1
    shift 2
    # shellcheck disable=SC2086
    {
        expect 0 "^usage: $name" "$program" $command --help
        lacks '^.\{101\}' "$scratch/out"
        misuse "unknown flag --nope" $command --nope
        expect 1 "HEED_ISA=v9" env HEED_ISA=v9 "$program" $command "$@"
        { "$program" $command "$@" 2> "$scratch/err" || echo "status $?" >> "$scratch/err"; } | head -n 1 > "$scratch/out"
        lacks "^status\|Broken pipe" "$scratch/err"
    }
    if [ -e /dev/full ]; then
        status=0
        # shellcheck disable=SC2086
        "$program" $command "$@" > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^$name: standard output: No space left on device$" "$scratch/err"
    fi
    expect 0 "^Heed [0-9.]*, .* thread" "$program" --version
}
"$build/gpt" train --text README.md --n-layer 1 --n-embd 8 --context 8 --steps 1 --save "$scratch/gpt" 2> "$scratch/err"
common next_token "" --steps 20
common stories "" --quiz 5
common toys copy --steps 5
common gpt sample --load "$scratch/gpt" --length 100000

# ---- next_token ----

token=$build/next_token
program=$token
model=$scratch/model
expect 0 "it -> tasted good" "$token"
has "^Next: examples/README.md" "$scratch/out"
expect 0 "head . of 2" "$token" --heads 2 --steps 20
misuse "unexpected argument 'stray'" stray
misuse "'-1' is not a whole number" --seed -1
refuse "does not divide 32" --heads 3
refuse "'pasta' is not among the model's 93 words" --prompt "the pasta"
printf 'abc' > "$scratch/short"
refuse "it has 3 bytes, its header 0; is it a safetensors file?" --load "$scratch/short"

# A saved model generates the same text, and its training can continue.
"$token" --prompt pizza --steps 30 --save "$model" 2> "$scratch/err" | tail -1 > "$scratch/first"
"$token" --load "$model" --prompt pizza --steps 0 2> "$scratch/err" | tail -1 | cmp - "$scratch/first"
has "^pizza " "$scratch/first"
check [ ! -s "$scratch/err" ]
expect 0 "step .*20/20" "$token" --load "$model" --steps 20 --save "$model"

# SIGINT and SIGTERM save the model and exit with 0; so does a run whose standard streams are closed, with 1.
for signal in INT TERM; do
    rm -f "$model"
    "$token" --steps 1000000000 --save "$model" > "$scratch/out" 2> "$scratch/err" < /dev/null &
    process=$!
    sleep 1
    kill -s $signal $process
    wait $process
    has "^next_token: interrupted" "$scratch/err"
    expect 0 "^Attention" "$token" --load "$model" --steps 0
done
rm -f "$model"
status=0
"$token" --steps 20 --save "$model" <&- >&- 2>&- || status=$?
check [ $status -eq 1 ]
expect 0 "^Attention" "$token" --load "$model" --steps 0

# On a terminal the progress line updates in place and the heat map has colours; elsewhere there are plain lines.
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
    escape=$(printf '\033')
    TERM=xterm-256color script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "$escape\[48;5;" "$scratch/terminal"
    has "$(printf '\r')\[[=>].*/40  .*left  loss .*$escape\[K" "$scratch/terminal"
    TERM=dumb script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "^step 40/40  loss" "$scratch/terminal"
    lacks "$escape" "$scratch/terminal"
else
    skip "script is not installed, or this machine has no pseudo-terminals; mount /dev/pts"
fi

# ---- the lessons, and the other examples ----

# usage LESSON ARGUMENT...: prints one line of usage on stderr, nothing on stdout; status 2
usage() {
    lesson=$1
    shift
    status=0
    "$build/$lesson" "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
    [ "$status" -eq 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l < "$scratch/err")" -eq 1 ] &&
        grep -q "^usage: $lesson " "$scratch/err" || { echo "$lesson $*: status $status, or no usage line"; exit 1; }
}
for seed in abc -1 "" 5x 18446744073709551616; do
    usage lesson3_self_attention_class "$seed"
done
expect 0 "== The 12 test sentences, after" "$build/lesson3_self_attention_class" 18446744073709551615
expect 1 "^Seed 50 failed: " "$build/lesson3_self_attention_class" 50
usage lesson2_words_to_attention "  "
usage lesson2_words_to_attention the cat
expect 0 "^the columns sum to 1" "$build/lesson2_words_to_attention" one
expect 0 "^  Q_Überraschungsmoment   " "$build/lesson2_words_to_attention" "Überraschungsmoment naïve"
if [ -e /dev/full ]; then
    for example in examples/*.c check_attention.c; do
        case $example in examples/graph.c) argument=tanh ;; check*) argument=--list ;; *) argument= ;; esac
        status=0
        "$build/$(basename "$example" .c)" $argument > /dev/full || status=$?
        [ $status -eq 1 ] || { echo "$example on a full disk: status $status, not 1"; exit 1; }
    done
fi
echo "programs: passed"
