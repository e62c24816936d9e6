#!/bin/sh
# build/toys as a user runs it: every task but modadd and regression learns with three seeds, what cannot be learned is
# not, results do not depend on --jobs or on interruptions, and flags are checked.
#   tests/programs/toys.sh [BUILD]
# shellcheck disable=SC2086 # $some is split
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
build=${1:-build}
toys=$build/toys
program=$toys

# runs NAME ARGUMENT...: three seeds, into $scratch/NAME.csv
runs() {
    name=$1
    shift
    "$toys" "$@" --seeds 3 --csv "$scratch/$name.csv" > "$scratch/out" 2> "$scratch/err" || {
        cat "$scratch/err"
        exit 1
    }
}

# column NAME CSV: the values of a column, one per line
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"
}

# learns ARGUMENT..., fails ARGUMENT...: all seeds, or none
learns() {
    runs learns "$@" --until 0.99
    column learned_at "$scratch/learns.csv" > "$scratch/column"
    check [ "$(grep -c '^[0-9]' "$scratch/column")" -eq 3 ] # -1 has not learned
    rm "$scratch/learns.csv"
}
fails() {
    runs fails "$@"
    column learned_at "$scratch/fails.csv" > "$scratch/column"
    check [ "$(sort -u "$scratch/column")" = -1 ]
    mv "$scratch/fails.csv" "$scratch/last.csv"
}

# below LIMIT COLUMN: all values of the last runs that failed; above: likewise
below() {
    column "$2" "$scratch/last.csv" | awk -v limit="$1" -v name="$2" '
        !($1 < limit) { print name, $1, "is not below", limit; bad = 1 } END { exit bad }'
}
above() {
    column "$2" "$scratch/last.csv" | awk -v limit="$1" -v name="$2" '
        !($1 > limit) { print name, $1, "is not above", limit; bad = 1 } END { exit bad }'
}

# ---- what is learned, and what is not ----

for task in copy reverse sort recall majority parity dyck; do
    learns $task
done
learns induction --learned 0.98 --until 0.98

fails lottery --steps 300
above 1.386 test_loss # log 4: nobody can do better on average; the test batch has 4096 labels
above 1.38 train_loss
fails induction --layers 1 --steps 1000 # near the unigram of the context
below 0.5 score
above 1.5 test_loss
fails recall --layers 1 --steps 600 # about the most frequent of the values in the context
below 0.5 score
fails copy --positions none --steps 600
below 0.5 score
runs longer parity --steps 1500
mv "$scratch/longer.csv" "$scratch/last.csv"
below 0.9 longer_score
above 0.99 score

# ---- the same results for any number of jobs, and after an interruption ----

# results CSV: its lines without the seconds, sorted
results() {
    sed 's/,[^,]*$//' "$1" | sort
}
some="copy --sweep width=8,16 --sweep heads=1,2 --seeds 3 --steps 60"
{
    "$toys" $some --jobs 1 --csv "$scratch/one" > "$scratch/table.1" 2> /dev/null
    "$toys" $some --jobs 3 --csv "$scratch/three" > "$scratch/table.3" 2> /dev/null
    check cmp "$scratch/table.1" "$scratch/table.3"
    results "$scratch/one" > "$scratch/results"
    results "$scratch/three" | cmp - "$scratch/results"
    check [ "$(wc -l < "$scratch/results")" -eq 13 ]
    head -c 1500 "$scratch/one" > "$scratch/cut"
    "$toys" $some --csv "$scratch/cut" --resume > "$scratch/table.cut" 2> /dev/null
    results "$scratch/cut" | cmp - "$scratch/results"
    check cmp "$scratch/table.cut" "$scratch/table.1"
    expect 0 "^copy " timeout 60 "$toys" $some --csv "$scratch/cut" --resume # nothing is left to do

    "$toys" copy --seeds 1000 --csv "$scratch/many" > "$scratch/out" 2> "$scratch/err" &
    running=$!
    : >> "$scratch/many"
    while [ "$(grep -c ^copy "$scratch/many" 2> /dev/null || true)" -lt 3 ]; do sleep 0.1; done
    refuse "--csv: another process is writing $scratch/many" copy --seeds 1000 --csv "$scratch/many" --resume
    refuse "--csv: another process is writing $scratch/many" copy --seeds 1000 --csv "$scratch/many" --force
    kill -INT $running
    wait $running
    has "^toys: interrupted after [0-9]* of 1000 runs; --resume does the rest" "$scratch/err"
    done=$(sed -n 's/.*interrupted after \([0-9]*\).*/\1/p' "$scratch/err")
    check [ "$(wc -l < "$scratch/many")" -eq $((done + 1)) ]
    refuse "line [0-9]* of $scratch/many is of other settings" copy --seeds 2 --csv "$scratch/many" --resume
    refuse "--resume continues" copy --seeds 2 --csv "$scratch/many"
}

# ---- looking inside ----

expect 0 "^ *2  *2  *[0-9.]*  *[0-9.]*$" "$toys" recall --steps 100 --scores
"$toys" recall --steps 100 --attention --input "k3 v1 k3" --ablate --attribution > "$scratch/out" 2> /dev/null
has "recall, layer 2" "$scratch/out"
has "^   none  *[0-9.]" "$scratch/out"
has "^layer 2 head 2  *[-0-9.]*$" "$scratch/out"

# Patching: majority's one head carries everything but the token itself. Of a pair of sequences, the residual stream
# after the last layer restores everything at the last token, and nothing elsewhere.
expect 0 "^ *1  *1  *[0-9.]*  *9[0-9]\.[0-9] %$" "$toys" majority --until 0.99 --patch
"$toys" recall --until 0.99 --patch --input "k3 v1 k0 v7 k3" --corrupted "k3 v9 k0 v7 k3" > "$scratch/out" 2> /dev/null
check [ "$(grep -c "^ *[12]  *[12]  *[-0-9.]*  *[-0-9.]* %$" "$scratch/out")" -eq 4 ]
has "^ *2  *v1  *v9  *[0-9.]* %  *0.0 %$" "$scratch/out"
has "^ *5  *k3  *k3  *[-0-9.]* %  *100.0 %$" "$scratch/out"
expect 0 "^nothing to patch" "$toys" recall --steps 5 --patch --input "k3 v1 k3" --corrupted "k3 v1 k3"

# The positions of parity that it has not been trained on are guessed; least squares on 5 examples leaves no error.
"$toys" parity --until 0.99 --by-position > "$scratch/out" 2> /dev/null
has "^ *8 .* [01]\.[0-9]*  *0.0000$" "$scratch/out"
awk '/^at length/ { longer = 1 } longer && $1 + 0 > 8 { sum += $3; n++ } END { exit !(n == 8 && sum / n < 0.6) }' \
    "$scratch/out" || { cat "$scratch/out"; exit 1; }
expect 0 "^ *11  *[0-9.]*  *[0-9.]*  *0.0000  *[45]\." "$toys" regression --steps 0 --warmup 0 --by-position

expect 0 "^[0-9]* of 6 frequencies have [0-9.]* %" "$toys" modadd --symbols 13 --steps 50 --spectrum

# ---- pages ----

"$toys" copy --steps 20 --report "$scratch/page.html" > /dev/null 2>&1
has '"state":"finished","step":20,"steps":20' "$scratch/page.html"
refuse "--report: $scratch/page.html exists; --force overwrites it" copy --steps 20 --report "$scratch/page.html"
expect 0 "^copy: " "$toys" copy --steps 20 --report "$scratch/page.html" --force
refuse "--report: $scratch/one exists and is not a report" copy --force --report "$scratch/one"
"$toys" copy --seeds 2 --steps 20 --csv "$scratch/two" --report "$scratch/two.html" > /dev/null 2>&1
"$toys" copy --seeds 2 --steps 20 --csv "$scratch/two" --report "$scratch/two.html" --resume > /dev/null 2>&1
has '"state":"finished","step":2,"steps":2' "$scratch/two.html"

# ---- the figures of docs/toys.md, in short: all is made, and made once ----

made=$scratch/made
for name in first again; do
    QUICK=1 sh examples/lab/toys/results.sh "$build" "$made" > "$scratch/out" 2> "$scratch/err" || {
        cat "$scratch/err"
        exit 1
    }
    cat "$made"/*.csv "$made"/*.log > "$scratch/$name" # with the seconds that each run took
done
check cmp "$scratch/first" "$scratch/again"
check [ "$(find "$made" -name '*.txt' ! -name regression.txt | wc -l)" -eq "$(grep -c "^==" "$scratch/out")" ]
has "^ *12  *[0-9.]*  *0.000$" "$made/regression.txt"

# ---- help and bad flags ----

expect 0 "^usage: toys TASK" "$toys" --help
lacks '^.\{101\}' "$scratch/out"
expect 0 "default: 1500$" "$toys" copy --help # of the task
expect 0 "^regression" "$toys" list
lacks '^.\{101\}' "$scratch/out"
misuse "no task"
misuse "no task is called 'cpoy'" cpoy
misuse "unknown flag --nope" copy --nope
misuse "unexpected argument 'sort'" copy sort
misuse "--width 32: not divisible by --heads 5" copy --heads 5
refuse "no flag is called widht" copy --sweep widht=3
refuse "--sweep: a value or a setting is given twice" copy --sweep width=8,16,8
refuse "--sweep: width is given twice" copy --sweep width=8 --sweep width=16
refuse "--width: '' is not a whole number" copy --sweep width=8,,16
misuse "--sweep: at most 4 settings" copy --sweep a=1 --sweep b=1 --sweep c=1 --sweep d=1 --sweep e=1
misuse "--length 20: recall needs as many --symbols" recall --length 20
refuse "'width' is not NAME=VALUE" copy --sweep width
misuse "--resume: needs --csv" copy --resume
misuse "--scores: only for one run" copy --scores --seeds 2
misuse "--spectrum: only for modadd" copy --spectrum
misuse "--patch: regression has no answers" regression --patch
misuse "--corrupted: needs --patch and --input" copy --corrupted "1 2"
refuse "--corrupted: 2 tokens, but --input has 3" recall --patch --input "k3 v1 k3" --corrupted "k3 v1"
refuse "--csv: cannot write /none/x" copy --csv /none/x --seeds 2
refuse "--input: recall has no token 'x'" recall --steps 0 --attention --input "k0 x"
refuse "$scratch/results: not written by --csv" $some --csv "$scratch/results" --resume
cat "$scratch/one" > "$scratch/twice"
tail -n +2 "$scratch/one" >> "$scratch/twice"
"$toys" $some --csv "$scratch/twice" --resume > "$scratch/table" 2> /dev/null
check cmp "$scratch/table" "$scratch/table.1"
status=0
(trap '' XFSZ && ulimit -f 1 && exec "$toys" copy --steps 3 --seeds 30 --csv "$scratch/large") > "$scratch/out" 2> "$scratch/err" || status=$?
check [ $status -eq 1 ]
has "^toys: --csv: cannot write $scratch/large: File too large$" "$scratch/err"
"$toys" copy --steps 3 --warmup 0 --seeds 200 --jobs 2 > "$scratch/out" 2> "$scratch/err"
has "^run .*200/200" "$scratch/err" # no run that ends early is missed
for edit in '2s/,[^,]*$//' '2s/$/,1/' '2s/[^,]*\(\(,[^,]*\)\{9\}\)$/nan\1/'; do
    sed "$edit" "$scratch/one" > "$scratch/damaged"
    refuse "$scratch/damaged: line 2 is damaged" $some --csv "$scratch/damaged" --resume
done

# Small and large values: a sentence, or a run.
for values in "--length 1" "--symbols 1" "--test-rows 1 --batch 1" "--width 1 --heads 1" "--layers 3 --ff 1" \
    "--norm none --lr 10" "--weight-decay 1e6" "--longer 1" "--steps 0"; do
    for task in induction recall dyck parity modadd regression; do
        case $values in *steps*) steps=;; *) steps="--steps 2" ;; esac
        case $task in regression) look= ;; modadd) look="--patch --spectrum" ;; *) look="--patch" ;; esac
        status=0
        # shellcheck disable=SC2086
        "$toys" $task --warmup 0 $steps $values $look --scores --ablate --attribution --by-position \
            > "$scratch/out" 2> "$scratch/err" || status=$?
        [ $status -eq 0 ] || check [ $status-"$(grep -c "^toys: " "$scratch/err")" = 2-1 ]
        lacks "never read" "$scratch/err"
    done
done
expect 1 "HEED_ISA=v9" env HEED_ISA=v9 "$toys" copy
if [ -e /dev/full ]; then
    refuse "--csv: cannot write /dev/full: No space left" copy --seeds 2 --csv /dev/full
    for what in list "copy --steps 5" "copy --steps 5 --seeds 2" --help; do
        status=0
        # shellcheck disable=SC2086
        "$toys" $what > /dev/full 2> "$scratch/err" || status=$?
        check [ $status -eq 1 ]
        has "^toys: standard output: No space left on device$" "$scratch/err"
    done
fi
echo "toys: passed"
