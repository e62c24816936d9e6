#!/usr/bin/env python3
"""Writes the lists of names that follow from the public headers (`make names`):

    package/symbols.txt   the exported functions, and the sizes of the public types on 64-bit machines
    docs/pytorch.md       a row for each operation that its tables do not list yet

Rows of docs/pytorch.md are written by hand, or edited after they were added: a name that some row lists is left alone.

    names.py [--check]    --check writes nothing, and fails if a list is stale; CC is the compiler
"""
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/ops"))
import table  # noqa: E402
CC = shlex.split(os.environ.get("CC", "cc"))


def run(*command, **options):
    return subprocess.run(command, check=True, cwd=ROOT, text=True, **options)


def public_headers():
    """{path: text} of the files that heed.h includes, preprocessed, in their order."""
    texts, path = {}, ""
    for line in run(*CC, "-E", "-Isrc", "src/heed.h", stdout=subprocess.PIPE).stdout.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            path = os.path.normpath(marker[1])
        elif path.startswith("src/"):
            texts[path] = texts.get(path, "") + line + "\n"
    return texts


def declared_functions(text):
    """The names of the functions that a preprocessed header declares, without the static ones that it defines."""
    while "{" in text:
        text = re.sub(r"\{[^{}]*\}", ";", text)
    for declaration in text.split(";"):
        name = re.search(r"\b(heed_\w+)\s*\(", declaration)
        if name and not re.search(r"\b(typedef|static)\b", declaration):
            yield name[1]


def sizes(headers):
    """Lines such as "sizeof(heed_shape) = 72", or None on a machine that is not of 64 bits."""
    text = "".join(headers.values())
    types = re.findall(r"\} (heed_\w+);", text) + re.findall(r"^ *(struct heed_\w+) \{", text, re.M)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sizes.c")
        source.write_text('#include <stdio.h>\n#include "heed.h"\nint main(void)\n{\n' +
                          "".join(f'    printf("sizeof({t}) = %zu\\n", sizeof({t}));\n' for t in sorted(set(types))) +
                          "    return sizeof(void *) != 8;\n}\n")
        run(*CC, "-Isrc", source, "-o", Path(folder, "sizes"))
        printed = subprocess.run([Path(folder, "sizes")], stdout=subprocess.PIPE, text=True)
        return printed.stdout.splitlines() if printed.returncode == 0 else None


def symbols(old, headers, functions):
    lines = sizes(headers) or [line for line in old.splitlines() if "sizeof" in line]
    return "\n".join(sorted(functions) + lines) + "\n"


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
    for name in [name for names in operations.values() for name in names]:
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
    check = "--check" in sys.argv[1:]
    headers = public_headers()
    declared = {path: list(declared_functions(text)) for path, text in headers.items()}
    functions = {name for names in declared.values() for name in names}
    operations = {path: [name for name in names if not name.endswith("_backward")]
                  for path, names in declared.items() if "/autograd/ops/" in path}
    stale = False
    for path, write in [("package/symbols.txt", lambda old: symbols(old, headers, functions)),
                        ("docs/pytorch.md", lambda old: pytorch_table(old, operations, functions))]:
        old = (ROOT / path).read_text()
        new = write(old)
        if new == old:
            continue
        if check:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), path, path, n=0))
            stale = True
        else:
            (ROOT / path).write_text(new)
            print(f"{path} is written")
    if stale:
        sys.exit("names: these lists are stale; run make names (docs/abi.md says which changes of the ABI are allowed)")
    print(f"names: {len(functions)} functions, {sum(map(len, operations.values()))} of them operations")


main()
