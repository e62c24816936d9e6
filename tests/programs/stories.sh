#!/bin/sh
# build/stories as a user runs it, and its quizzes in build/gpt.
#   tests/programs/stories.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
build=${1:-build}
stories=$build/stories
gpt=$build/gpt

# ---- the same bytes everywhere ----

sum() {
    "$stories" "$@" | cksum | tr ' ' _
}
threads=0
for isa in baseline v3 v4; do
    threads=$((threads + 1))
    if HEED_ISA=$isa "$stories" --quiz 1 > /dev/null 2>&1; then
        export HEED_ISA=$isa HEED_NUM_THREADS=$threads
        check [ "$(sum)" = 136424868_999968 ]
        check [ "$(sum --quiz 300)" = 461991248_28402 ]
        unset HEED_ISA HEED_NUM_THREADS
    else
        echo "skipped: HEED_ISA=$isa is not supported on this machine"
    fi
done
check [ "$("$stories" --quiz 7 | wc -l)" -eq 7 ]
"$stories" | head -c 50000 > "$scratch/text"
lacks '[^-A-Za-z .?]' "$scratch/text"

# ---- help and bad flags ----

program=$stories
expect 0 "^usage: stories" "$stories" --help
lacks '^.\{101\}' "$scratch/out"
misuse "'0' is not a whole number from 1" --quiz 0
misuse "unknown flag --nope" --nope
misuse "unexpected argument 'x'" x
expect 1 "HEED_ISA=v9" env HEED_ISA=v9 "$stories"
"$stories" 2> "$scratch/err" | head -n 1 > "$scratch/out"
check [ ! -s "$scratch/err" ]
if [ -e /dev/full ]; then
    for what in "" "--quiz 5" --help; do
        status=0
        # shellcheck disable=SC2086
        "$stories" $what > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^stories: standard output: " "$scratch/err"
    done
fi

# ---- quizzes: during training, which they must not change, and of a saved model ----

"$stories" --quiz 30 > "$scratch/quiz"
small="--n-layer 1 --n-head 2 --n-embd 16 --context 64 --batch 4 --dropout 0.1 --steps 20 --eval-every 10 --eval-windows 5"
cd "$scratch" # the file of a run holds the path of its text
case $gpt in /*) ;; *) gpt=$OLDPWD/$gpt ;; esac
program=$gpt
# shellcheck disable=SC2086
"$gpt" train --text text $small --save plain --log plain.csv 2> err
# shellcheck disable=SC2086
"$gpt" train --text text $small --save asked --log asked.csv --quiz quiz 2> err
has "^step 20/20  loss .*  pronoun [0-9.]*  who [0-9.]*  where [0-9.]*$" err
check [ "$(head -n 1 asked.csv)" = step,loss,val_loss,lr,grad_norm,tokens_per_second,pronoun,who,where ]
has "^who  *10  *[0-9.]* %  *16.7 %  *[0-9.]* %  *50.0 %$" err
check cmp plain asked
cut -d, -f1-5 plain.csv > plain.first
cut -d, -f1-5 asked.csv | cmp - plain.first
grep "^who" err > seen
expect 0 "^pronoun  *10 " "$gpt" eval --load asked --quiz quiz
grep "^who" out | cmp - seen
lacks "^loss" out
expect 0 "^where  *10 " "$gpt" eval --load asked --quiz quiz --text text
has "^loss" out
printf 'who\tAnn sings. \tAnn\n' >> quiz
refuse "quiz: line 31: 2 tabs" eval --load asked --quiz quiz
refuse "quiz: line 31: 2 tabs" train --text text --quiz quiz
refuse "cannot read none: No such file" train --text text --quiz none
refuse "cannot read none: No such file" eval --load asked --quiz none
refuse "--save: quiz exists" train --text text --quiz quiz --save quiz
refuse "no --text FILE or --quiz FILE" eval --load asked
printf 'who\tAnn sings! \tAnn\tDan\n' > quiz
refuse "quiz: line 1: the character '!' (U+0021) at offset 9 is not in the vocabulary" eval --load asked --quiz quiz
echo "stories: passed"
