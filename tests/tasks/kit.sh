#!/bin/sh
# The kit for a class: unpacked into an empty folder, it grades tasks and model solutions with clang:
# tests/tasks/kit.sh BUILD; or those in PyTorch with a Python that has it: tests/tasks/kit.sh BUILD PYTHON. It must stay below
# a megabyte and need nothing but a compiler and make, or Python and torch.
set -eu
cd "$(dirname "$0")/../.."
build=$1 python=${2:-} root=$PWD
. tests/common/expect.sh
unset MAKEFLAGS MAKELEVEL WERROR

make -s BUILD="$build" task-kit
kit=$build/release/heed-tasks.tar.gz
bytes=$(wc -c < "$kit")
check [ "$bytes" -lt 1000000 ]

if [ -n "$python" ]; then
    case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
    tasks=$(ls examples/pytorch/tasks/task*_*.py | wc -l)
    tar -C "$scratch" -xzf "$kit"
    cd "$scratch/heed-tasks/pytorch"
    expect 1 "Nothing is written yet" "$python" -B grade.py 1 --hint 2
    has "Hint 2: With m the largest score" "$scratch/out"
    python3 -B "$root/tests/tasks/cases.py" PyTorch .
    expect 0 "" "$python" -B grade.py
    check [ "$(grep -c '  done$' "$scratch/out")" -eq "$tasks" ]
    expect 0 "" "$python" -B lesson6.py
    expect 0 "" "$python" -B lesson7.py
    echo "kit: $tasks tasks in PyTorch, $bytes bytes"
    exit
fi

cp "$kit" "$scratch/first.tar.gz"
touch "$build/amalgamation/heed.c" examples/tasks/README.md
make -s BUILD="$build" task-kit
check cmp "$kit" "$scratch/first.tar.gz"

tasks=$(ls examples/tasks/task*_*.c | wc -l)
tar -C "$scratch" -xzf "$kit"
cd "$scratch/heed-tasks"
# tests/tasks/tasks.py grades with gcc
expect 0 "Nothing is written yet" make CC=clang task1
expect 0 "" make -s CC=clang tasks
check [ "$(grep -c 'not begun$' "$scratch/out")" -eq "$tasks" ]
printf 'broken\n' >> task2_scores.c
sed 's|    /\* your code \*/|    if (dim == 0) y[0] = x[0] / (rows + columns);|' \
    "$root/examples/tasks/task1_softmax.c" > task1_softmax.c
expect 0 "" make -s CC=clang tasks
check [ "$(grep -c 'not begun$' "$scratch/out")" -eq $((tasks - 2)) ]
has "1  softmax along a dim *not yet right" "$scratch/out"
has "2  task2_scores.c *does not compile" "$scratch/out"
expect 2 "Your code does not compile: task2_scores.c, line" make CC=clang task2
python3 -B "$root/tests/tasks/cases.py" C .
expect 0 "" make -s CC=clang tasks
check [ "$(grep -c '  done$' "$scratch/out")" -eq "$tasks" ]
has "softmax along a dim" "$scratch/out"
expect 0 "Hint 2: With m the largest score" make -s CC=clang task1 HINT=2
echo "kit: $tasks tasks, $bytes bytes"
