"""The lessons in Python (examples/pytorch/lesson*.py) print the numbers of the lessons in C.

    lesson_twins.py BUILD       with a Python that has numpy
"""
import re
import subprocess
import sys

build = sys.argv[1]


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def gradients(text):
    """The rows of numbers left of the bar."""
    return re.findall(r"^  \S* +((?:-?\d+\.\d{4} *)+)\|", text, re.MULTILINE)


def twin(number):
    return printed(sys.executable, "-B", f"examples/pytorch/lesson{number}.py")


six, of_c = twin(6), printed(f"{build}/lesson6_autograd")
if gradients(six) != gradients(of_c) or len(gradients(six)) != 12:
    sys.exit(f"lesson6.py has other gradients than lesson6_autograd:\n{six}")
seven, of_c = twin(7), printed(f"{build}/lesson7_from_scratch")
if seven != of_c:
    sys.exit(f"lesson7.py prints something else than lesson7_from_scratch:\n{seven}")
print("lessons 6 and 7 in Python: the same numbers as in C")
