#!/usr/bin/env python3
"""The graders of examples/tasks are proven: wrong solutions fail with the sentence meant for them, right ones pass.

    tasks.py BUILD [NUMBER...]            the cases of tests/tasks/cases, the empty tasks, the model solutions; and each case
                                          has a twin in PyTorch, or says why not
    tasks.py BUILD --mutants [NUMBER...]  and every mutant of the model solutions fails (equivalent.txt lists the others)
    tasks.py --write                      write the table of docs/tasks.md

A case is the model solution with the bodies of some functions replaced. Each is written into a copy of the folder
and compiled and graded as a learner does it.
"""
import argparse
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
TASKS = ROOT / "examples" / "tasks"
DOCS = ROOT / "docs" / "tasks.md"
sys.path.insert(0, str(HERE.parent / "mutate"))
import mutate  # noqa: E402
import twins  # noqa: E402
from twins import DONE  # noqa: E402

WORKERS = len(os.sched_getaffinity(0))
GIVEN = {10: "All five classes compute what they did before."}  # what the grader says of the task as it is given
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "HINT", "SYMPTOMS")}


class Case(twins.Case):
    """Bodies of functions."""

    def source_file(self, solution):
        for function, body in self.bodies.items():
            pattern = re.compile(rf"(^[\w ]+\**\b{function}\([^;{{}}]*\)\n\{{\n).*?(?=^\}})", re.DOTALL | re.MULTILINE)
            solution, count = pattern.subn(lambda m: m.group(1) + body, solution)
            assert count == 1, f"{function}: {count} functions of this name in the solution"
        return solution


def file_of(number):
    (path,) = TASKS.glob(f"task{number}_*.c")
    return path.name


class Bench:
    """Copies of the folder, one for each worker, in which files are graded."""

    def __init__(self, build, scratch):
        self.free = queue.Queue()
        self.make = ["make", "-s", f"HEED={build}/libheed.a", f"INCLUDE={ROOT}/src"]
        for i in range(WORKERS):
            folder = scratch / str(i)
            shutil.copytree(TASKS, folder)
            self.free.put(folder)

    def grade(self, number, source, seconds=60, sanitized=False, **variables):
        """What the grader prints with these environment variables, with runs of spaces as one; "" if it takes too long. And
        whether it succeeds."""
        folder = self.free.get()
        out = "sanitized" if sanitized else "plain"
        program = folder / out / f"task{number}"
        make = [*self.make, f"OUT={folder / out}", f"{program}", *([] if sanitized else ["SANITIZE="])]
        settings = {"cwd": folder, "env": {**ENVIRONMENT, **variables}, "stdin": subprocess.DEVNULL,
                    "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        try:
            (folder / file_of(number)).write_text(source)
            made = subprocess.run(make, **settings)
            if made.returncode != 0:
                return " ".join(made.stdout.decode().split()), False
            done = subprocess.run([program], **settings, timeout=seconds)
            return " ".join(done.stdout.decode(errors="replace").split()), done.returncode == 0
        except subprocess.TimeoutExpired:
            return "", False
        finally:
            shutil.copy(TASKS / file_of(number), folder)
            self.free.put(folder)


def check_cases(bench, number):
    """Names of what is graded wrongly, with the grader's text."""
    solution = (TASKS / "solutions" / file_of(number)).read_text()
    cases = twins.cases_of(number, kind=Case)
    kinds = [c.kind for c in cases]
    given = (TASKS / file_of(number)).read_text()
    todo = [("the task as it is given", given, GIVEN.get(number, "Nothing is written yet"), False)]
    todo += [("the model solution", solution, DONE, sanitized) for sanitized in (False, True)]
    todo += [(f"{c.kind}: {c.name}", c.source_file(solution), c.says, False) for c in cases]
    todo += [(f"{c.kind}: {c.name}", c.source_file(solution), c.sanitized, True) for c in cases if c.sanitized]

    def bad(entry):
        name, source, says, sanitized = entry
        text, passed = bench.grade(number, source, sanitized=sanitized)
        if says in text and passed == (says == DONE) and (DONE in text) == passed:
            return None
        return f"task {number}, {name}\n  should say: {says}\n  says:       {text}"

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        faults = [fault for fault in pool.map(bad, todo) if fault]
    print(f"task {number}: {kinds.count('wrong')} wrong and {kinds.count('right')} right solutions, "
          f"{len(faults)} graded wrongly")
    return faults


def check_symptoms(bench, number):
    """The symptoms in a task's comments are those that its classes show."""
    given = (TASKS / file_of(number)).read_text()
    if "SYMPTOMS=1" not in given:
        return []
    text, _ = bench.grade(number, given, SYMPTOMS="1")
    comments = " ".join(re.sub(r"^ \*", "", given, flags=re.MULTILINE).split())
    shown = [part.strip() for part in re.split(r"== \w+ ==", text.split("All five classes")[0])[1:]]
    assert len(shown) == 5, text
    return [f"task {number}: no comment shows this symptom\n  {part}" for part in shown if part not in comments]


def check_mutants(bench, number):
    file = f"examples/tasks/solutions/{file_of(number)}"
    known = mutate.read_equivalent(HERE / "equivalent.txt")
    text = (ROOT / file).read_text()
    mutants = [m for m in mutate.mutants_of(file) if (m.file, m.before, m.after) not in known
               and (m.file, m.before, "*") not in known]

    def survives(mutant):
        source = text[:mutant.start] + mutant.new + text[mutant.end:]
        return all(bench.grade(number, source, seconds=5, sanitized=sanitized)[1] for sanitized in (False, True))

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        survivors = [m for m, lives in zip(mutants, pool.map(survives, mutants)) if lives]
    print(f"task {number}: {len(mutants) - len(survivors)} of {len(mutants)} mutants of the model solution fail")
    return [f"task {number}, a mutant passes: {m}" for m in survivors]


def page(numbers):
    """docs/tasks.md with the table of all cases at its end."""
    rows = ["| task | solution | in | the grader says | known from |", "|---|---|---|---|---|"]
    for number in numbers:
        for c, python in twins.twins_of(number):
            case = c or python
            says = case.says if case.kind == "wrong" else "*right*"
            where = twins.languages(number, c, python)
            rows.append(f"| {number} | {case.name} | {where} | {says} | {case.source} |".replace("|  |", "| |"))
    text = DOCS.read_text()
    return text[:text.index("| task | solution |")] + "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_intermixed_args()
    every = sorted(int(re.match(r"task(\d+)_", p.name).group(1)) for p in TASKS.glob("task*_*.c"))
    if args.write:
        DOCS.write_text(page(every))
        return
    numbers = args.numbers or every
    faults = [] if page(every) == DOCS.read_text() else ["docs/tasks.md is stale; run: python3 tests/tasks/tasks.py --write"]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build.resolve(), pathlib.Path(scratch))
        for number in numbers:
            faults += twins.faults_of(number) + check_cases(bench, number)
            faults += check_symptoms(bench, number)
            faults += check_mutants(bench, number) if args.mutants else []
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
