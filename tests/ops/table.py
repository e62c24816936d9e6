"""Reads the table of operations (operations.def) through the C preprocessor.

    rows()     the cases: Row(kind, subject, operation, form, derivative, accuracy, heed, torch, inputs)
    extremes() (operation, form)
    draws()    (function, torch, drawers): drawers is the text of keyword arguments

The texts `inputs` and `drawers` are Python expressions; fixtures/inputs.py and differential/drawers.py have
what they name.
"""
import collections
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

Row = collections.namedtuple("Row", "kind subject operation form derivative accuracy heed torch inputs")

# Each row becomes a line @function(...), in which only the last argument is not a string.
MACROS = r"""
#define TEXT(...) #__VA_ARGS__
#define ROW(operation, form, derivative, accuracy, expression, torch, ...) \
    @row("ROW", SUBJECT, #operation, #form, #derivative, #accuracy, #expression, torch, TEXT(__VA_ARGS__))
#define GRADIENT(operation, form, derivative, expression, ...) \
    @row("GRADIENT", SUBJECT, #operation, #form, #derivative, "", #expression, "", TEXT(__VA_ARGS__))
#define PARITY(operation, form, accuracy, expression, torch, ...) \
    @row("PARITY", SUBJECT, #operation, #form, "", #accuracy, #expression, torch, TEXT(__VA_ARGS__))
#define EXTREME(operation, form, where) @extreme(#operation, #form)
#define DRAW(function, torch, ...) @draw(#function, torch, TEXT(__VA_ARGS__))
#include "tests/ops/operations.def"
"""


def read():
    found = {"row": [], "extreme": [], "draw": []}
    text = subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-E", "-P", f"-I{ROOT}", f"-I{ROOT}/src",
                           "-x", "c", "-"], input=MACROS, check=True, stdout=subprocess.PIPE, text=True).stdout
    calls = {"row": lambda *fields: found["row"].append(Row(*fields)),
             "extreme": lambda *fields: found["extreme"].append(fields),
             "draw": lambda *fields: found["draw"].append(fields)}
    for call in re.split(r"@(?=(?:row|extreme|draw)\()", text)[1:]:
        eval(call.strip(), {**calls, "__builtins__": {}})
    return found


TABLE = read()


def rows():
    return TABLE["row"]


def extremes():
    return TABLE["extreme"]


def draws():
    return TABLE["draw"]
