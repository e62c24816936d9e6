#!/usr/bin/env python3
"""The graders of examples/pytorch/tasks in a real notebook: right and wrong classes, an exception, an endless loop; what goes
wrong is a sentence, and the cells after it run. With a Python that has torch, nbclient and ipykernel."""
import os
import pathlib
import re
import sys
import tempfile

import nbclient
import nbformat

from cases import solution_of

TASKS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "pytorch" / "tasks"
SOLUTION = solution_of("PyTorch", 4).replace("SelfAttention", "MySelfAttention")
SCALE = " / k.size(self.col_dim) ** 0.5"
GRADE = "\ngrade(4, MySelfAttention)"
assert SCALE in SOLUTION


def softmax(line):
    return f"def softmax(x, dim):\n    {line}\n\ngrade(1, softmax)"


# Cells, and what they print; an expression
CELLS = (
    ("from grade import grade", "^$"),
    (SOLUTION + GRADE, r"Done: \d+ cases are right"),
    (SOLUTION.replace(SCALE, "") + GRADE, r"Your scores are not scaled(.|\n)*grade.4, MySelfAttention, hint=1"),
    (SOLUTION.replace("return torch", "torch") + GRADE, "forward returns None. Does a return lack?"),
    ("grade(4, MySelfAttention(4, 0, 1))", "Give the class itself, not an object of it"),
    ("grade(4, softmax)", "NameError"),
    (softmax("return x.softmaks(dim)"), "AttributeError: .*\n  It happens in line 2: return x.softmaks"),
    (softmax("return softmax(x, dim)"), "RecursionError: .*\n  It happens in line 2"),
    (softmax("import sys; sys.exit()"), "Your code ends the program before the cases are through"),
    ("import grade as grader, time\ngrader.SECONDS, grader.MOST = 1, 60\n" + softmax("while True: pass"),
     "Your code still runs after 10 seconds"),
    ("grader.SECONDS, grader.MOST = 10, 2\n" + softmax("time.sleep(1000)"), "Your code still runs after 10 seconds"),
    ("grader.MOST = 60", "^$"),
    ("grade(1, torch.softmax)", "softmax is PyTorch's own"),
    ("grade(1, torch.ones(1, 2))", "softmax should be a function; what you give is a tensor"),
    ("grade(5, softmax)", "Task 5 asks for 2: grade.5, cross_entropy, training_step"),
    ("grade(softmax)", "The number of the task comes first"),
    ("def causal_weights(x): pass\n\ndef padded_weights(x, n): pass\n\ngrade(3, padded_weights, causal_weights)",
     "Task 3 asks for another order: grade.3, causal_weights, padded_weights"),
    ("grade(6, softmax)", "There is no task 6 in PyTorch"),
    ("grade(1)", r"This grades task1_softmax.py(.|\n)*Nothing is written yet"),
    (softmax("e = torch.exp(x - x.amax(dim, keepdim=True)); return e / e.sum(dim, keepdim=True)"),
     r"Done: \d+ cases are right"),
    (SOLUTION.replace("    def forward", "    def froward") + GRADE, "The class has no forward"),
)


def printed(cell):
    texts = [o.text if o.output_type == "stream" else "\n".join(o.traceback) if o.output_type == "error" else "" for o in cell.outputs]
    return re.sub("\x1b\\[[0-9;]*m", "", "".join(texts))


def main():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code, _ in CELLS])
    with tempfile.TemporaryDirectory() as scratch:
        client = nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3", allow_errors=True,
                                         resources={"metadata": {"path": str(TASKS)}})
        client.execute(env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "IPYTHONDIR": scratch})
    faults = []
    for cell, (code, says) in zip(notebook.cells, CELLS):
        if not re.search(says, printed(cell)):
            faults.append(f"the cell\n{code}\n  should print: {says}\n  prints:       {printed(cell)}")
    print(f"notebook: {len(CELLS)} cells, {len(faults)} print something else")
    sys.exit("\n\n".join(faults) or 0)


if __name__ == "__main__":
    main()
