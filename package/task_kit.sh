#!/bin/sh
# Writes BUILD/release/heed-tasks.tar.gz, the tasks for a class: package/task_kit.sh BUILD, as run by `make task-kit`,
# which has built the amalgamation. Its README says what it needs. The model solutions stay in the repository.
set -eu
build=$1
kit=$build/heed-tasks
rm -rf "$kit"
mkdir -p "$kit/pytorch" "$kit/docs" "$kit/examples" "$build/release"
cp -R examples/tasks/Makefile examples/tasks/README.md examples/tasks/task*.c examples/tasks/grade LICENSE \
    "$build/amalgamation/heed.h" "$build/amalgamation/heed.c" "$kit"
cp docs/questions.md docs/attention.md "$kit/docs"
cp examples/lesson*.c examples/custom_*.c "$kit/examples"
cp -R examples/pytorch/tasks/*.py examples/pytorch/tasks/graders examples/pytorch/attention_check.py \
    examples/pytorch/lesson6.py examples/pytorch/lesson7.py "$kit/pytorch"
rm -rf "$kit/pytorch/graders/__pycache__"
# The same files give the same bytes.
tar -C "$build" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - heed-tasks |
    gzip -9n > "$build/release/heed-tasks.tar.gz"
echo "$build/release/heed-tasks.tar.gz is written"
