#!/usr/bin/env python3
"""The graders of examples/tasks are proven: wrong solutions fail with the sentence meant for them, right ones pass.

    tasks.py BUILD [NUMBER...]            the cases of tests/tasks/cases, the empty tasks, the model solutions
    tasks.py BUILD --mutants [NUMBER...]  and every mutant of the model solutions fails (equivalent.txt lists the others)

Each is written into a copy of the folder, and compiled and graded as a learner does it.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "mutate"))
import mutate  # noqa: E402
from cases import DONE, TASKS, apply, cases_of, solution_of, task_file  # noqa: E402

WORKERS = len(os.sched_getaffinity(0))
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "HINT", "SYMPTOMS")}


def file_of(number):
    return task_file("C", number).name


class Bench:
    """Copies of the folder, one for each worker, in which files are graded."""

    def __init__(self, build, scratch):
        self.free = queue.Queue()
        self.make = ["make", "-s", f"HEED={build}/libheed.a", f"INCLUDE={ROOT}/src"]
        for i in range(WORKERS):
            shutil.copytree(TASKS, scratch / str(i))
            self.free.put(scratch / str(i))

    def grade(self, number, source, sanitized=False, limit=(), **variables):
        """What the grader prints with these environment variables, with runs of spaces as one, and whether it succeeds.
        limit: words before the program."""
        folder = self.free.get()
        program = folder / ("sanitized" if sanitized else "plain") / f"task{number}"
        settings = {"cwd": folder, "env": {**ENVIRONMENT, **variables}, "stdin": subprocess.DEVNULL,
                    "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        try:
            (folder / file_of(number)).write_text(source)
            done = subprocess.run([*self.make, f"OUT={program.parent}", program, *([] if sanitized else ["SANITIZE="])],
                                  **settings)
            if done.returncode == 0:
                done = subprocess.run([*limit, program], **settings)
            return " ".join(done.stdout.decode(errors="replace").split()), done.returncode == 0
        finally:
            shutil.copy(TASKS / file_of(number), folder)
            self.free.put(folder)


def each(function, entries):
    """The results that are not None."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        return [result for result in pool.map(function, entries) if result is not None]


def counts(cases):
    kinds = collections.Counter(case.kind for case in cases)
    return f"{kinds['wrong']} + {kinds['right']}"


def check_cases(bench, number):
    """What is graded wrongly, with the grader's text."""
    solution = solution_of("C", number)
    given = (TASKS / file_of(number)).read_text()
    cases = cases_of(number, "C")
    todo = [("the task as it is given", given, "Nothing is written yet", False),
            ("the model solution", solution, DONE, False), ("the model solution", solution, DONE, True)]
    for case in cases:
        source = apply(case.changes["C"], "C", solution)
        todo += [(case, source, case.says["C"], False)] + [(case, source, case.sanitized, True)] * bool(case.sanitized)

    head = given.split("\n")[0]
    assert f"Task {number}: " in head and re.findall(r"make task(\d+)", head) == [str(number)], head

    def grade_one(entry):
        name, source, says, sanitized = entry
        text, passed = bench.grade(number, source, sanitized)
        if says not in text or passed != (says == DONE) or (DONE in text) != passed:
            return f"task {number}, {name}\n  should say: {says}\n  says:       {text}"

    faults = each(grade_one, todo)
    print(f"task {number}: {counts(cases)} wrong and right solutions, {len(faults)} graded wrongly", flush=True)
    row = f"| {counts(cases)} | {counts(cases_of(number, 'PyTorch'))} |".replace("| 0 + 0 |", "| |")
    if not re.search(rf"^\| {number} \|.*{re.escape(row)}$", (ROOT / "docs" / "tasks.md").read_text(), re.MULTILINE):
        faults.append(f"docs/tasks.md does not count: | {number} | ... {row}")
    return faults + symptoms_missing(number, given, bench.grade(number, given, SYMPTOMS="1")[0])


def symptoms_missing(number, given, text):
    """Symptoms of the classes of task 10 that its comments do not show."""
    comments = " ".join(re.sub(r"^ \*", "", given, flags=re.MULTILINE).split())
    shown = re.split(r"== \w+ ==", text.split("All five classes")[0])[1:]
    assert len(shown) == 5 * (number == 10), text
    return [f"task {number}: no comment shows this symptom\n  {part}" for part in shown if part.strip() not in comments]


def check_mutants(bench, scratch, number):
    file, text = scratch / file_of(number), solution_of("C", number)
    file.write_text(text)
    known = mutate.read_equivalent(HERE / "equivalent.txt")
    mutants = [m for m in mutate.mutants_of(str(file)) if (f"examples/tasks/{file.name}", m.before, m.after) not in known]

    def survivor(mutant):
        source = text[:mutant.start] + mutant.new + text[mutant.end:]
        if all(bench.grade(number, source, sanitized, ("prlimit", "--cpu=1"))[1] for sanitized in (False, True)):
            return f"task {number}, a mutant passes: {mutant}"

    survivors = each(survivor, mutants)
    print(f"task {number}: {len(mutants) - len(survivors)} of {len(mutants)} mutants of the model solution fail", flush=True)
    return survivors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_intermixed_args()
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build.resolve(), pathlib.Path(scratch))
        for number in args.numbers or range(1, 11):
            faults += check_cases(bench, number) + (check_mutants(bench, pathlib.Path(scratch), number) if args.mutants else [])
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
