#!/usr/bin/env python3
"""Mutation testing: makes one small change in src/, builds, and runs the suites that cover it.

A mutant that passes every suite reveals a gap in the tests, or is equivalent to the original. Survivors
are printed as a diff; known equivalent mutants are listed, with the reason, in equivalent.txt.
All work happens in copies of the tree below the build folder.

    make mutate                          every mutant
    make mutate MUTANTS=200 SEED=1       a sample
    make mutate FILES='src/autograd/*'   some files
"""

import argparse
import collections
import fnmatch
import hashlib
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPIED = ("Makefile", "package", "src", "tests", "examples")
MOST_MEMORY = 8 << 30  # bytes of address space of one test
# Suites whose tests need separate processes. The others run in one process, which halves the time.
FORKING = ("error", "unread", "memory", "threads", "parallel", "forks",
           "determinism", "multihead", "files", "gpt_files")

# ---- mutants ----

# Not mutated: comments, strings, preprocessor includes and conditions, assertions, prefetches, sizes of
# arrays (one more element makes no difference), and enums, which are names and tuned sizes.
HIDDEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
        | ^\#\ *(?:include|if|ifdef|ifndef|elif|else|endif|undef|error|pragma)\b[^\n]*
        | \b(?:assert|_Static_assert|static_assert|__builtin_prefetch)\([^;]*;
        | \benum\b[^;{]*\{[^}]*\} | ^\ *(?:\w+\ )+\w+(?:\[[^]\n]*\])+;""",
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
        self.result = self.killer = None

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
        text = f"{seed} {mutant.file} {mutant.before} {mutant.after}"
        times[text] = times.get(text, 0) + 1
        ranked.append((hashlib.sha256(f"{text} {times[text]}".encode()).digest(), mutant))
    ranked.sort(key=lambda entry: entry[0])
    return [mutant for _, mutant in ranked][:count or None]


# ---- tables ----

def read_suites():
    """[(file pattern, instruction sets, suites)]: the first row that matches a file applies."""
    rows = []
    for line in (HERE / "suites.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, isas, *suites = line.split()
            rows.append((pattern, isas.replace("+", " "), suites))
            if not any(fnmatch.fnmatch(str(f.relative_to(ROOT)), pattern) for f in (ROOT / "src").rglob("*.*")):
                sys.exit(f"suites.txt: no file matches {pattern}")
    return rows


def read_equivalent():
    """{(file, before, after)}; an `after` of * stands for any change of that line."""
    known = set()
    for block in re.split(r"\n\n+", (HERE / "equivalent.txt").read_text().strip()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or lines[1][:2] != "- " or lines[2][:2] != "+ ":
            sys.exit(f"equivalent.txt: expected a file, '- line', '+ line' and a reason:\n{block}")
        if not (ROOT / lines[0]).is_file():
            sys.exit(f"equivalent.txt: no such file: {lines[0]}")
        known.add((lines[0], lines[1][2:], lines[2][2:]))
    return known


# ---- building and running ----

class Tree:
    """A copy of the tree, built for one list of instruction sets at a time."""

    def __init__(self, folder, compiler, jobs):
        self.folder, self.compiler, self.jobs = folder, compiler, jobs
        self.program = folder / "build/test_heed"
        self.isas = None  # of the latest build
        self.plain = {}  # instruction sets -> hash of the unchanged program

    def update(self):
        """Copies what has changed, so that the next build is incremental."""
        wanted = set()
        for top in COPIED:
            for path in [ROOT / top] if (ROOT / top).is_file() else (ROOT / top).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    wanted.add(path.relative_to(ROOT))
        for name in wanted:
            to, data = self.folder / name, (ROOT / name).read_bytes()
            if not to.exists() or to.read_bytes() != data:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(data)
        for top in COPIED:
            for path in (self.folder / top).rglob("*"):
                if path.is_file() and path.relative_to(self.folder) not in wanted:
                    path.unlink()

    def plain_program(self, isas):
        return self.program.with_name(f"test_heed.{isas.replace(' ', '.')}")

    def build(self, isas):
        """None if it does not compile, else the hash of the program."""
        if isas != self.isas:
            # The files that choose kernels depend on the list of instruction sets (CHOOSING in the Makefile).
            choosing = [c for c in (self.folder / "src/tensor").glob("*.c") if "HEED_ISAS" in c.read_text()]
            for name in (self.program, *(self.program.with_name("src") / f"tensor/{c.stem}.o" for c in choosing)):
                name.unlink(missing_ok=True)
            self.isas = isas
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
        done = subprocess.run(
            ["make", "-s", f"-j{self.jobs}", f"CC={self.compiler}", f"ISAS={isas}", "OPTIMISE=-O1",
             "SYMBOLS=", "WARNINGS=-w", "WERROR=", "BUILD=build", "build/test_heed"],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.complaint = done.stderr
        return hashlib.sha256(self.program.read_bytes()).digest() if done.returncode == 0 else None

    def prepare(self, isas):
        if isas not in self.plain:
            self.plain[isas] = self.build(isas)
            if self.plain[isas] is None:
                sys.exit(f"the tree does not build:\n{self.complaint}")
            shutil.copy(self.program, self.plain_program(isas))

    def passes(self, program, suite, limit):
        """Runs a suite until the first failure: True, False, or None if it takes too long."""
        suite, _, case = suite.partition(":")
        only = {"CK_RUN_CASE": case} if case else {}
        fork = "yes" if suite in FORKING else "no"
        run = subprocess.Popen(
            [program, suite], cwd=self.folder, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, start_new_session=True, errors="replace",
            env=dict(os.environ, CK_TAP_LOG_FILE_NAME="-", CK_FORK=fork,
                     CK_TIMEOUT_MULTIPLIER="0.25", **only),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)))
        late = threading.Event()
        timer = threading.Timer(limit, lambda: (late.set(), run.terminate()))
        timer.start()
        good = all(not line.startswith("not ok") for line in run.stdout)
        timer.cancel()
        if not good:
            run.terminate()  # Check ends the test that is running
        try:
            good = run.wait(5) == 0 and good
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            good = False
        end_session(run.pid)
        run.stdout.close()
        return None if late.is_set() else good

    def judge(self, mutant, isas, suites, limits):
        path = self.folder / mutant.file
        text = path.read_text()
        path.write_text(text[:mutant.start] + mutant.new + text[mutant.end:])
        try:
            built = self.build(isas)
            if built is None:
                return "invalid", None
            if built == self.plain[isas]:
                return "same program", None
            for suite in suites:
                passed = self.passes(self.program, suite, limits.of(self, suite, isas))
                if not passed:
                    return ("hung" if passed is None else "killed"), suite
            return "survived", None
        finally:
            path.write_text(text)


def end_session(session):
    """Ends leftover processes of a suite: Check puts each test in its own process group."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass


# ---- the campaign ----

class Limits:
    """Seconds that a suite may take: measured before its first use. The unchanged tree must pass."""

    def __init__(self):
        self.known = {}
        self.locks = collections.defaultdict(threading.Lock)

    def of(self, tree, suite, isas):
        with self.locks[suite, isas]:
            if (suite, isas) not in self.known:
                start = time.monotonic()
                if not tree.passes(tree.plain_program(isas), suite, 600):
                    print(f"the unchanged tree fails {suite}: {tree.plain_program(isas)}", flush=True)
                    os._exit(1)  # other threads may be waiting for a suite
                self.known[suite, isas] = max(20, 4 * (time.monotonic() - start))
            return self.known[suite, isas]


def run_all(trees, chosen, row_of, log):
    limits = Limits()
    todo = queue.SimpleQueue()
    for mutant in sorted(chosen, key=lambda m: row_of(m.file)[1]):
        todo.put(mutant)
    lock = threading.Lock()

    def work(tree):
        while True:
            try:
                mutant = todo.get_nowait()
            except queue.Empty:
                return
            _, isas, suites = row_of(mutant.file)
            start = time.monotonic()
            mutant.result, mutant.killer = tree.judge(mutant, isas, suites, limits)
            with lock:
                print(f"{mutant.result} {mutant.killer or ''} {time.monotonic() - start:.1f} s "
                      f"{mutant}\n", file=log, flush=True)
                if mutant.result == "survived":
                    print(f"survived: {mutant}\n", flush=True)

    workers = [threading.Thread(target=work, args=(tree,), daemon=True) for tree in trees]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutate")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--mutants", type=int, default=0, help="size of the sample; 0: all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--files", default="*", help="pattern")
    parser.add_argument("--match", default="", help="only mutants whose text contains this")
    parser.add_argument("--trees", type=int, default=len(os.sched_getaffinity(0)),
                        help="how many mutants are tried at a time")
    parser.add_argument("--least", type=float, default=0, help="fails below this percentage")
    parser.add_argument("--list", action="store_true", help="only prints the mutants")
    o = parser.parse_args()
    o.build = o.build.resolve()  # suites run elsewhere

    rows, known = read_suites(), read_equivalent()

    def row_of(file):
        row = next((row for row in rows if fnmatch.fnmatch(file, row[0])), None)
        return row or sys.exit(f"suites.txt: no row matches {file}")

    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.*")
                   if path.suffix in (".c", ".h", ".def"))
    mutants = [mutant for file in files if row_of(file)[2] and fnmatch.fnmatch(file, o.files)
               for mutant in mutants_of(file)]
    stale = {entry for entry in known if not any(
        entry[0] == m.file and entry[1] == m.before and entry[2] in (m.after, "*")
        for m in mutants)} if o.files == "*" else set()
    for file, before, _ in sorted(stale):
        print(f"equivalent.txt: no such mutant in {file}: {before}")
    chosen = sample([m for m in mutants if o.match in str(m)], o.mutants, o.seed)
    if o.list:
        print("\n".join(str(mutant) for mutant in chosen))
        return
    equivalent = [m for m in chosen if (m.file, m.before, m.after) in known
                  or (m.file, m.before, "*") in known]
    tried = [m for m in chosen if m not in equivalent]
    print(f"{len(mutants)} mutants; {len(chosen)} chosen, {len(equivalent)} of them listed as "
          f"equivalent", flush=True)

    cores = len(os.sched_getaffinity(0))
    trees = [Tree(o.build / str(i), o.cc, max(1, cores // o.trees)) for i in range(o.trees)]
    trees[0].jobs = cores
    trees[0].update()
    for isas in sorted({row_of(m.file)[1] for m in tried}):
        trees[0].prepare(isas)
    trees[0].jobs = trees[-1].jobs
    for tree in trees[1:]:
        if not tree.folder.exists():
            shutil.copytree(trees[0].folder, tree.folder)  # preserves times, so nothing is rebuilt
        tree.update()
        for isas in trees[0].plain:
            tree.prepare(isas)
    with open(o.build / "log.txt", "w", encoding="utf-8") as log:
        run_all(trees, tried, row_of, log)

    of = {result: sum(m.result == result for m in tried) for result in
          ("killed", "hung", "survived", "same program", "invalid")}
    dead = of["killed"] + of["hung"]
    percent = 100 * dead / max(1, dead + of["survived"])
    print(f"killed {dead} ({of['hung']} hung), survived {of['survived']}: {percent:.1f} %; "
          f"equivalent {len(equivalent) + of['same program']} ({of['same program']} compile to the "
          f"same program), {of['invalid']} do not compile")
    sys.exit(percent < o.least or bool(stale))


if __name__ == "__main__":
    main()
