#!/usr/bin/env python3
"""Adds a row to the tables of docs/pytorch.md for each operation that they do not list yet (`make names`).

Rows are written by hand, or edited after they were added: a name that some row lists is left alone.

    names.py [--check]    --check writes nothing, and fails if an operation is missing; CC is the compiler
"""
import difflib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/ops"))
import table  # noqa: E402
CC = shlex.split(os.environ.get("CC", "cc"))


def run(*command, **options):
    return subprocess.run(command, check=True, cwd=ROOT, text=True, **options)


def public_header():
    """heed.h, preprocessed, without the system's headers."""
    text, own = "", False
    for line in run(*CC, "-E", "-Isrc", "src/heed.h", stdout=subprocess.PIPE).stdout.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            own = marker[1].startswith("src/")
        elif own:
            text += line + "\n"
    return text


def declared_functions(text):
    """The names of the functions that a preprocessed header declares, without the static ones that it defines."""
    while "{" in text:
        text = re.sub(r"\{[^{}]*\}", ";", text)
    for declaration in text.split(";"):
        name = re.search(r"\b(heed_\w+)\s*\(", declaration)
        if name and not re.search(r"\b(typedef|static)\b", declaration):
            yield name[1]


def torch_of(operation):
    """How docs/pytorch.md calls it: PyTorch's expression in tests/ops/, or the name of the function if it is one call."""
    expression = table.torch_of(operation.replace("heed_", ""))
    call = re.fullmatch(r"(?:torch|F)\.(\w+)\((?:\w+(?:, )?)*\)", expression or "")
    return call[1] if call else expression or operation.replace("heed_", "")


def pytorch_table(old, operations, functions):
    """docs/pytorch.md with a row for each operation that no row lists, below the row of the one declared before it."""
    # Rows of nothing but names go when no header declares any of them.
    lines = [line for line in old.splitlines() if not re.fullmatch(r"\| `[^`|]*` \|( `heed_\w+`)+ \|", line) or
             functions & set(re.findall(r"heed_\w+", line))]
    first = next(i for i, line in enumerate(lines) if line.startswith("| torch"))  # below that of SelfAttention
    place, rows = first + 1, {}
    for name in operations:
        stem = re.sub(r"_(scalar|dim|dims|with)$", "", name)
        plain = re.sub(r"_(dim|dims|with)$", "", name)
        listed = [i for i, line in enumerate(lines)
                  if i > first and line.startswith("| ") and re.search(rf"\b({name}|{plain})\b", line)]
        if listed:
            place = listed[0]
        elif stem in rows:
            lines[rows[stem]] = lines[rows[stem]][:-1] + f"`{name}` |"
        else:
            place += 1
            lines.insert(place, f"| `{torch_of(stem)}` | `{name}` |")
            rows = {s: row + (row >= place) for s, row in rows.items()} | {stem: place}
    return "\n".join(lines) + "\n"


def main():
    declared = list(declared_functions(public_header()))
    section = re.search(r"=== Operations ===.*?/\* ====", (ROOT / "src/heed.h").read_text(), re.S)[0]
    operations = [name for name in declared
                  if re.search(rf"\b{name}\(", section) and not name.endswith("_backward")]
    page = ROOT / "docs/pytorch.md"
    old = page.read_text()
    new = pytorch_table(old, operations, set(declared))
    if new != old and "--check" in sys.argv[1:]:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "old", "new", n=0))
        sys.exit("docs/pytorch.md is stale; run make names")
    if new != old:
        page.write_text(new)
        print("docs/pytorch.md is written")
    print(f"names: {len(declared)} functions, {len(operations)} of them operations")


main()
