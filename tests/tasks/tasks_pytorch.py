#!/usr/bin/env python3
"""The graders of examples/pytorch/tasks are proven, as those in C are by tasks.py, and say the same as those:

    tasks_pytorch.py [NUMBER...]    with a Python that has torch

Most cases are graded as in a notebook, in forks of this process; those that end or block the process, with the command
(kit.sh grades all tasks and solutions with it).
"""
import argparse
import contextlib
import importlib
import io
import multiprocessing
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tasks
from cases import DONE, apply, cases_of, solution_of, task_file

TASKS = tasks.ROOT / "examples" / "pytorch" / "tasks"
sys.path.insert(0, str(TASKS))
sys.dont_write_bytecode = True
from grade import grade  # noqa: E402

NUMBERS = sorted(int(path.name[4:].split("_")[0]) for path in TASKS.glob("task*_*.py"))
ENDS_PROCESS = re.compile("Your code still runs|Your code ends|It happens in")


def file_of(number):
    return task_file("PyTorch", number).name


def one_line(text):
    return " ".join(text.split())


def run_grade(number, source, *arguments):
    """What `python grade.py NUMBER` prints in a copy of the folder with this file, and whether it succeeds."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "pytorch"  # as in the kit
        shutil.copytree(TASKS, copy)
        shutil.copy(TASKS.parent / "attention_check.py", copy)
        shutil.copytree(tasks.TASKS / "grade", copy.parent / "grade")
        (copy / file_of(number)).write_text(source)
        (copy / "grade.py").write_text((TASKS / "grade.py").read_text().replace("SECONDS = 10", "SECONDS = 3"))  # as in C
        done = subprocess.run([sys.executable, "-B", copy / "grade.py", str(number), *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        return one_line(done.stdout.decode()), done.returncode == 0


def grade_in_notebook(number, source):
    module = {"__name__": "notebook"}
    exec(compile(source, f"<cell of task {number}>", "exec"), module)
    names = importlib.import_module(f"graders.task{number}").NAMES
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        passed = grade(number, *(module[name] for name in names))
    return one_line(printed.getvalue()), passed


def grade_one(entry):
    number, name, source, says, by_command = entry
    text, passed = run_grade(number, source) if by_command else grade_in_notebook(number, source)
    if one_line(says) not in text or passed != (says == DONE) or (DONE in text) != passed:
        return f"task {number} in PyTorch, {name}\n  should say: {says}\n  says:       {text}"


def check_cases(pool, number):
    """What is graded wrongly, with the grader's text."""
    solution = solution_of("PyTorch", number)
    given = (TASKS / file_of(number)).read_text()
    head = given.split("\n")[0]
    assert f"Task {number}: " in head and set(re.findall(r"grade.py (\d+)", head)) == {str(number)}, head
    cases = cases_of(number, "PyTorch")
    todo = [(number, "the task as it is given", given, "Nothing is written yet", False),
            (number, "the model solution", solution, DONE, False)]
    todo += [(number, str(case), apply(case.changes["PyTorch"], "PyTorch", solution), case.says["PyTorch"],
              bool(ENDS_PROCESS.match(case.says["PyTorch"]))) for case in cases]
    faults = [fault for fault in pool.imap(grade_one, todo) if fault]
    print(f"task {number} in PyTorch: {tasks.counts(cases)} wrong and right solutions, {len(faults)} graded wrongly", flush=True)
    return faults


def check_symptoms(number=10):
    given = (TASKS / file_of(number)).read_text()
    return tasks.symptoms_missing(number, given, run_grade(number, given, "--symptoms")[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    for number in NUMBERS:  # and torch, before the forks
        importlib.import_module(f"graders.task{number}")
    faults = [] if args.numbers else check_symptoms()
    with multiprocessing.get_context("fork").Pool(tasks.WORKERS) as pool:
        for number in args.numbers or NUMBERS:
            faults += check_cases(pool, number)
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
