#!/bin/sh
# Tests the Makefile: the user's flags reach every command, jobs run in parallel, a missing Check is
# named, and nothing is written outside build/.
set -eu
cd "$(dirname "$0")/../.."
. tests/common/expect.sh
unset MAKEFLAGS WERROR
mkdir "$scratch/bin"

# stand_in PROGRAM: replaces a program in commands that begin with $stubbed; its text is on stdin
stand_in() {
    { echo '#!/bin/sh' && cat; } > "$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
stubbed="env PATH=$scratch/bin:$PATH"

# ---- flags ----

# commands ARGUMENT...: writes all compiler and linker commands to $scratch/commands, one per line
commands() {
    make -n V=1 BUILD="$scratch/none" CC=acc MPICC=ampi "$@" all \
        "$scratch/none/bench_heed" "$scratch/none/test_heed" "$scratch/none/toys_mpi" "$scratch/none/fuzz_tokenizer" 2> /dev/null |
        sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' | grep -E '^(acc|ampi) ' > "$scratch/commands"
    check [ "$(wc -l < "$scratch/commands")" -gt 200 ]
}
commands CPPFLAGS=-Dheed_cpp CFLAGS=-Dheed_c LDFLAGS=-Lheed_ld LDLIBS=-lheed_libs
lacks Werror "$scratch/commands"
while read -r command; do
    wanted="-Dheed_cpp -Dheed_c"
    case $command in
    *" -c "*) ;;
    *) wanted="$wanted -Lheed_ld -lheed_libs" ;;
    esac
    for flag in $wanted; do
        case $command in *" $flag"*) ;; *) echo "no $flag in: $command"; exit 1 ;; esac
    done
done < "$scratch/commands"
commands WERROR=-Werror
check [ "$(grep -c -e -Werror "$scratch/commands")" -eq "$(wc -l < "$scratch/commands")" ]

# gcc 12 with --coverage must not warn, though it suspects a truncation that cannot happen.
check make BUILD="$scratch/cov" OPTIMISE=-O1 EXTRA=--coverage "$scratch/cov/tests/programs/next_token.o" \
    > "$scratch/out" 2>&1

# ---- jobs and their output ----

# A slow compiler that records when it begins and ends.
stand_in slow << 'END'
case " $* " in *" -c "*) ;; *) exec cc "$@" ;; esac
while [ "$1" != -o ]; do shift; done
echo begin >> "$NOTES"
sleep 0.4
echo end >> "$NOTES"
: > "$2"
END
NOTES=$scratch/notes
export NOTES
set -- src/autograd/*.c
three="$scratch/j/${1%.c}.o $scratch/j/${2%.c}.o $scratch/j/${3%.c}.o"

# most_at_once COMMAND...: compiles three files; $most is how many compilations ran at the same time
most_at_once() {
    rm -rf "$scratch/j" "$NOTES"
    # shellcheck disable=SC2086
    "$@" BUILD="$scratch/j" CC="$scratch/bin/slow" $three > "$scratch/out" 2>&1 || { cat "$scratch/out"; exit 1; }
    lacks warning "$scratch/out"
    most=$(awk '/begin/ { if (++n > most) most = n } /end/ { n-- } END { print most + 0 }' "$NOTES")
}
cores=$(getconf _NPROCESSORS_ONLN)
most_at_once make
printf 'cc %s\n' "$1" "$2" "$3" > "$scratch/lines"
check cmp "$scratch/lines" "$scratch/out"
check [ "$most" -eq "$((cores < 3 ? cores : 3))" ]
most_at_once make -j1
check [ "$most" -eq 1 ]
most_at_once make -j3
check [ "$most" -eq 3 ]
most_at_once env MAKEFLAGS=-j1 make
check [ "$most" -eq 1 ]
# shellcheck disable=SC2016
printf 'all:\n\t@$(MAKE) --no-print-directory -f Makefile $(ARGUMENTS)\n' > "$scratch/outer"
most_at_once sh -c 'exec make -j2 -f "$0" ARGUMENTS="$*"' "$scratch/outer"
check [ "$most" -eq 2 ]
check cmp "$scratch/lines" "$scratch/out"
rm "$scratch/j/${2%.c}.o"
# shellcheck disable=SC2086
make BUILD="$scratch/j" CC="$scratch/bin/slow" $three > "$scratch/out"
echo "cc $2" > "$scratch/lines"
check cmp "$scratch/lines" "$scratch/out"
make BUILD="$scratch/j" CC="$scratch/bin/slow" V=1 -B "$scratch/j/${1%.c}.o" CPPFLAGS=-DHEED_X > "$scratch/out"
has "^$scratch/bin/slow .* -DHEED_X .* -c $1 -o" "$scratch/out"
lacks '^cc ' "$scratch/out"

# ---- a first screen without 171 lines; wrong goals and folders ----

# A compiler whose programs only say that they run
stand_in quick << 'END'
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho It runs.\n' > "$2" && chmod +x "$2"
END
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
    script -qec "make BUILD=$scratch/demo CC=$scratch/bin/quick demo" /dev/null > "$scratch/terminal" < /dev/null
    has "link .*$(printf '\r\033\[K')It runs" "$scratch/terminal"
    check [ "$(wc -l < "$scratch/terminal")" -eq 1 ]
else
    skip "script is not installed, or this machine has no pseudo-terminals; mount /dev/pts"
fi
expect 2 "there is no tset; make help lists" make tset
expect 2 "make BUILD=FOLDER builds in another folder" make BUILD=/dev/null/heed "/dev/null/heed/${1%.c}.o"
for folder in src build/../src "$scratch"; do
    expect 2 "remove $folder yourself" make BUILD="$folder" clean
done
check [ -e src/heed.h ]
mkdir -p build/variant/gone
expect 0 "rm -rf build/variant" make V=1 BUILD=build/variant clean
check [ ! -e build/variant ]

# ---- missing packages ----

stand_in id << 'END'
echo 1000
END
stand_in pkg-config << 'END'
exit 1
END
stand_in apt-get << 'END'
echo "a user may not install" >&2
exit 1
END
for goal in test test-isas "$scratch/none/test_heed"; do
    expect 2 "Run: make deps test" $stubbed make BUILD="$scratch/none" "$goal"
    lacks '^cc ' "$scratch/out"
done
expect 2 "Only root can install packages; run this" $stubbed make BUILD="$scratch/none" deps
has "^    sudo sh -c 'apt-get update .* && .*apt-get install .* check'$" "$scratch/out"
lacks "may not install" "$scratch/out"
check [ ! -e "$scratch/none" ]

# ---- files that are written ----

if git status > /dev/null 2>&1; then
    git status --porcelain --ignored > "$scratch/before"
    make demo lessons > /dev/null
    git status --porcelain --ignored > "$scratch/after"
    check cmp "$scratch/before" "$scratch/after"
fi
for page in README.md CONTRIBUTING.md bench/README.md docs/*.md examples/*.md examples/*/*.md; do
    grep -oE '^ *(build/|python |torchrun |cat |paste |-).*' "$page" |
        grep -oE -e '(--(save|plot|log|logits|to|best) |> *)[A-Za-z/_]+\.[a-z]+' |
        grep -v ' build/' > "$scratch/out" || continue
    echo "$page: writes outside build/: $(cat "$scratch/out")"
    exit 1
done
for script in tests/*.sh tests/*/*.sh; do
    check sh -n "$script"
done
check bash -n .ci/run

# .ci/run runs each step of checks.mk, and these scripts.
grep -oE '^check-[a-z_-]+' tests/checks.mk | grep -v -- '-long$' | sort -u > "$scratch/steps"
check [ "$(wc -l < "$scratch/steps")" -ge 10 ]
while read -r step; do
    check grep -qE "(^|[ \"])$step([ \"]|\$)" .ci/run
done < "$scratch/steps"
echo "build: passed"
