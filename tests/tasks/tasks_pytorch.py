#!/usr/bin/env python3
"""The graders of examples/pytorch/tasks are proven, as those in C are by tasks.py, and say the same as those:

    tasks_pytorch.py BUILD [NUMBER...]    with a Python that has torch; BUILD has the library

Cases are in tests/tasks/cases/task1_pytorch.txt etc. They have names and sentences of task1.txt, which has more, and
hints and questions are those of the graders in C, except for DIFFERENT, IN_C and IN_PYTHON. Most are graded as in a notebook;
those that end or block the process, and the model solution, with the command.
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

TASKS = tasks.ROOT / "examples" / "pytorch" / "tasks"
sys.path.insert(0, str(TASKS))
sys.dont_write_bytecode = True
from grade import grade  # noqa: E402

# What Python says in place of the words of C, by task; 0: in all tasks.
DIFFERENT = {
    0: {
        "Heed's own": "PyTorch's own",
        "w->grad": "w.grad",
        "Heed reports": "Python reports",
        "returns NULL": "returns None",
    },
    1: {
        "heed_softmax": "torch.softmax",
        "Element (r, c) is x[r * columns + c], so along a column the next number is `columns` further.":
            "x.amax(dim, keepdim=True) and sum(dim, keepdim=True) keep a dim of size 1, so that what they return broadcasts "
            "along x.",
    },
    2: {
        "in C, 1 / 2 is 0": "in Python, 1 // 2 is 0",
        "in your code: reshape": "in your code: RuntimeError: shape '[5, 7]' is invalid",
        "heed_size(q, -1) is d: an int64_t, so convert it before you take a root.": "q.size(-1) is d.",
    },
    3: {
        "Heed's causal mask": "PyTorch's causal mask",
        "heed_causal_block_mask": "generate_square_subsequent_mask of torch.nn.modules.transformer",
        "heed_where": "torch.where",
        "heed_triu": "torch.triu",
        "heed_masked_fill": "masked_fill",
        "the weight 0.25 to key 2": "the weight 0.3333 to key 2",  # the first case has three queries, not four
    },
    4: {
        "A layer that the struct alone knows": "A layer in a plain list or dict",
        "The constructor's gap is still empty": "A layer in a plain list or dict can be used",
        "Heed's own class": "PyTorch's own function",
        "heed_self_attention_new": "torch.nn.functional.scaled_dot_product_attention",
        "self_attention_forward still returns NULL": "forward still returns None",
        "HEED_CHILD registers a layer (examples/custom_module.c), and heed_linear_new_with has an option for bias=False.":
            "An attribute that is a layer is registered, and nn.Linear has an option bias=False.",
        "self->": "self.",
        "The class works without HEED_CHILD, too, if the struct's fields are set.":
            "The class works with its layers in a plain list, too.",
    },
    5: {
        "Heed's attention": "PyTorch's attention",
        "heed_scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention",
        "heed_cat": "torch.cat",
        "linear_forward: x (1, 2, 4, 3) must end in in_features, 6. Each": "Each",
    },
    8: {
        "heed_cross_entropy": "torch.nn.functional.cross_entropy",
        "heed_optimizer_step": "step of torch.optim.sgd",
        "heed_grad": "torch.autograd.grad",
        "which is NULL": "which is None",
        "as heed_sub does": "as w - lr * w.grad does",
        "m->weights[0]": "model.embedding",
        "were recorded in the graph": "The update would be recorded in the graph",  # an error in PyTorch
        "heed_gather(x, 1, heed_unsqueeze(targets, 1))": "x.gather(1, targets[:, None])",
        "heed_narrow cuts": "text[:, :-1] cuts",
        "heed_flatten": "flatten",
        "Within a HEED_SCOPE_NO_GRAD": "Within torch.no_grad()",
    },
    9: {
        "writer_forward": "forward",
        "heed_cat": "torch.cat",
    },
    10: {
        "heed_masked_fill": "masked_fill",
    },
}
# Cases of one language alone. Cases in C that AddressSanitizer explains are no cases in Python.
IN_C = {
    3: {"Heed's padding mask"},  # PyTorch has none
    9: {"the cache dies with the scope of its step"},
}
IN_PYTHON = {
    1: {"PyTorch's own module", "sys.exit", "an exception", "a list"},
    8: {"no return", "the loss as a tensor"},
}
ENDS_PROCESS = re.compile("Your code still runs|Your code ends|It happens in")


class Case(tasks.Case):
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
    cases = tasks.cases_of(number, "_pytorch", Case)
    todo = [("the task as it is given", given, "Nothing is written yet", grade_by_command),
            ("the task as it is given, in a notebook", given, "Nothing is written yet", grade_in_notebook),
            ("the model solution", solution, tasks.DONE, grade_by_command),
            ("the model solution, in a notebook", solution, tasks.DONE, grade_in_notebook)]
    todo += [(f"{c.kind}: {c.name}", c.source_file(solution), c.says,
              grade_by_command if ENDS_PROCESS.match(c.says) else grade_in_notebook) for c in cases]
    faults = []
    for name, source, says, how in todo:
        text, passed = how(number, source)
        if one_line(says) not in text or passed != (says == tasks.DONE) or (tasks.DONE in text) != passed:
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
    """Differences from the grader in C, its cases, hints and questions."""
    used = set()

    def in_python(text):
        text = one_line(text)
        for task in (number, 0):  # first the task's own
            for c, python in DIFFERENT.get(task, {}).items():
                if c in text:
                    used.add((task, c))
                text = text.replace(c, python)
        return text

    in_c = [(in_python(f"{c.kind}: {c.name}"), in_python(c.says)) for c in tasks.cases_of(number)
            if not c.sanitized and c.name not in IN_C.get(number, ())]
    here = [(f"{c.kind}: {c.name}", one_line(c.says)) for c in tasks.cases_of(number, "_pytorch", Case)
            if c.name not in IN_PYTHON.get(number, ())]
    # C has more cases: what a learner of C got wrong on purpose. Those of the same name say the same in both.
    names = {name for name, _ in here}
    faults = [f"task {number}: only in {where}: {case}" for where, cases, others in
              (("C", [case for case in in_c if case[0] in names], here), ("PyTorch", here, in_c))
              for case in cases if case not in others]
    print(f"task {number}: {len([case for case in in_c if case[0] not in names])} further cases in C")

    def words(text):
        return re.sub(r"Done: \d+", "Done: n", text)

    of_c = words(in_python(bench.grade(number, (tasks.TASKS / "solutions" / tasks.file_of(number)).read_text(), HINT="2")[0]))
    ours = words(grade_by_command(number, (TASKS / "solutions" / file_of(number)).read_text(), "--hint", "2")[0])
    if ours != of_c:
        faults.append(f"task {number}: other words\n  in C:       {of_c}\n  in PyTorch: {ours}")
    faults += [f"DIFFERENT[{number}] has words that C does not use: {c}" for c in DIFFERENT.get(number, ())
               if (number, c) not in used]
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    numbers = args.numbers or sorted(int(p.name[4:].split("_")[0]) for p in TASKS.glob("task*_*.py"))
    faults = [] if args.numbers else check_table(numbers)
    with tempfile.TemporaryDirectory() as scratch:
        bench = tasks.Bench(args.build.resolve(), pathlib.Path(scratch))
        for number in numbers:
            faults += check_cases(number) + check_symptoms(number) + check_same(bench, number)
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
