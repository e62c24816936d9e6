#!/bin/sh
# build/toys as a user runs it: what is learned and what is not, that results do not depend on --jobs or on
# interruptions, looking inside, and wrong flags.
#   tests/programs/toys.sh [BUILD]
# shellcheck disable=SC2086 # $some is split
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
build=${1:-build}
toys=$build/toys
program=$toys

# ---- what is learned with each of two seeds, and what is not ----

# runs ARGUMENT...: two seeds, into $scratch/runs
runs() {
    "$toys" "$@" --seeds 2 --csv "$scratch/runs" --force > "$scratch/out" 2> "$scratch/err" ||
        { cat "$scratch/err"; exit 1; }
}
# each COLUMN CONDITION: an awk condition on x holds for the value of both runs
each() {
    awk -F, -v name="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
        { x = $c; if (!('"$2"')) { print name, x, "is not '"$2"'"; bad = 1 } }
        END { exit bad || NR != 3 }' "$scratch/runs" || { cat "$scratch/out"; exit 1; }
}
for task in copy reverse sort recall majority parity dyck "induction --learned 0.98"; do
    runs $task --until 0.99
    each learned_at "x >= 0" # -1 has not learned
done
runs lottery --steps 300
each test_loss "x > 1.386" # log 4: nobody can do better on average
runs recall --layers 1 --steps 600 # about the most frequent of the values in the context
each score "x < 0.5"
runs copy --positions none --steps 600
each score "x < 0.5"
runs parity --steps 1500
each longer_score "x < 0.9"
each score "x > 0.99"

# ---- the same results for any number of jobs, and after an interruption ----

# results CSV: its lines without the seconds, sorted
results() {
    sed 's/,[^,]*$//' "$1" | sort
}
some="copy --sweep width=8,16 --sweep heads=1,2 --seeds 3 --steps 60"
"$toys" $some --jobs 1 --csv "$scratch/one" > "$scratch/table.1" 2> /dev/null
"$toys" $some --jobs 3 --csv "$scratch/three" 2> /dev/null | cmp - "$scratch/table.1"
results "$scratch/one" > "$scratch/results"
results "$scratch/three" | cmp - "$scratch/results"
check [ "$(wc -l < "$scratch/results")" -eq 13 ]
head -c 1500 "$scratch/one" > "$scratch/cut"
sed -n 2p "$scratch/one" >> "$scratch/one" # a run that is there twice counts once
for file in cut one; do
    "$toys" $some --csv "$scratch/$file" --resume 2> /dev/null | cmp - "$scratch/table.1"
done
results "$scratch/cut" | cmp - "$scratch/results"

"$toys" copy --seeds 1000 --csv "$scratch/many" > "$scratch/out" 2> "$scratch/err" &
running=$!
: >> "$scratch/many"
while [ "$(grep -c ^copy "$scratch/many" || true)" -lt 3 ]; do sleep 0.1; done
refuse "--csv: another process is writing $scratch/many" copy --seeds 1000 --csv "$scratch/many" --resume
kill -INT $running
wait $running
done=$(sed -n 's/.*interrupted after \([0-9]*\) of 1000 runs; --resume does the rest/\1/p' "$scratch/err")
check [ "$(wc -l < "$scratch/many")" -eq $((done + 1)) ]
refuse "line [0-9]* of $scratch/many is of other settings" copy --seeds 2 --csv "$scratch/many" --resume

# Runs that end before the list is looked at for the first time are shown, too.
for i in 1 2 3 4 5; do
    expect 0 "^run 8/8" "$toys" copy --seeds 8 --steps 1 --jobs 4
    check [ "$(grep -c '^run ' "$scratch/out")" -eq 8 ]
done

# ---- looking inside ----

"$toys" recall --steps 100 --attention --input "k3 v1 k3" --scores --ablate --attribution > "$scratch/out" 2> /dev/null
has "recall, layer 2" "$scratch/out"
has "^ *2  *2  *[0-9.]*  *[0-9.]*$" "$scratch/out"
has "^   none  *[0-9.]" "$scratch/out"
has "^layer 2 head 2  *[-0-9.]*$" "$scratch/out"

# Of a pair of sequences, the residual stream after the last layer restores everything at the last token, and nothing
# elsewhere. The positions of parity that it has not been trained on are guessed.
"$toys" recall --until 0.99 --patch --input "k3 v1 k0 v7 k3" --corrupted "k3 v9 k0 v7 k3" > "$scratch/out" 2> /dev/null
has "^ *2  *v1  *v9  *[0-9.]* %  *0.0 %$" "$scratch/out"
has "^ *5  *k3  *k3  *[-0-9.]* %  *100.0 %$" "$scratch/out"
"$toys" parity --until 0.99 --by-position > "$scratch/out" 2> /dev/null
awk '/^at length/ { longer = 1 } longer && $1 + 0 > 8 { sum += $3; n++ } END { exit !(n == 8 && sum / n < 0.6) }' \
    "$scratch/out" || { cat "$scratch/out"; exit 1; }
expect 0 "^ *11  *[0-9.]*  *[0-9.]*  *0.0000  *[45]\." "$toys" regression --steps 0 --warmup 0 --by-position
expect 0 "^[0-9]* of 6 frequencies have [0-9.]* %" "$toys" modadd --symbols 13 --steps 50 --spectrum

# ---- reports ----

"$toys" copy --seeds 2 --steps 20 --csv "$scratch/two" --report "$scratch/page.html" > /dev/null 2>&1
has '"state":"finished","step":2,"steps":2' "$scratch/page.html"
refuse "--report: $scratch/page.html exists; --force overwrites it" copy --steps 20 --report "$scratch/page.html"
refuse "--report: $scratch/one exists and is not a report" copy --force --report "$scratch/one"

# ---- the figures of docs/toys.md, in short: all is made, and made once ----

made=$scratch/made
for name in first again; do
    QUICK=1 sh examples/lab/toys/results.sh "$build" "$made" > "$scratch/out" 2> "$scratch/err" ||
        { cat "$scratch/err"; exit 1; }
    cat "$made"/*.csv "$made"/*.log > "$scratch/$name" # with the seconds that each run took
done
check cmp "$scratch/first" "$scratch/again"
check [ "$(find "$made" -name '*.txt' ! -name regression.txt | wc -l)" -eq "$(grep -c "^==" "$scratch/out")" ]
has "^ *12  *[0-9.]*  *0.000$" "$made/regression.txt"

# ---- wrong flags ----

expect 0 "default: 1500$" "$toys" copy --help # of the task
expect 0 "^regression" "$toys" list
misuse "no task"
misuse "no task is called 'cpoy'" cpoy
misuse "--width 32: not divisible by --heads 5" copy --heads 5
refuse "no flag is called widht" copy --sweep widht=3
refuse "--sweep: a value or a setting is given twice" copy --sweep width=8,16,8
refuse "--sweep: weight_decay is given twice" copy --sweep weight-decay=0,1 --sweep weight_decay=2
refuse "--width: '' is not a whole number" copy --sweep width=8,,16
misuse "--length 20: recall needs as many --symbols" recall --length 20
refuse "'width' is not NAME=VALUE" copy --sweep width
misuse "--resume: needs --csv" copy --resume
misuse "--scores: only for one run" copy --scores --seeds 2
refuse "--corrupted: 2 tokens, but --input has 3" recall --patch --input "k3 v1 k3" --corrupted "k3 v1"
refuse "--csv: cannot write /none/x" copy --csv /none/x --seeds 2
refuse "--input: recall has no token 'x'" recall --steps 0 --attention --input "k0 x"
sed '2s/,[^,]*$//' "$scratch/one" > "$scratch/damaged"
refuse "$scratch/damaged: line 2 is damaged" $some --csv "$scratch/damaged" --resume
expect 1 "--csv: cannot write $scratch/long: File too large" sh -c \
    'ulimit -f 2 && exec "$@"' - "$toys" copy --seeds 40 --steps 1 --csv "$scratch/long"
[ ! -e /dev/full ] || refuse "--csv: cannot write /dev/full: No space left" copy --seeds 2 --csv /dev/full

# Results that find no memory: one run, a table, and one after --resume with a page.
echo 'void *open_memstream(void) { return 0; }' | ${CC:-cc} -shared -fPIC -fno-builtin -x c - -o "$scratch/none.so"
for look in "" "--seeds 2" "--seeds 2 --csv $scratch/two --resume --report $scratch/page.html"; do
    expect 1 "toys: out of memory" env LD_PRELOAD="$scratch/none.so" "$toys" copy --steps 20 $look
done
echo "toys: passed"
