#!/bin/sh
# Runs the programs as a user does.
set -eu
cd "$(dirname "$0")/../.."
make all
. tests/common/expect.sh

# ---- next_token on the toy ----

token=build/next_token
program=$token
expect 0 "it -> tasted good" $token
expect 0 "head . of 2" $token --heads 2 --steps 20
expect 0 "and it breathed fire" $token --prompt "the dragon was found near the castle and it" --steps=400
expect 0 "usage:" $token --help
expect 1 "HEED_ISA=v9" env HEED_ISA=v9 $token
for other in gpt graph next_token stories; do
    expect 0 "^Heed [0-9.]*, .* thread" build/$other --version
done

# Under another name the help shows that name.
ln -s "$PWD/$token" "$scratch/heed-next-token"
expect 0 "^  heed-next-token --load book.safetensors" "$scratch/heed-next-token" --help
lacks "next_token" "$scratch/out"

# ---- next_token on the user's own text ----

text=$scratch/text
i=0
while [ $i -lt 60 ]; do
    echo "The pizza came out of the oven, and it tasted good."
    echo "\"Is it $i o'clock?\" asked the dragon; it didn't wait."
    i=$((i + 1))
done > "$text"
model=$scratch/model

: > "$scratch/empty"
printf 'abc' > "$scratch/short"
printf 'caf\351' > "$scratch/latin1"
printf 'a\000b' > "$scratch/nul"
refuse "cannot read $scratch/none: No such file" --text "$scratch/none"
refuse "cannot read $scratch: Is a directory" --text "$scratch"
refuse "empty: empty" --text "$scratch/empty"
refuse "too short: it has 3 characters; --context 32 needs 34" --text "$scratch/short"
refuse "it has 1 word; --context 9 needs 11" --text "$scratch/short" --level word --context 9
refuse "not UTF-8: byte 0xE9 at offset 3" --text "$scratch/latin1"
refuse "a NUL byte at offset 1" --text "$scratch/nul"
misuse "unknown flag --nope" --nope
misuse "unexpected argument 'stray'" stray
misuse "unknown flag --" --
misuse "no value after --seed" --seed
misuse "no value after --save" --save --log x
misuse "'-1' is not a whole number" --seed -1
misuse "'9x' is not a whole number" --heads 9x
misuse "'99999999999999999999' is not" --steps 99999999999999999999
misuse "'nan' is not a number above 0" --lr nan
misuse "'line' is not one of char|word" --level line
refuse "not divisible by --heads 3" --heads 3
refuse "cannot write $scratch/no/where" --save "$scratch/no/where"
refuse "cannot write $scratch/no/where" --log "$scratch/no/where"
refuse "cannot write $scratch: it is a directory" --save "$scratch"
ln -s "$scratch/no/where" "$scratch/link"
refuse "cannot write $scratch/link: No such file" --save "$scratch/link"
refuse "--log is --save" --save "$scratch/both" --log "$scratch/./both"
misuse "--text: the file name is empty" --text=
refuse "--save is --text" --text "$text" --save "$text"
refuse "'x' is not among the model's" --text "$text" --prompt x
refuse "'pasta' is not among the model's 93 words" --prompt "the pasta"
refuse "needs more than .* GB" --text "$text" --batch 4096 --context 4096 --d-model 4096
refuse "name?of two lines" --text "name
of two lines"
check [ -s "$text" ]

# Files that exist are overwritten only with --force; a model, also by the run that loads it.
printf 'step\n' > "$scratch/other"
for flag in save log report; do
    refuse "--$flag: $scratch/other exists; --force overwrites it" --$flag "$scratch/other"
done
has step "$scratch/other"
expect 0 "20/20" $token --steps 20 --log "$scratch/other" --force
has "^20," "$scratch/other"

# A saved model generates the same text, and its training can continue.
for level in char word; do
    ask="--prompt The --length 30 --seed 3"
    $token --text "$text" --level $level --steps 30 --save "$model" --force $ask \
        > "$scratch/first" 2> "$scratch/progress"
    $token --load "$model" --steps 0 $ask > "$scratch/second" 2> "$scratch/err"
    check cmp "$scratch/first" "$scratch/second"
    check [ ! -s "$scratch/err" ]
    has "^The" "$scratch/first"
    check [ "$(grep -c "^step .*loss .*val_loss .*tokens/s" "$scratch/progress")" -eq 10 ]
    lacks '[^ -~]' "$scratch/progress" # no escapes
    expect 0 "held-out loss" $token --load "$model" --steps 0 --text "$text" --length 5
    expect 0 "step .*20/20" $token --load "$model" --steps 20 --text "$text" --save "$model"
done
refuse "no --text FILE to train on" --load "$model" --steps 5
refuse "nothing to do" --load "$model"
refuse "the model of --load has 4" --load "$model" --heads 8 --prompt The
refuse "a token of the model of --load is a word" --load "$model" --level char --prompt The
refuse "'frobnicate' is not among the model's" --load "$model" --prompt "The frobnicate"
refuse "prompt: empty" --load "$model" --prompt " "
refuse "too short for a safetensors file" --load "$scratch/short"
$token --steps 20 --save "$model" --force > /dev/null 2>&1
expect 0 "^Attention" $token --load "$model" --steps 0
refuse "was trained on the toy" --load "$model" --text "$text"

# SIGINT, SIGTERM and SIGHUP save the model and exit with 0; under nohup SIGHUP is ignored.
for signal in INT TERM HUP; do
    if [ $signal = HUP ] && sh -c "kill -s $signal \$\$"; then
        echo "skipped: SIG$signal is ignored here, as under nohup"
        continue
    fi
    rm -f "$model"
    $token --text "$text" --steps 1000000000 --save "$model" --prompt The \
        > "$scratch/out" 2> "$scratch/err" < /dev/null &
    process=$!
    sleep 2
    kill -s $signal $process
    wait $process
    has "^next_token: interrupted after step [0-9]* of 1000000000; the model was saved to " "$scratch/err"
    check [ ! -s "$scratch/out" ]
    expect 0 "^The" $token --load "$model" --prompt The --length 5
done

(trap '' HUP && exec $token --text "$text" --steps 1000000000) > "$scratch/out" 2> "$scratch/err" < /dev/null &
process=$!
sleep 1
kill -s HUP $process
sleep 0.5
kill -s TERM $process
wait $process
has "^next_token: interrupted" "$scratch/err"

# With the standard streams closed the model is still saved, and no output goes into its file.
rm -f "$model"
status=0
$token --steps 20 --save "$model" --report "$scratch/page" <&- >&- 2>&- || status=$?
check [ $status -eq 1 ]
expect 0 "^Attention" $token --load "$model" --steps 0
tail -1 "$scratch/page" | grep -q "^</html>$"

# Out of memory: the message names flags, not functions.
status=0
(ulimit -v 850000 && exec $token --text "$text" --batch 4096 --steps 1) > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "^next_token: .*out of memory: .*in use; reduce --batch, --context or --d-model$" "$scratch/err"

# It warns when it overfits.
expect 0 "^next_token: overfitting: the held-out loss was lowest, .* after step" \
    $token --text "$text" --level word --steps 150 --length 1

$token --text "$text" --lr 10 --steps 5 --length 0 > "$scratch/out" 2> "$scratch/err"
lacks "overfitting" "$scratch/err" # it has learnt nothing

# A closed pipe, a full disk for the output, and one for the model.
{ $token --steps 20 --length 100 2> "$scratch/err" || echo "status $?" >> "$scratch/err"; } | head -1 > /dev/null
lacks "^[^s]" "$scratch/err"
lacks "^status" "$scratch/err"
{ $token --steps 20 --save "$scratch/read" 2>&1 || echo "status $?" >> "$scratch/read"; } | head -1 > /dev/null
expect 0 "^Attention" $token --load "$scratch/read" --steps 0
if [ -e /dev/full ]; then
    for output in "--steps 20" "--help" "--text $text --steps 1"; do
        status=0
        $token $output > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^next_token: standard output: No space left on device$" "$scratch/err"
    done
    refuse "cannot write /dev/full: it is not a file" --save /dev/full
fi
$token --steps 20 --logits "$scratch/logits.st" > /dev/null 2>&1
head -1 "$scratch/logits.st" | grep -aq '"logits":{"dtype":"F32","shape":\[11,93\]' ||
    { echo "--logits did not write the toy's logits"; exit 1; }
cp "$model" "$scratch/before"
status=0
(trap '' XFSZ && ulimit -f 8 && exec $token --text "$text" --steps 1 --save "$model" --force) \
    > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "save: .*: File too large; ulimit -f or the file system limits its size$" "$scratch/err"
check cmp "$model" "$scratch/before"
check [ "$(ls "$scratch" | grep -c tmp)" -eq 0 ]

# A real full disk, if this user may mount one.
mkdir "$scratch/disk"
if command -v unshare > /dev/null 2>&1 && unshare -rm true 2> /dev/null; then
    # shellcheck disable=SC2016
    expect 0 "^full: the old file is whole$" unshare -rm sh -c '
        token=$1 text=$2 model=$3 disk=$4
        mount -t tmpfs -o size=300k none "$disk" || { echo "full: the old file is whole"; exit 0; }
        cp "$model" "$disk/model" && dd if=/dev/zero of="$disk/filler" 2> /dev/null
        status=0
        "$token" --text "$text" --steps 1 --save "$disk/model" --force > "$disk.out" 2>&1 || status=$?
        grep "save: .*: No space left on device" "$disk.out" && [ $status -eq 1 ] || exit 1
        cmp "$model" "$disk/model" && [ "$(ls "$disk" | wc -l)" -eq 2 ] && echo "full: the old file is whole"
    ' sh $token "$text" "$model" "$scratch/disk"
else
    echo "skipped: a full disk, as this user may not mount one"
fi

# On a terminal the progress line updates in place and the heat map has colours; elsewhere, and on a dumb
# terminal, plain lines are printed.
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
    escape=$(printf '\033')
    TERM=xterm-256color script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "$escape\[48;5;" "$scratch/terminal"
    has "$(printf '\r')\[[=>].*/40  loss .*left$escape\[K" "$scratch/terminal"
    tr '\r' '\n' < "$scratch/terminal" | grep -q "^$escape\[Jstep 40/40  loss"
    # as wide as the terminal, by its size or COLUMNS
    for width in "stty cols 40;" "export COLUMNS=40;"; do
        TERM=xterm script -qec "$width $token --steps 40 > /dev/null" /dev/null \
            > "$scratch/terminal" < /dev/null
        tr '\r' '\n' < "$scratch/terminal" | sed "s/$escape.[JK]//" > "$scratch/lines"
        has "^ *[0-9]*/40  loss .*left" "$scratch/lines"
        lacks "^.\{39\}" "$scratch/lines"
    done
    TERM=dumb script -qec "$token --steps 40" /dev/null > "$scratch/terminal" < /dev/null
    has "^step    40/40   loss" "$scratch/terminal"
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
