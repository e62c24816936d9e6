#!/bin/sh
# Runs the programs as a user does.
set -eu
cd "$(dirname "$0")/../.."
make all
. tests/common/expect.sh

# ---- next_token ----

token=build/next_token
program=$token
model=$scratch/model
expect 0 "it -> tasted good" $token
has "^Next: examples/README.md" "$scratch/out"
expect 0 "head . of 2" $token --heads 2 --steps 20
expect 0 "and it breathed fire" $token --prompt "the dragon was found near the castle and it" --steps=400
expect 0 "usage:" $token --help
expect 1 "HEED_ISA=v9" env HEED_ISA=v9 $token
for other in gpt graph next_token stories; do
    expect 0 "^Heed [0-9.]*, .* thread" build/$other --version
done

misuse "unknown flag --nope" --nope
misuse "unexpected argument 'stray'" stray
misuse "no value after --seed" --seed
misuse "'-1' is not a whole number" --seed -1
misuse "'nan' is not a number from 1e-09" --lr nan
refuse "does not divide 32" --heads 3
refuse "'pasta' is not among the model's 93 words" --prompt "the pasta"
refuse "prompt: empty" --prompt " "
refuse "name?of two lines" --load "name
of two lines"
printf 'abc' > "$scratch/short"
refuse "it has 3 bytes, its header 0; is it a safetensors file?" --load "$scratch/short"

# A saved model generates the same text, and its training can continue.
ask="--prompt pizza --steps"
# shellcheck disable=SC2086
{
    $token $ask 30 --save "$model" 2> "$scratch/progress" | tail -1 > "$scratch/first"
    $token --load "$model" $ask 0 2> "$scratch/err" | tail -1 > "$scratch/second"
}
check cmp "$scratch/first" "$scratch/second"
check [ ! -s "$scratch/err" ]
has "^pizza " "$scratch/first"
check [ "$(grep -c "^step .*loss .*accuracy " "$scratch/progress")" -eq 10 ]
lacks '[^ -~]' "$scratch/progress" # no escapes
expect 0 "step .*20/20" $token --load "$model" --steps 20 --save "$model"

# SIGINT, SIGTERM and SIGHUP save the model and exit with 0.
for signal in INT TERM HUP; do
    if [ $signal = HUP ] && sh -c "kill -s $signal \$\$"; then
        echo "skipped: SIG$signal is ignored here, as under nohup"
        continue
    fi
    rm -f "$model"
    $token --steps 1000000000 --save "$model" > "$scratch/out" 2> "$scratch/err" < /dev/null &
    process=$!
    sleep 1
    kill -s $signal $process
    wait $process
    has "^next_token: interrupted" "$scratch/err"
    lacks "After training" "$scratch/out"
    expect 0 "^Attention" $token --load "$model" --steps 0
done

# With the standard streams closed the model is still saved, and no output goes into its file.
rm -f "$model"
status=0
$token --steps 20 --save "$model" <&- >&- 2>&- || status=$?
check [ $status -eq 1 ]
expect 0 "^Attention" $token --load "$model" --steps 0

# A closed pipe, a full disk for the output, and a limit of the file size.
{ $token --steps 20 2> "$scratch/err" || echo "status $?" >> "$scratch/err"; } | head -1 > /dev/null
lacks "^[^s]" "$scratch/err"
lacks "^status" "$scratch/err"
{ $token --steps 20 --save "$scratch/read" 2>&1 || echo "status $?" >> "$scratch/read"; } | head -1 > /dev/null
expect 0 "^Attention" $token --load "$scratch/read" --steps 0
if [ -e /dev/full ]; then
    for output in "--steps 20" "--help"; do
        status=0
        $token $output > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^next_token: standard output: No space left on device$" "$scratch/err"
    done
fi
cp "$model" "$scratch/before"
status=0
(trap '' XFSZ && ulimit -f 8 && exec $token --steps 1 --save "$model") > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "save: .*: cannot write it: File too large$" "$scratch/err"
check cmp "$model" "$scratch/before"
check [ "$(ls "$scratch" | grep -c tmp)" -eq 0 ]

# On a terminal the progress line updates in place and the heat map has colours; elsewhere, and on a dumb
# terminal, plain lines are printed.
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
    escape=$(printf '\033')
    TERM=xterm-256color script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "$escape\[48;5;" "$scratch/terminal"
    has "$(printf '\r')\[[=>].*/40  .*left  loss .*$escape\[K" "$scratch/terminal"
    tr '\r' '\n' < "$scratch/terminal" | grep -q "^$escape\[Kstep 40/40  loss"
    # as wide as the terminal, by its size or COLUMNS
    for width in "stty cols 40;" "export COLUMNS=40;"; do
        TERM=xterm script -qec "$width $token --steps 40 > /dev/null" /dev/null \
            > "$scratch/terminal" < /dev/null
        tr '\r' '\n' < "$scratch/terminal" | sed "s/$escape.[JK]//" > "$scratch/lines"
        has "^step [0-9]*/40  .*left  loss" "$scratch/lines"
        lacks "^.\{39\}" "$scratch/lines"
    done
    TERM=dumb script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "^step 40/40  loss" "$scratch/terminal"
    lacks "$escape" "$scratch/terminal"
    TERM=xterm NO_COLOR=1 script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    lacks "$escape\[[^JK]" "$scratch/terminal"
else
    skip "script is not installed, or this machine has no pseudo-terminals; mount /dev/pts"
fi

# ---- the lessons, and the other examples ----

# usage LESSON ARGUMENT...: prints one line of usage on stderr, nothing on stdout; status 2
usage() {
    lesson=$1
    shift
    status=0
    "build/$lesson" "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
    if [ "$status" -ne 2 ] || [ -s "$scratch/out" ] || [ "$(wc -l < "$scratch/err")" -ne 1 ] ||
        ! grep -q "^usage: $lesson " "$scratch/err"; then
        cat "$scratch/out" "$scratch/err"
        echo "$lesson $*: status $status, or no usage line"
        exit 1
    fi
}

reader=lesson3_self_attention_class
for seed in abc -1 1.5 "" " 5" +5 5x 18446744073709551616 999999999999999999999; do
    usage $reader "$seed"
done
usage $reader 1 2
expect 0 "== The 12 test sentences, after" build/$reader 18446744073709551615
expect 1 "^Seed 50 failed: " build/$reader 50

notebook=lesson2_words_to_attention
usage $notebook ""
usage $notebook "  "
usage $notebook the cat
for sentence in one "the cat"; do
    expect 0 "^the columns sum to 1" build/$notebook "$sentence"
    lacks "new apple" "$scratch/out"
done
expect 0 "^  Q_Überraschungsmoment   " build/$notebook "Überraschungsmoment naïve"
has "^ \{25\}K_Überraschungsmoment \{16\}K_naïve$" "$scratch/out"

if [ -e /dev/full ]; then
    for example in examples/*.c; do
        [ "$example" = examples/graph.c ] && argument=tanh || argument=
        status=0
        "build/$(basename "$example" .c)" $argument > /dev/full || status=$?
        [ $status -eq 1 ] || { echo "$example on a full disk: status $status, not 1"; exit 1; }
    done
fi

echo "programs: passed"
