#!/usr/bin/env python3
"""make size: how large Heed is, beside the limits that stand in the Makefile; fails above one.
    size.py BUILD "FIGURE=LIMIT ..." PROGRAM MAP ...    MAP: the linker's map of a small PROGRAM (core.py)

Lines are those of the files that git tracks, comments and blank lines included. Pictures and the data in tests/fixtures
are not counted; the scripts that compute the data are."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

from core import ROOT, count_lines, find_takers

build = pathlib.Path(sys.argv[1])
limits = dict(word.split("=") for word in sys.argv[2].split())
maps = dict(zip(sys.argv[3::2], sys.argv[4::2]))


def run(*command):
    return subprocess.run(command, check=True, cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout


def is_text(path):
    return b"\0" not in (ROOT / path).read_bytes()


tracked = [path for path in run("git", "ls-files").splitlines() if (ROOT / path).is_file()]
fixture_data = [path for path in tracked if path.startswith("tests/fixtures/") and not path.endswith((".py", ".sh"))]
counted = [path for path in tracked if path not in set(fixture_data) and is_text(path)]


def lines_in(folder):
    return sum(count_lines(path) for path in counted if path.startswith(folder))


def public_functions():
    """The functions that heed.h declares."""
    text = run(*shlex.split(os.environ.get("CC", "cc")), "-E", "-P", "-Isrc", "src/heed.h")
    while "{" in text:
        text = re.sub(r"\{[^{}]*\}", ";", text)
    declarations = (d for d in text.split(";") if not re.search(r"\b(typedef|static)\b", d))
    names = (re.search(r"\b(heed_\w+)\s*\(", declaration) for declaration in declarations)
    return len({name[1] for name in names if name})


figures = {
    "src": ("lines in src/", lines_in("src/")),
    "files": ("files in src/", sum(path.startswith("src/") for path in counted)),
    "functions": ("public functions", public_functions()),
    "core": ("lines that a toy program takes (make core)", sum(map(count_lines, find_takers(build, maps)))),
    "tests": ("lines in tests/, fixture data aside", lines_in("tests/")),
    "examples": ("lines in examples/", lines_in("examples/")),
    "lab": ("lines in examples/lab/", lines_in("examples/lab/")),
    "repository": ("lines in the repository, fixture data aside", lines_in("")),
    "data": ("KB of fixture data", sum((ROOT / path).stat().st_size for path in fixture_data) // 1000),
}
if figures.keys() != limits.keys():
    sys.exit(f"SIZES in the Makefile: {' '.join(limits)} instead of {' '.join(figures)}")

above = 0
print(f"{'':45}      now  at most")
for figure, (title, now) in figures.items():
    limit = int(limits[figure])
    verdict = "  TOO LARGE" if now > limit else f"  lower the limit to {now}" if now < 0.98 * limit else ""
    above += now > limit
    print(f"{title:45} {now:8,} {limit:8,}{verdict}")
sys.exit(above > 0)
