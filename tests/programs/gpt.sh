#!/bin/sh
# Runs build/gpt as a user does; then trains it on the stories of build/stories, as examples/pytorch/char_gpt.py does.
#   tests/programs/gpt.sh [BUILD]
# shellcheck disable=SC2086 # $small is split
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
build=${1:-build}
gpt=$build/gpt
program=$gpt
text=$scratch/text
cat README.md CONTRIBUTING.md > "$text"

# ---- rejected arguments ----

: > "$scratch/empty"
printf 'abc' > "$scratch/short"
printf 'caf\351' > "$scratch/latin1"
expect 2 "^usage: gpt train" "$gpt"
expect 0 "^usage: gpt train" "$gpt" help train
misuse "unknown command 'nope'" nope
misuse "unexpected argument 'stray'" train stray
misuse "'word' is not one of char|bpe" train --level word
refuse "no --text FILE to train on" train
refuse "cannot read $scratch/none: No such file" train --text "$scratch/none"
refuse "cannot read $scratch: Is a directory" train --text "$scratch"
refuse "empty: empty" train --text "$scratch/empty"
refuse "too short: it has 3 tokens; --context 64 needs 73" train --text "$scratch/short"
refuse "not UTF-8: byte 0xE9 at offset 3" train --text "$scratch/latin1"
refuse "--n-embd 128: not divisible by --n-head 3" train --text "$text" --n-head 3
refuse "--warmup 50: must be less than --steps 20" train --text "$text" --warmup 50 --steps 20
refuse "--vocab: only for --level bpe" train --text "$text" --vocab 100
refuse "--vocab 255: too small; byte pairs need at least 256" train --text "$text" --level bpe --vocab 255
refuse "cannot write $scratch/no/where" train --text "$text" --save "$scratch/no/where"
for flag in save best log; do
    refuse "--$flag: $scratch/short exists; --force overwrites it, --resume continues" \
        train --text "$text" --$flag "$scratch/short"
done

# ---- train, eval and sample at each level ----

small="--n-layer 1 --n-head 2 --n-embd 16 --context 16 --batch 4 --eval-every 10 --eval-windows 20"
for level in char bpe; do
    model=$scratch/$level
    "$gpt" train --text "$text" --level $level --steps 20 $small --log-every 5 --save "$model" \
        > "$scratch/out" 2> "$scratch/err"
    check [ ! -s "$scratch/out" ]
    has "^step 20/20  loss [0-9.]*  val_loss [0-9.]*  tokens_per_second [0-9]*$" "$scratch/err"
    expect 0 "^bits per byte" "$gpt" eval --load "$model" --text "$text"
    check [ "$("$gpt" sample "$model" --prompt "The" --length 0)" = The ]
    "$gpt" sample --load "$model" --prompt "The" --seed 1 > "$scratch/first"
    "$gpt" sample "$model" --prompt "The" --seed 1 | cmp - "$scratch/first"
    ! "$gpt" sample "$model" --prompt "The" --seed 2 | cmp -s - "$scratch/first"
done
model=$scratch/char

# eval gives the same validation loss as training printed.
"$gpt" train --text "$text" --steps 5 $small --eval-windows 9999 --save "$scratch/m" 2> "$scratch/err"
seen=$(sed -n 's/^validation loss \([0-9.]*\) .*/\1/p' "$scratch/err")
expect 0 "^loss  *$seen " "$gpt" eval --load "$scratch/m" --text "$text" --part validation

# Samples go to stdout, and the last one is gpt sample's. They and quizzes change neither the model nor the numbers drawn.
"$build/stories" --quiz 30 > "$scratch/quiz"
cat "$scratch/quiz" >> "$text"
"$gpt" train --text "$text" --steps 12 $small --dropout 0.1 --save "$scratch/plain" 2> "$scratch/err"
"$gpt" train --text "$text" --steps 12 $small --dropout 0.1 --save "$scratch/m" --force --sample-every 6 --prompt The \
    --quiz "$scratch/quiz" --log "$scratch/csv" > "$scratch/samples" 2> "$scratch/err"
check cmp "$scratch/m" "$scratch/plain"
check [ "$(grep -c "^--------------- step" "$scratch/samples")" -eq 2 ]
"$gpt" sample "$scratch/m" --prompt The --length 200 > "$scratch/first"
sed '1,/^--------------- step 12/d' "$scratch/samples" | cmp - "$scratch/first"
check [ "$(head -n 1 "$scratch/csv")" = step,loss,val_loss,lr,grad_norm,tokens_per_second,pronoun,who,where ]
grep "^who" "$scratch/err" > "$scratch/seen"
expect 0 "^pronoun  *10 " "$gpt" eval --load "$scratch/m" --quiz "$scratch/quiz"
grep "^who" "$scratch/out" | cmp - "$scratch/seen"
printf 'who\tAnn sings. \tAnn\n' >> "$scratch/quiz"
refuse "quiz: line 31: 2 tabs" eval --load "$scratch/m" --quiz "$scratch/quiz"

# ---- other commands, and resuming ----

expect 1 "the largest logit of row 0 is inf" "$gpt" sample --load "$model" --temperature 1e-300
refuse "the character '日' (U+65E5) at offset 2 is not in the vocabulary" sample --load "$model" --prompt "a 日"
refuse "$scratch/none: cannot open it" sample --load "$scratch/none" --prompt x
refuse "is it a safetensors file?" eval --load "$text" --text "$text"
sed 's/"n_layer":"1"/"n_layer":"9"/' "$model" > "$scratch/deep"
refuse "deep: damaged: it has .* bytes, but a model with its settings has" sample --load "$scratch/deep"
"$build/next_token" --steps 1 --save "$scratch/toy" > /dev/null 2>&1
refuse "toy: not a file written by gpt train" sample --load "$scratch/toy" --prompt x
refuse "no --text FILE or --quiz FILE" eval --load "$model"
refuse "too short: it has 3 tokens, and the model needs 17" eval --load "$model" --text "$scratch/short"

"$gpt" train --resume "$scratch/m" --steps 14 --log "$scratch/csv" 2> "$scratch/err"
check [ "$(cut -d, -f1 "$scratch/csv" | tr '\n' ' ')" = "step 1 2 3 4 5 6 7 8 9 10 11 12 13 14 " ]
refuse "the run of --resume has 0.001, which cannot change" train --resume "$scratch/m" --lr 1
refuse "short is not the text of --resume" train --resume "$scratch/m" --text "$scratch/short"
expect 0 "nothing left to do; increase --steps" "$gpt" train --resume "$scratch/m"
mv "$text" "$text.moved"
refuse "cannot read $text: No such file or directory" train --resume "$scratch/m"
text=$text.moved
expect 0 "step *16/16" "$gpt" train --resume "$scratch/m" --steps 16 --text "$text" --save "$scratch/on"

# A NaN or infinite loss ends training; the file is that of the last save.
expect 1 "the loss is [^-]* at step .* norm of [^-]*; try a lower --lr" "$gpt" train --text "$text" $small --lr 10 \
    --clip 0 --warmup 0 --weight-decay 100 --save "$scratch/high" --save-every 1
expect 0 "^loss" "$gpt" eval "$scratch/high" --text "$text"

# Out of memory; a full disk for the log, which does not end training
status=0
(ulimit -v 400000 && exec "$gpt" train --text "$text" $small --batch 13000) > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "^gpt: .*out of memory" "$scratch/err"
if [ -e /dev/full ]; then
    expect 0 "^/dev/full: cannot write step [0-9]*: No space left on device; training continues" \
        "$gpt" train --text "$text" $small --steps 30 --log /dev/full
    has "^step *30/30" "$scratch/out"
fi

# ---- the stories: the first losses are PyTorch's, and a sample consists of their words ----

stories=$scratch/stories
"$build/stories" > "$stories"
"$gpt" train --text "$stories" --lr 1e-4 --steps 101 --eval-windows 1 --log "$scratch/log" > "$scratch/out" 2>&1
awk -F, '
    FILENAME == ARGV[1] { loss[$1] = $2; next }
    FNR > 1 && $1 <= 50 { rows++; off = $2 - loss[$1]; most = off > most ? off : -off > most ? -off : most }
    END {
        printf "gpt: the first %d losses are those of PyTorch to %.1e\n", rows, most
        exit !(rows == 50 && most <= 1e-5)
    }' tests/fixtures/gpt/losses.csv "$scratch/log"
"$gpt" train --text "$stories" --steps 300 --eval-windows 1 --save "$scratch/model" > "$scratch/out" 2>&1
"$gpt" sample --load "$scratch/model" --prompt "Ann " --length 1000 | tr -cs 'A-Za-z' '\n' > "$scratch/sample"
tr -cs 'A-Za-z' '\n' < "$stories" | sort -u | awk '
    FILENAME == "-" { known[$0]; next }
    length($0) > 2 { count++; found += $0 in known }
    END { printf "gpt: %d of %d words of a sample are words of the stories\n", found, count; exit found < 0.8 * count }
' - "$scratch/sample"
echo "gpt: passed"
