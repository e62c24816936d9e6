#!/usr/bin/env python3
"""Checks the rooms of src/: check -> nn -> autograd -> tensor. `make layers` builds the library and runs it:
layers.py BUILD

Includes, by the paths that they resolve to:
  1. a file is in a room, and includes none of a room above
  2. kernels work on raw memory, never on a tensor: they include only each other and the files in FLAT
  3. no cycles between units; a unit is a .c and the .h of the same name
  4. an include is relative to its file, so that no -I path can redirect it
  5. file names are unique
Calls, by the symbols of the object files:
  6. no room calls into a room above
  7. a function is defined in the room whose header declares it
  8. no cycles between units
Text:
  9. no pointer to heed_self (tensor.h says why): only some linkers show UBSan's false alarm
"""
import graphlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src"
BUILD = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")
ROOMS = ["tensor", "autograd", "nn", "check"]
FLAT = {"heed.h"}  # for its dtypes

problems = []


def room(unit):
    return str(unit).split("/")[0]


def rank(unit):
    return ROOMS.index(room(unit)) if room(unit) in ROOMS else len(ROOMS)


def unit_of(path):
    return re.sub(r"\.(c|h|def)$", "", str(path))


def find_cycles(kind, edges):
    """Reports one cycle, and goes on without its last edge."""
    while True:
        try:
            graphlib.TopologicalSorter(edges).prepare()
            return
        except graphlib.CycleError as error:
            cycle = error.args[1]
            problems.append(f"a cycle of {kind}: " + " <- ".join(cycle))
            edges[cycle[1]].discard(cycle[0])


# ---- includes ----

files = sorted(p.relative_to(SRC) for p in SRC.rglob("*") if p.suffix in (".c", ".h", ".def"))
includes = {}
for file in files:
    if rank(file) == len(ROOMS) and str(file) != "heed.h":
        problems.append(f"src/{file}: not in a room: " + ", ".join(ROOMS))
    for number, line in enumerate((SRC / file).read_text().splitlines(), 1):
        if re.search(r"&heed_self\b(?!\.)", line):
            problems.append(f"src/{file}:{number}: a pointer to heed_self")
        match = re.match(r'#\s*include "(.*?)"', line)
        if not match:
            continue
        target = (SRC / file).parent / match[1]

        def problem(why):
            problems.append(f"src/{file}:{number}: includes {match[1]}: {why}")

        if not target.exists():
            problem("no such file; paths are relative to the file that includes")
            continue
        target = str(target.resolve().relative_to(SRC))
        if unit_of(file) != unit_of(target):
            includes.setdefault(unit_of(file), set()).add(unit_of(target))
        if target != "heed.h" and rank(target) > rank(file):
            problem("of a room above")
        if "/kernels/" in str(file) and "/kernels/" not in target and target not in FLAT:
            problem("kernels work on raw memory, never on a tensor")
find_cycles("includes", includes)

named = {}
for unit in sorted({unit_of(f) for f in files}):
    other = named.setdefault(unit.split("/")[-1], unit)
    if other != unit:
        problems.append(f"src/{unit}: same name as src/{other}")

# ---- calls ----

defined, calls = {}, []
for path in sorted((BUILD / "src").rglob("*.o")):
    unit = unit_of(path.relative_to(BUILD / "src").with_suffix(""))
    if not (SRC / f"{unit}.c").exists():
        continue  # of a file that was moved since
    for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout.splitlines():
        *_, kind, symbol = line.split()
        symbol = symbol.removeprefix("_")
        if kind in "Uw":
            calls.append((unit, symbol))
        else:
            defined.setdefault(symbol, unit)
if not calls:
    problems.append(f"{BUILD}: no object files")

callers = {}
for caller, symbol in calls:
    callee = defined.get(symbol, caller)
    if rank(callee) > rank(caller):
        problems.append(f"src/{caller}.c: calls {symbol} of a room above, src/{callee}.c")
    if callee != caller:
        callers.setdefault(caller, set()).add(callee)
find_cycles("calls", callers)

for file in files:
    if file.suffix == ".h" and str(file) != "heed.h":
        for symbol in set(re.findall(r"^(?!#|static|typedef)\w[^;{}()]*?\b(heed_\w+)\(", (SRC / file).read_text(), re.M)):
            if symbol in defined and room(defined[symbol]) != room(file):
                problems.append(f"src/{file}: declares {symbol}, which src/{defined[symbol]}.c defines")

for problem in problems:
    print(problem)
if problems:
    sys.exit(1)
print("layers: includes and calls point one way, without cycles")
