#!/usr/bin/env python3
"""Mutation testing: makes one small change in src/, compiles, and runs the tests that reach it.

A mutant that passes all of them reveals a gap in the tests, or is equivalent to the original. Survivors are printed
as a diff; known equivalent mutants are listed, with the reason, in equivalent.txt. All work happens in copies of the
tree below the build folder. Which tests reach which line is recorded once per tree: -fsanitize-coverage marks each
block of code, and runner.c, in place of Check, runs each test alone.

    tests/mutate/mutate.py                  every mutant; --help lists all options
    ... --mutants 200 --seed 1              a sample
    ... --files 'src/autograd/*'            some files
    ... --suites 'scope tensor'             only these tests
    ... --continue                          continues from log.txt; tries survivors again if the tests have changed
"""

import argparse
import array
import collections
import concurrent.futures
import fnmatch
import functools
import hashlib
import itertools
import json
import math
import os
import pathlib
import pickle
import queue
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPIED = ("Makefile", "package", "src", "tests", "examples")
CORES = len(os.sched_getaffinity(0))
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
COVERAGE = "-fsanitize-coverage=trace-pc"
LONGEST, MOST = 3, 20  # seconds of a test, and of all tests of a mutant, after which it counts as survived

# ---- mutants ----

# Not mutated: comments, strings, preprocessor includes and conditions, assertions, prefetches, sizes of
# arrays (one more element makes no difference), and enums, which are names and tuned sizes. Nor what tests cannot
# observe: the grain of parallel work, which affects only the speed (results are the same for any number of threads),
# yielding, locking (only ThreadSanitizer sees a missing lock; one that is not released blocks, and is mutated), and
# which negative number means that no file is open.
HIDDEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
        | ^\#\ *(?:include|if|ifdef|ifndef|elif|else|endif|undef|error|pragma)\b[^\n]*
        | \b(?:assert|_Static_assert|static_assert|__builtin_prefetch)\([^;]*;
        | \b(?:pthread_mutex_lock|sched_yield)\([^;]*; | (?<=\bfd\ =\ -)1\b
        | (?<=,)\s[^,;{}]*\bHEED_GRAIN_OF_[^,;{}]*(?=,) | [<>]=?\ 2\ \*\ HEED_GRAIN_OF_
        | \benum\b[^;{]*\{[^}]*\} | ^\ *(?:\w+\ )+\**\w+(?:\[[^]\n]*\])+;""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)

# clang-format puts spaces around binary operators and none after unary ones. It breaks lines after
# operators, so what follows may be a newline.
SWAPS = {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="],
         "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "&&": ["||"], "||": ["&&"],
         "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"], "+=": ["-="], "-=": ["+="],
         "*=": ["/="], "/=": ["*="], "?": ["&& false ?", "|| true ?"]}


def next_number(match):
    """An integer plus 1; a decimal with its first nonzero digit changed."""
    text = match.group()
    if text.isdigit():
        return str(int(text) + 1)
    return re.sub("[1-9]", lambda digit: "8" if digit.group() == "9" else
                  str(int(digit.group()) + 1), text, count=1)


PLACE = r"\*?\w+(?:(?:\.|->)\w+|\[[^\]\n]*\])*"
RULES = [
    (r"(?<= )(?:[<>=!]=|<<|>>|&&|\|\||[-+*/]=|[-+*/%<>&|?])(?=\s)", lambda m: SWAPS[m.group()]),
    (r"(?<=[ (\[!])-(?=[\w(])", ""),
    (r"(?<![\w)])!(?=[\w(*])", ""),
    (r"\+\+", "--"),
    (r"(?<!\w)--|--(?!\w)", "++"),
    (r"(?<![\w.{])\d+(?:\.\d+(?:e[-+]?\d+)?f?)?(?![\w.])|(?<=\{)\d+(?![\w.}])", next_number),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"(?<=\bif \()[^{};]*(?=\) \{)", ["true", "false"]),
    # Statements: calls, and assignments that declare nothing.
    (rf"^[ \t]+(?!return\b|if\b|for\b|while\b|switch\b|else\b)(?:\w+\([^;{{}}]*\)|{PLACE} [-+*/&|^]?= "
     rf"[^;{{}}]*|{PLACE}\+\+);", ";"),
]
FORMULA_RULES = [(r"\bg\b", ["(-g)", "(2 * g)"])]  # of ops.def


class Mutant:
    def __init__(self, file, text, start, end, new):
        self.file = file
        self.start, self.end, self.new = start, end, new
        self.line = text.count("\n", 0, start) + 1
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        # One line each, as in equivalent.txt.
        self.before = " ".join(text[first:last].split())
        self.after = " ".join((text[first:start] + new + text[end:last]).split())
        self.key = None  # of the log: `file - before + after`, and how many of the same come before

    def __str__(self):
        return f"{self.file}:{self.line}\n- {self.before}\n+ {self.after}"


def mutants_of(file):
    text = (ROOT / file).read_text()
    code = HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    seen = set()
    for pattern, to in RULES + (FORMULA_RULES if file.endswith("ops.def") else []):
        for match in re.finditer(pattern, code, re.MULTILINE):
            changes = to(match) if callable(to) else to
            for new in [changes] if isinstance(changes, str) else changes:
                mutant = Mutant(file, text, match.start(), match.end(), new)
                if (match.span(), new) not in seen and mutant.before != mutant.after:
                    seen.add((match.span(), new))
                    yield mutant


def sample(mutants, count, seed):
    """A sample in the order of a hash, so that it changes little when the sources change."""
    times = {}
    ranked = []
    for mutant in mutants:
        text = f"{mutant.file} {mutant.before} {mutant.after}"
        times[text] = times.get(text, 0) + 1
        mutant.key = f"{text} {times[text]}"
        ranked.append((hashlib.sha256(f"{seed} {mutant.key}".encode()).digest(), mutant))
    ranked.sort(key=lambda entry: entry[0])
    return [mutant for _, mutant in ranked][:count or None]


# ---- the table of equivalent mutants ----

def read_equivalent(path=HERE / "equivalent.txt"):
    """{(file, before, after)}; an `after` of * stands for any change of that line. Lines that begin with - and + alternate;
    the rest of the block is the reason."""
    known = set()
    for block in re.split(r"\n\n+", path.read_text().strip()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or lines[1][:2] != "- " or lines[2][:2] != "+ " or lines[-1][:2] in ("- ", "+ "):
            sys.exit(f"{path.name}: expected a file, '- line', '+ line' and a reason:\n{block}")
        if not (ROOT / lines[0]).is_file():
            sys.exit(f"{path.name}: no such file: {lines[0]}")
        before = None
        for line in lines[1:]:
            before = line[2:] if line[:2] == "- " else before
            if line[:2] == "+ ":
                known.add((lines[0], before, line[2:]))
    return known


# ---- the program ----

def copy_tree(to):
    """Copies what has changed, so that the next build is incremental."""
    wanted = set()
    for top in COPIED:
        for path in [ROOT / top] if (ROOT / top).is_file() else (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wanted.add(path.relative_to(ROOT))
    for name in wanted:
        file, data = to / name, (ROOT / name).read_bytes()
        if not file.exists() or file.read_bytes() != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    for top in COPIED:
        for path in (to / top).rglob("*"):
            if path.is_file() and path.relative_to(to) not in wanted:
                path.unlink()


class Program:
    """The unchanged library with its tests."""

    def __init__(self, folder, compiler):
        self.folder, self.path = folder, folder / "build/test_heed"
        copy_tree(folder)
        self.make = ["make", f"-j{CORES}", f"CC={compiler}", "OPTIMISE=-O1", "SYMBOLS=-g1",
                     "WARNINGS=-w", "WERROR=", "BUILD=build", f"EXTRA={COVERAGE} -fno-pie -no-pie"]
        (folder / "build").mkdir(exist_ok=True)
        self.run([compiler, "-O2", "-fno-pie", "-Isrc", "-I.", "-c",
                  "tests/mutate/runner.c", "-o", "build/runner.o"])
        self.spellings = collections.defaultdict(set)
        self.link = self.commands("Makefile", "-B")[-1].replace("build/tests/main.o", "build/runner.o")
        self.objects = re.findall(r"build/(?!runner)\S+\.o\b", self.link)
        self.run([*self.make, "-s", *self.objects])
        self.spellings = self.read_spellings()
        self.hash = hashlib.sha256(b"".join((folder / name).read_bytes() for name in [*self.objects, "build/runner.o"])
                                   ).hexdigest()[:20]
        self.run(shlex.split(self.link))

    def run(self, command, **options):
        done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
                              **options)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(map(str, command))}\n{done.stderr}")
        return done.stdout

    @functools.lru_cache(maxsize=None)
    def commands(self, file, *flags):
        """What make would run if `file` had changed: compilers, and last the linker."""
        changed = [word for name in {file, *self.spellings[file]} for word in ("-W", name)]
        return [line for line in self.run([*self.make, "V=1", "-n", *flags, *changed, "build/test_heed"]).splitlines()
                if re.search(r" -o build/\S+", line)]

    def read_spellings(self):
        """How objects name the files that they depend on: src/nn/../tensor/tensor.h, for example."""
        found = collections.defaultdict(set)
        for path in (self.folder / "build").rglob("*.d"):
            for name in path.read_text().replace("\\\n", " ").replace(":", " ").split():
                found[os.path.normpath(name)].add(name)
        return found


# ---- which tests reach a line ----

class Reach:
    """The tests and, for each line where a block of code begins, a set of tests: an int whose bits are their numbers."""

    def __init__(self, program, isa, suites, folder):
        self.isa, self.suites = isa, suites
        environment = dict(ENVIRONMENT, HEED_ISA=isa)
        names = subprocess.run([program.path, "list", *suites], env=environment, stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split()
        folder.mkdir(exist_ok=True)
        parts = [folder / f"{i}.txt" for i in range(CORES)]
        known = {line.split()[0]: line for part in parts if part.exists()
                 for line in part.read_text().splitlines(keepends=True) if line.endswith("\n")}
        parts[0].write_text("".join(known.values()))  # of an interrupted recording
        names = [name for name in names if name not in known]
        runs = []
        for i, part in enumerate(parts):
            with open(folder / f"{i}.tests", "w+") as tests, open(part, "a" if i == 0 else "w") as out, \
                    open(folder / f"{i}.err", "w") as err:
                tests.writelines(f"{name} {LONGEST}\n" for name in names[i::CORES])
                tests.seek(0)
                runs.append(subprocess.Popen([program.path, "record", *suites], cwd=program.folder, env=environment,
                                             stdin=tests, stdout=out, stderr=err))
        self.names, self.seconds = [], []
        tests_of = collections.defaultdict(lambda: array.array("H"))  # of blocks
        for part, run in zip(parts, runs):
            if run.wait() != 0:
                sys.exit(f"see {part.with_suffix('.err')}")
            with open(part) as out:
                for line in out:
                    name, seconds, failed, *blocks = line.split()
                    if failed == "1":
                        print(f"left out, since the unchanged tree fails it: {name}: see {part.with_suffix('.err')}")
                    if failed != "0":
                        continue
                    for block in blocks:
                        tests_of[block].append(len(self.names))
                    self.names.append(name)
                    self.seconds.append(float(seconds))
        places = program.run(["addr2line", "-e", program.path], input="\n".join(tests_of)).splitlines()
        self.of = collections.defaultdict(lambda: collections.defaultdict(int))  # file -> line -> tests
        for place, tests in zip(places, tests_of.values()):
            found = re.search(r"/(src/[^:]*):(\d+)", os.path.normpath(place))
            if found:
                bits = bytearray(len(self.names) // 8 + 1)
                for test in tests:
                    bits[test >> 3] |= 1 << (test & 7)
                self.of[found[1]][int(found[2])] |= int.from_bytes(bits, "little")
        self.of = {file: dict(lines) for file, lines in self.of.items()}

    def tests(self, mutant, text, first):
        """(name, seconds) of the tests in which a mutant runs, as far as MOST allows: those that reach its function.
        Outside of functions, in macros and tables, and in functions that have no block of their own (inlined into others,
        or never called), all tests that reach the file, or all if no code of the file is known.

        First come those in `first`, then quick ones, those that reach the block of the mutant, and one of each loop for
        each block of the function: the tests of a rare error are among thousands that pass its condition."""
        lines = self.of.get(mutant.file) or {0: (1 << len(self.names)) - 1}
        begin, end = function_at(text, mutant.line)
        inside = [line for line in lines if begin <= line <= end] or list(lines)
        block = lines.get(max((line for line in inside if line <= mutant.line), default=0), 0)
        times, ranked, known = collections.Counter(), [], 0
        for line in sorted(inside, key=lambda line: bin(lines[line]).count("1")):
            for i in numbers_of(lines[line] & ~known):
                loop = line, self.names[i].rpartition(":")[0]
                times[loop] += 1
                late = times[loop] * (1 if block >> i & 1 else 4)
                ranked.append((-first[self.names[i]], (self.seconds[i] + 0.001) * late, i))
            known |= lines[line]
        order = [i for *_, i in sorted(ranked)]
        spent = itertools.accumulate(self.seconds[i] for i in order)
        return [(self.names[i], self.seconds[i]) for i, seconds in zip(order, spent) if seconds < MOST]


def numbers_of(bits):
    return (i for i, bit in enumerate(bin(bits)[:1:-1]) if bit == "1")


@functools.lru_cache(maxsize=1000)
def functions(text):
    """(first line, last line) of each function: from a { at the beginning of a line to the } at the beginning of one."""
    found, begin = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            found.append((begin, number))
            begin = 0
    return found


def function_at(text, line):
    return next(((begin, end) for begin, end in functions(text) if begin <= line <= end), (0, 0))


def recorded(program, isa, suites, folder):
    """Reach, from a file if the program is the same."""
    file = folder / f"reach.{isa}.{program.hash}.{'.'.join(suites)}"
    if not file.exists():
        print(f"recording which tests reach which line ({isa})", flush=True)
        parts = file.with_name("recording." + file.name)
        reach = Reach(program, isa, suites, parts)
        file.write_bytes(pickle.dumps(reach))
        shutil.rmtree(parts)
    for old in folder.glob(f"re*.{isa}.*"):
        if program.hash not in old.name:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return pickle.loads(file.read_bytes())


def lazily(make):
    """A function that returns make()'s result, which is made once, by the first thread that asks."""
    lock, made = threading.Lock(), []

    def get():
        with lock:
            if not made:
                made.append(make())
        return made[0]
    return get


def processor_features():
    file = pathlib.Path("/proc/cpuinfo")
    return file.read_text().split() if file.exists() else []


# ---- one mutant ----

def in_kernels(mutant):
    """Kernels are compiled for several instruction sets: the tests run with the lowest, and the highest."""
    return "/kernels/" in mutant.file


class Worker:
    """Judges mutants, one at a time, in a copy of the sources of the program."""

    def __init__(self, folder, program, reaches, killers):
        self.folder, self.program, self.reaches, self.killers = folder, program, reaches, killers
        copy_tree(folder)
        if not (folder / "build").exists():
            (folder / "build").symlink_to(program.folder / "build")

    def run(self, command):
        return subprocess.run(command, shell=True, cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def objects(self, mutant, to, change=lambda command: command):
        """Compiles what depends on the file: {object of the program: object below `to`}, or None if it fails."""
        made = {}
        for command in self.program.commands(mutant.file)[:-1]:
            name = re.search(r" -o (build/\S+)", command)[1]
            if name not in self.program.objects:  # tests/main.c, which runner.c replaces
                continue
            made[name] = f"{to}/{name}"
            (self.folder / made[name]).parent.mkdir(parents=True, exist_ok=True)
            if not self.run(change(command).replace(f" -o {name}", f" -o {made[name]}")):
                return None
        return made

    def same(self, made):
        return all((self.folder / a).read_bytes() == (self.folder / b).read_bytes() for a, b in made.items())

    def link(self, made):
        link = re.sub(r"build/\S+", lambda m: made.get(m[0], m[0]), self.program.link)
        return self.run(link.replace(" -o build/test_heed", " -o mutant/test_heed"))

    def first_failure(self, reach, tests):
        """0, 1 or 2 as runner.c says, and the name of the test. It must fail twice: some tests measure time, and the
        machine may be busy."""
        while tests:
            failed, name = self.run_tests(reach, tests)
            at = next((i for i, (test, _) in enumerate(tests) if test == name), None)
            if failed != 1 or at is None or self.run_tests(reach, tests[at:at + 1])[0]:
                return failed, name
            tests = tests[at + 1:]
        return 0, None

    def run_tests(self, reach, tests):
        run = subprocess.run(["mutant/test_heed", "run", *reach.suites], cwd=self.folder, env=dict(ENVIRONMENT, HEED_ISA=reach.isa),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", check=False,
                             input="".join(f"{name} {10 * seconds + 3}\n" for name, seconds in tests))
        return run.returncode, run.stdout.strip()

    def judge(self, mutant):
        """The result, and the test that killed it."""
        path = self.folder / mutant.file
        text = (self.program.folder / mutant.file).read_text()
        path.write_text(text[:mutant.start] + mutant.new + text[mutant.end:])
        try:
            made = self.objects(mutant, "mutant")
            if made is None:
                return "invalid", None
            if self.same(made):
                return "same program", None
            if not self.link(made):
                return "invalid", None
            ran = [(reach, reach.tests(mutant, text, self.killers[mutant.file]))
                   for reach in (get() for get in self.reaches[:None if in_kernels(mutant) else 1])]
            for reach, tests in ran:
                failed, killer = self.first_failure(reach, tests)
                if failed:
                    self.killers[mutant.file][killer] += 1
                    return "hung" if failed == 2 else "killed", killer
            # Optimised, equivalent programs are often the same.
            def optimised(command):
                return command.replace(" -O1 ", " -O2 ").replace(" -g1 ", " -g0 ")
            made = self.objects(mutant, "mutant", optimised)
            path.write_text(text)
            plain = self.objects(mutant, "plain", optimised)
            if self.same(dict(zip(made.values(), plain.values()))):
                return "same program", None
            return "survived" if any(tests for _, tests in ran) else "not reached", None
        finally:
            path.write_text(text)


# ---- the campaign ----

def run_all(workers, tried, log, program):
    todo = queue.SimpleQueue()
    for mutant in sorted(tried, key=in_kernels):
        todo.put(mutant)
    lock = threading.Lock()

    def work(worker):
        while True:
            try:
                mutant = todo.get_nowait()
            except queue.Empty:
                return
            start = time.monotonic()
            mutant.result, killer = worker.judge(mutant)
            with lock:
                print(json.dumps({"key": mutant.key, "result": mutant.result, "killer": killer, "line": mutant.line, "program": program,
                                  "seconds": round(time.monotonic() - start, 1)}), file=log, flush=True)
                if mutant.result in ALIVE:
                    print(f"{mutant.result}: {mutant}\n", flush=True)

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for done in [pool.submit(work, worker) for worker in workers]:
            done.result()


ALIVE = ("survived", "not reached")
RESULTS = ("killed", "hung", *ALIVE, "same program", "invalid")


def interval(part, of):
    """Wilson's 95 % interval of a share, in percent."""
    z, p = 1.96, part / of
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return [100 * (middle + sign * half) / (1 + z * z / of) for sign in (-1, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutate")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--mutants", type=int, default=0, help="size of the sample; 0: all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--files", default="*", help="pattern")
    parser.add_argument("--match", default="", help="only mutants whose text contains this")
    parser.add_argument("--suites", default="", help="only these tests")
    parser.add_argument("--least", type=float, default=0, help="fails below this percentage")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="keeps the results of log.txt")
    parser.add_argument("--list", action="store_true", help="only prints the mutants")
    o = parser.parse_args()
    o.build = o.build.resolve()

    known = read_equivalent()
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.*")
                   if path.suffix in (".c", ".h", ".def"))
    mutants = [mutant for file in files if fnmatch.fnmatch(file, o.files) for mutant in mutants_of(file)]
    stale = {entry for entry in known if not any(
        entry[0] == m.file and entry[1] == m.before and entry[2] in (m.after, "*")
        for m in mutants)} if o.files == "*" else set()
    for file, before, _ in sorted(stale):
        print(f"equivalent.txt: no such mutant in {file}: {before}")
    chosen = sample([m for m in mutants if o.match in str(m)], o.mutants, o.seed)
    if o.list:
        print("\n".join(str(mutant) for mutant in chosen))
        return
    equivalent = [m for m in chosen if (m.file, m.before, m.after) in known or (m.file, m.before, "*") in known]
    tried = [m for m in chosen if m not in equivalent]
    print(f"{len(mutants)} mutants; {len(chosen)} chosen, {len(equivalent)} of them listed as equivalent", flush=True)

    isas = ["baseline"] + ["v4"] * (any(map(in_kernels, tried)) and "avx512vl" in processor_features())
    o.build = o.build / "-".join(isas)
    o.build.mkdir(parents=True, exist_ok=True)
    program = Program(o.build / "tree", o.cc)
    suites = o.suites.split()
    reaches = [lazily(functools.partial(recorded, program, isa, suites, o.build)) for isa in isas]
    killers = collections.defaultdict(collections.Counter)
    workers = [Worker(o.build / str(i), program, reaches, killers) for i in range(CORES)]
    log = o.build / "log.txt"
    old = [json.loads(line) for line in log.read_text().splitlines()] if o.go_on and log.exists() else []
    old = {entry["key"]: entry for entry in old if entry["result"] not in ALIVE or entry["program"] == program.hash}
    for mutant in tried:
        mutant.result = old[mutant.key]["result"] if mutant.key in old else None
    with open(log, "w", encoding="utf-8") as file:
        for entry in old.values():
            print(json.dumps(entry), file=file, flush=True)
        run_all(workers, [m for m in tried if m.result is None], file, program.hash)

    of = {result: sum(m.result == result for m in tried) for result in RESULTS}
    dead, alive = of["killed"] + of["hung"], of["survived"] + of["not reached"]
    percent = 100 * dead / max(1, dead + alive)
    low, high = interval(dead, max(1, dead + alive))
    print(f"killed {dead} ({of['hung']} hung) of {dead + alive}: {percent:.1f} % (95 %: {low:.1f} to {high:.1f}); survived "
          f"{alive} ({of['not reached']} not reached); equivalent {len(equivalent) + of['same program']} "
          f"({of['same program']} compile to the same program), {of['invalid']} do not compile")
    sys.exit(percent < o.least or bool(stale))


if __name__ == "__main__":
    main()
