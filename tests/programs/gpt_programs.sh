#!/bin/sh
# Runs build/gpt as a user does: output and exit status.
#   tests/programs/gpt_programs.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
gpt=${1:-build}/gpt
program=$gpt

# ---- help and unknown commands ----

expect 2 "^usage: gpt train" "$gpt"
expect 0 "Exit status: 0" "$gpt" --help
expect 0 "Exit status: 0" "$gpt" help
expect 0 "^usage: gpt train" "$gpt" help train
for command in train sample eval; do
    expect 0 "^usage: gpt $command" "$gpt" "$command" --help
    lacks '^.\{101\}' "$scratch/out"
    misuse "unknown flag --nope" "$command" --nope
done
misuse "unknown command 'nope'" nope
misuse "unknown command 'nope'" help nope

# ---- train: rejected arguments ----

text=$scratch/text
cat README.md CONTRIBUTING.md > "$text"
: > "$scratch/empty"
printf 'abc' > "$scratch/short"
printf 'caf\351' > "$scratch/latin1"
printf 'a\000b' > "$scratch/nul"
refuse "no --text FILE to train on" train
refuse "cannot read $scratch/none: No such file" train --text "$scratch/none"
refuse "cannot read $scratch: Is a directory" train --text "$scratch"
refuse "empty: empty" train --text "$scratch/empty"
refuse "too short: it has 3 tokens; --context 64 needs 73" train --text "$scratch/short"
refuse "not UTF-8: byte 0xE9 at offset 3" train --text "$scratch/latin1"
refuse "a NUL byte at offset 1" train --text "$scratch/nul"
misuse "unexpected argument 'stray'" train stray
misuse "no value after --save" train --save --text x
misuse "'0' is not a whole number from 1" train --batch 0
misuse "'word' is not one of char|bpe" train --level word
refuse "--n-embd 128: not divisible by --n-head 3" train --text "$text" --n-head 3
refuse "--warmup 50: must be less than --steps 20" train --text "$text" --warmup 50 --steps 20
refuse "--vocab: only for --level bpe" train --text "$text" --vocab 100
refuse "--vocab 255: too small; byte pairs need at least 256" train --text "$text" --level bpe --vocab 255
refuse "cannot write $scratch/no/where" train --text "$text" --save "$scratch/no/where"
refuse "cannot write $scratch/no/where" train --text "$text" --log "$scratch/no/where"
refuse "cannot write $scratch: Is a directory" train --text "$text" --best "$scratch"
refuse "--save: $text exists; --force" train --text "$text" --save "$text"
cat README.md CONTRIBUTING.md | cmp - "$text"

# ---- train, eval and sample at each level ----

small="--n-layer 1 --n-head 2 --n-embd 16 --context 16 --batch 4 --eval-every 10 --eval-windows 20"
for level in char bpe; do
    model=$scratch/$level
    # shellcheck disable=SC2086
    "$gpt" train --text "$text" --level $level --steps 20 $small --log-every 5 --save "$model" \
        > "$scratch/out" 2> "$scratch/err"
    check [ ! -s "$scratch/out" ]
    has "^step 20/20  loss [0-9.]*  val_loss [0-9.]*  tokens_per_second [0-9]*$" "$scratch/err"
    check [ "$(grep -c '^step' "$scratch/err")" -eq 4 ]
    expect 0 "^bits per byte" "$gpt" eval --load "$model" --text "$text"
    expect 0 "^measured over" "$gpt" eval --load "$model" --text "$text" --part validation
    # --length may be 0.
    "$gpt" sample --load "$model" --prompt "The tensor" --length 30 > "$scratch/first" 2> "$scratch/err"
    check [ ! -s "$scratch/err" ]
    has "^The tensor" "$scratch/first"
    check [ "$("$gpt" sample --load "$model" --prompt "The" --length 0)" = The ]
done
"$gpt" sample --load "$scratch/char" --prompt "The" --seed 1 > "$scratch/first"
"$gpt" sample --load "$scratch/char" --prompt "The" --seed 2 > "$scratch/second"
check [ "$(cmp "$scratch/first" "$scratch/second" | wc -l)" -eq 1 ]

# The model is an argument or the value of --load, in any order.
"$gpt" sample --load "$scratch/char" --prompt "The" > "$scratch/first"
"$gpt" sample "$scratch/char" --prompt "The" | cmp - "$scratch/first"
"$gpt" sample --prompt "The" "$scratch/char" | cmp - "$scratch/first"
"$gpt" eval --load "$scratch/char" --text "$text" > "$scratch/first"
"$gpt" eval "$scratch/char" --text "$text" | cmp - "$scratch/first"

# eval gives the same validation loss as training printed.
"$gpt" train --text "$text" --steps 5 $small --eval-windows 9999 --save "$scratch/m" 2> "$scratch/err"
seen=$(sed -n 's/^validation loss \([0-9.]*\) .*/\1/p' "$scratch/err")
expect 0 "^loss  *$seen " "$gpt" eval --load "$scratch/m" --text "$text" --part validation

# Samples go to stdout and change neither the model nor later random numbers.
# shellcheck disable=SC2086
for samples in "" "--sample-every 5 --prompt The"; do
    "$gpt" train --text "$text" --steps 12 $small --dropout 0.1 --save "$scratch/m" --force $samples \
        > "$scratch/samples" 2> "$scratch/err"
    [ -n "$samples" ] || mv "$scratch/m" "$scratch/plain"
done
check cmp "$scratch/m" "$scratch/plain"
check [ "$(grep -c "^--------------- step" "$scratch/samples")" -eq 2 ]
has "^--------------- step 10$" "$scratch/samples"
check [ "$(grep -c "^The" "$scratch/samples")" -eq 2 ]
# The last sample equals gpt sample's.
"$gpt" sample "$scratch/m" --prompt The --length 200 > "$scratch/first"
# shellcheck disable=SC2086
"$gpt" train --text "$text" --steps 12 $small --dropout 0.1 --sample-every 12 --prompt The 2> "$scratch/err" |
    tail -n +2 | cmp - "$scratch/first"
refuse "--prompt: the character '日' (U+65E5) at offset 0 is not in the vocabulary" train --text "$text" --prompt 日

# ---- logs ----

# The columns of a resumed run.
logs="--log $scratch/csv"
# shellcheck disable=SC2086
{
    "$gpt" train --text "$text" --steps 12 $small $logs --save "$scratch/logged" --sample-every 6 > "$scratch/out" \
        2> "$scratch/err"
    "$gpt" train --resume "$scratch/logged" --steps 14 $logs 2> "$scratch/err"
}
check [ "$(head -n 1 "$scratch/csv")" = step,loss,val_loss,lr,grad_norm,tokens_per_second ]
check [ "$(cut -d, -f1 "$scratch/csv" | tr '\n' ' ')" = "step 1 2 3 4 5 6 7 8 9 10 11 12 13 14 " ]
check [ "$(cut -d, -f3 "$scratch/csv" | grep -c .)" -eq 4 ] # header, steps 10, 12 and 14
"$gpt" train --resume "$scratch/logged" --steps 16 2> "$scratch/err"
"$gpt" train --resume "$scratch/logged" --steps 18 --log "$scratch/csv" 2> "$scratch/err"
has "^17," "$scratch/csv"
refuse "cannot write $scratch/no/where" train --text "$text" --log "$scratch/no/where"

# ---- existing files ----

printf 'step\n' > "$scratch/other"
for flag in save best log; do
    refuse "--$flag: $scratch/other exists; --force overwrites it, --resume continues" \
        train --text "$text" --$flag "$scratch/other"
done
has step "$scratch/other"
refuse "--save: $scratch/char exists; --force" train --resume "$scratch/m" --save "$scratch/char"
: > "$scratch/other" # nothing is lost
# shellcheck disable=SC2086
"$gpt" train --text "$text" --steps 20 $small --save "$scratch/other" --best "$scratch/lowest" 2> "$scratch/err"
expect 0 "30/30" "$gpt" train --resume "$scratch/other" --steps 30 --best "$scratch/lowest"
expect 0 "20/20" "$gpt" train --text "$text" --steps 20 --force $small --save "$scratch/other"

# ---- other commands: rejected arguments and files ----

model=$scratch/char
refuse "no --load FILE" sample --prompt x
expect 1 "the largest logit of row 0 is inf" "$gpt" sample --load "$model" --temperature 1e-300
refuse "the character '日' (U+65E5) at offset 2 is not in the vocabulary" sample --load "$model" --prompt "a 日"
refuse "not UTF-8" sample --load "$model" --prompt "$(printf 'a\351')"
refuse "$scratch/none: cannot open it" sample --load "$scratch/none" --prompt x
refuse "is it a safetensors file?" eval --load "$text" --text "$text"
head -c 3000 "$model" > "$scratch/cut"
refuse "cut" sample "$scratch/cut"
sed 's/"n_layer":"1"/"n_layer":"9"/' "$model" > "$scratch/deep"
refuse "deep: damaged: it has .* bytes, but a model with its settings has" sample --load "$scratch/deep"
refuse "deep: damaged: it has .* bytes" train --resume "$scratch/deep"
"${1:-build}/next_token" --steps 1 --save "$scratch/toy" > /dev/null 2>&1
refuse "toy: not a file written by gpt train" sample --load "$scratch/toy" --prompt x
refuse "toy: not a file written by gpt train" train --resume "$scratch/toy"
refuse "no --text FILE" eval --load "$model"
refuse "too short: it has 3 tokens, and the model needs 17" eval --load "$model" --text "$scratch/short"
misuse "unexpected argument 'b'" sample a b

# ---- resuming ----

refuse "the run of --resume has 0.001, which cannot change" train --resume "$model" --lr 1
# Numbers are shown with 6 digits, and may be repeated so: the default of --min-lr is 0.1 * 3e-4.
# shellcheck disable=SC2086
"$gpt" train --text "$text" $small --lr 3e-4 --steps 1 --save "$scratch/digits" 2> "$scratch/err"
expect 0 "nothing left to do" "$gpt" train --resume "$scratch/digits" --min-lr 3e-5
refuse "short is not the text of --resume" train --resume "$model" --text "$scratch/short"
expect 0 "nothing left to do; increase --steps" "$gpt" train --resume "$model"
expect 0 "resuming after step 20" "$gpt" train --resume "$model" --steps 30 --save "$scratch/on"
expect 0 "resuming after step 30" "$gpt" train --resume "$scratch/on"
mv "$text" "$text.moved"
refuse "cannot read $text: No such file or directory" train --resume "$model"
expect 0 "step *25/25" "$gpt" train --resume "$model" --steps 25 --text "$text.moved" --save "$scratch/on" --force
: > "$text"
refuse "text: empty" train --resume "$model"
cp "$text.moved" "$scratch/precious"
refuse "log: $scratch/precious: not written by a watch" train --resume "$model" --steps 40 --text "$text.moved" \
    --log "$scratch/precious"
cmp "$text.moved" "$scratch/precious"
text=$text.moved

# A NaN or infinite loss ends training; the file is that of the last save.
# shellcheck disable=SC2086
expect 1 "the loss is [^-]* at step .* norm of [^-]*; try a lower --lr" "$gpt" train --text "$text" $small --lr 10 \
    --clip 0 --warmup 0 --weight-decay 100 --save "$scratch/high" --save-every 1
expect 0 "^loss" "$gpt" eval "$scratch/high" --text "$text"

# Out of memory
status=0
# shellcheck disable=SC2086
(ulimit -v 400000 && exec "$gpt" train --text "$text" $small --batch 13000) > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "^gpt: .*out of memory" "$scratch/err"

# ---- streams that are closed, full, or a terminal ----

# If the reader closes its pipe, a program ends silently with status 0, even if its parent ignores SIGPIPE.
for signals in "" "trap '' PIPE;"; do
    for command in "sample $model --prompt The --length 100000" "--help"; do
        { sh -c "$signals $gpt $command" 2> "$scratch/err" || echo "status $?" >> "$scratch/err"; } |
            head -n 1 > "$scratch/out"
        check [ ! -s "$scratch/err" ]
    done
done
# shellcheck disable=SC2086
"$gpt" train --text "$text" $small --steps 30 --log-every 1 --save "$scratch/alone" 2>&1 | head -n 1 > "$scratch/out"
expect 0 "resuming after step 30" "$gpt" train --resume "$scratch/alone"
if [ -e /dev/stdout ]; then
    # shellcheck disable=SC2086
    "$gpt" train --text "$text" $small --steps 3 --log /dev/stdout 2> "$scratch/err" | cat > "$scratch/out"
    check [ "$(wc -l < "$scratch/out")" -eq 4 ]
fi
# A run that is killed leaves whole rows, and another one replaces them.
: > "$scratch/first"
# shellcheck disable=SC2086
"$gpt" train --text "$text" $small --steps 999999 --log "$scratch/claimed" --log-every 1 > "$scratch/first.out" 2> "$scratch/first" &
first=$!
until grep -q "^step" "$scratch/first"; do :; done
kill -s KILL $first
status=0
wait $first 2> /dev/null || status=$?
check [ $status -eq 137 ]
check awk -F, 'NR == 1 { n = NF } /^step/ != (NR == 1) || NF != n { exit 1 }' "$scratch/claimed"
# shellcheck disable=SC2086
expect 0 "^step *3/3" "$gpt" train --text "$text" $small --steps 3 --log "$scratch/claimed" --force
if [ -e /dev/full ]; then
    # A log that cannot be written does not end training.
    # shellcheck disable=SC2086
    expect 0 "^/dev/full: cannot write step [0-9]*: No space left on device; training continues" \
        "$gpt" train --text "$text" $small --steps 30 --log /dev/full --save "$scratch/unlogged" --force
    has "^step *30/30" "$scratch/out"
    expect 0 "resuming after step 30" "$gpt" train --resume "$scratch/unlogged"
    for command in "--help" "eval --load $model --text $text" "sample --load $model --length 5"; do
        status=0
        # shellcheck disable=SC2086
        "$gpt" $command > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^gpt: standard output: No space left on device$" "$scratch/err"
    done
fi
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
    escape=$(printf '\033')
    TERM=xterm COLUMNS=100 script -qec "$gpt train --text $text $small --steps 40" /dev/null \
        > "$scratch/terminal" < /dev/null
    has "$(printf '\r')\[[=>].*/40  .*left  loss .*$escape\[K" "$scratch/terminal"
    has "${escape}\[Kstep 40/40  loss .*  val_loss " "$scratch/terminal"
else
    skip "script is not installed, or this machine has no pseudo-terminals; mount /dev/pts"
fi
echo "gpt_programs: passed"
