#!/usr/bin/env python3
"""The graders of examples/pytorch/tasks are proven, as those in C are by tasks.py, and say the same as those:

    tasks_pytorch.py BUILD [NUMBER...]    with a Python that has torch; BUILD has the library

Cases are in tests/tasks/cases/task1_pytorch.txt etc.; they and the hints and questions are those of C (twins.py). Most are
graded as in a notebook; those that end or block the process, and the model solution, with the command.
"""
import argparse
import ast
import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import tasks
import twins
from twins import DONE

TASKS = tasks.ROOT / "examples" / "pytorch" / "tasks"
sys.path.insert(0, str(TASKS))
sys.dont_write_bytecode = True
from grade import grade  # noqa: E402

ENDS_PROCESS = re.compile("Your code still runs|Your code ends|It happens in")


class Case(twins.Case):
    """Bodies of functions, or of methods: Class.method."""

    def source_file(self, solution):
        for name, body in self.bodies.items():
            lines = solution.splitlines(keepends=True)
            nodes = ast.parse(solution).body
            for part in name.split("."):
                (node,) = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part]
                nodes = node.body
            indent = " " * nodes[0].col_offset
            lines[nodes[0].lineno - 1:nodes[-1].end_lineno] = [textwrap.indent(textwrap.dedent(body), indent)]
            solution = "".join(lines)
        return solution


def file_of(number):
    (path,) = TASKS.glob(f"task{number}_*.py")
    return path.name


def one_line(text):
    return " ".join(text.split())


def run_grade(sources, *arguments):
    """What `python grade.py` prints in a copy of the folder with these files, and whether it succeeds."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "pytorch"  # as in the kit
        shutil.copytree(TASKS, copy)
        shutil.copy(TASKS.parent / "attention_check.py", copy)
        for number, source in sources.items():
            (copy / file_of(number)).write_text(source)
        done = subprocess.run([sys.executable, "-B", copy / "grade.py", *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        return one_line(done.stdout.decode()), done.returncode == 0


def grade_by_command(number, source, *options):
    return run_grade({number: source}, str(number), *options)


def grade_in_notebook(number, source):
    module = {"__name__": "notebook"}
    exec(compile(source, f"<cell of task {number}>", "exec"), module)
    names = sys.modules.get(f"graders.task{number}") or __import__(f"graders.task{number}", fromlist=["NAMES"])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        passed = grade(number, *(module[name] for name in names.NAMES))
    return one_line(printed.getvalue()), passed


def check_cases(number):
    """What is graded wrongly, with the grader's text."""
    solution = (TASKS / "solutions" / file_of(number)).read_text()
    given = (TASKS / file_of(number)).read_text()
    cases = twins.cases_of(number, "_pytorch", Case)
    todo = [("the task as it is given", given, "Nothing is written yet", grade_by_command),
            ("the task as it is given, in a notebook", given, "Nothing is written yet", grade_in_notebook),
            ("the model solution", solution, DONE, grade_by_command),
            ("the model solution, in a notebook", solution, DONE, grade_in_notebook)]
    todo += [(f"{c.kind}: {c.name}", c.source_file(solution), c.says,
              grade_by_command if ENDS_PROCESS.match(c.says) else grade_in_notebook) for c in cases]
    faults = []
    for name, source, says, how in todo:
        text, passed = how(number, source)
        if one_line(says) not in text or passed != (says == DONE) or (DONE in text) != passed:
            faults.append(f"task {number} in PyTorch, {name}\n  should say: {says}\n  says:       {text}")
    kinds = [c.kind for c in cases]
    print(f"task {number} in PyTorch: {kinds.count('wrong')} wrong and {kinds.count('right')} right solutions, "
          f"{len(faults)} graded wrongly")
    return faults


def check_table(numbers):
    """What is done so far: all but the first."""
    text, passed = run_grade({n: (TASKS / "solutions" / file_of(n)).read_text() for n in numbers[1:]})
    if passed and text.count(" done") == len(numbers) - 1 and text.count(" not begun") == 1:
        return []
    return [f"the table of what is done: {text}"]


def check_symptoms(number):
    """The symptoms in a task's comments are those that its classes show."""
    given = (TASKS / file_of(number)).read_text()
    if "--symptoms" not in given:
        return []
    text, _ = grade_by_command(number, given, "--symptoms")
    shown = [part.strip() for part in re.split(r"== \w+ ==", text.split("All five classes")[0])[1:]]
    assert len(shown) == 5, text
    return [f"task {number} in PyTorch: no comment shows this symptom\n  {part}" for part in shown
            if part not in one_line(given)]


def check_same(bench, number):
    """Differences from hints and questions of the grader in C."""
    used = set()
    for case in twins.cases_of(number):
        twins.in_python(number, case.name + " " + case.says, used)

    def words(text):
        return re.sub(r"Done: \d+", "Done: n", text)

    solution = (tasks.TASKS / "solutions" / tasks.file_of(number)).read_text()
    of_c = words(twins.in_python(number, bench.grade(number, solution, HINT="2")[0], used))
    ours = words(grade_by_command(number, (TASKS / "solutions" / file_of(number)).read_text(), "--hint", "2")[0])
    faults = []
    if ours != of_c:
        faults.append(f"task {number}: other words\n  in C:       {of_c}\n  in PyTorch: {ours}")
    faults += [f"DIFFERENT[{number}] has words that C does not use: {c}" for c in twins.DIFFERENT.get(number, ())
               if (number, c) not in used]
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    numbers = args.numbers or sorted(int(p.name[4:].split("_")[0]) for p in TASKS.glob("task*_*.py"))
    faults = [fault for number in numbers for fault in twins.faults_of(number)]
    faults += [] if args.numbers else check_table(numbers)
    with tempfile.TemporaryDirectory() as scratch:
        bench = tasks.Bench(args.build.resolve(), pathlib.Path(scratch))
        for number in numbers:
            faults += check_cases(number) + check_symptoms(number) + check_same(bench, number)
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
