"""Compiles and runs every code block of the pages.

    tests/source/docs_code.sh [--full] [PAGE...]

A block is a fence or an indented paragraph. Its language gives its rule:

    c           compiled with the sanitizers and run. Without a main, a program is made of it: what begins in
                column 0 and defines a function, a type or a macro comes before main, everything else into
                main, in a scope, with heed_on_error(heed_die) and seed 0.
    python      run if its imports are installed, else only its syntax is checked
    sh          run in a copy of the tree; so is an indented paragraph that begins with a command
    diff, console    on the pages that tests/programs/course.sh follows
    none        after a paragraph that ends with "print" or "prints" (or these and a colon): the output of the
                block before. A line "..." matches any lines, "..." in a line matches any text.

All blocks of a page run in order in one folder, so one can read the files that another one wrote.

A comment above a block changes its rule:

    <!-- code: given C -->             C, which the reader does not see, is put before the block; it may make no file
    <!-- code: after -->               the block continues the program of the block before it
    <!-- code: quick SED -->           for sh: without --full, run the block as changed by this sed command
    <!-- code: by FILE: TEXT -->       run by FILE, a test of .ci/run or the Makefile, or a page or program; TEXT
                                       (optional) must be in it
    <!-- code: output of COMMAND -->   the block is the output of a command
    <!-- code: skip: REASON -->        not run; the test prints the reason
    <!-- code: text -->                not code

A block without a rule fails the test.
"""

import ast
import concurrent.futures
import glob
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading

PAGES = ["README.md", "CONTRIBUTING.md", "examples/README.md", "bench/README.md", *sorted(glob.glob("docs/*.md"))]
COMMANDS = r"(make|cc|build/\S+)\b"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
            "-Wno-unused-function", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SECONDS = 600  # a hang


class Wrong(Exception):
    """A block that fails; the message says why."""


class Block:
    def __init__(self, page, line, language, text, rule, rule_line, before):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.rule_line = rule_line  # where the argument of the rule begins
        found = re.match(r"(\w+):?\s*(.*)", rule or "", re.S)
        self.word, self.rest = found.groups() if found else ("", "")
        self.before = before  # the line before the block

    @property
    def place(self):
        return f"{self.page}:{self.line}"


# ---- reading pages ----


def blocks_of(page):
    """The blocks of a page. `language` is None for an indented paragraph and "" for a plain fence."""
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    blocks, rule, rule_line, before, edit, i = [], None, 0, "", False, 0

    def add(first, language, text):
        nonlocal rule, edit
        if edit and rule is None:
            rule = "by tests/source/contributing.sh"
        blocks.append(Block(page, first + 1, language, text, rule, rule_line, before))
        rule, edit = None, False

    while i < len(lines):
        line = lines[i]
        if line.startswith("<!--"):
            first = i
            while "-->" not in lines[i]:
                i += 1
            comment = "\n".join(lines[first : i + 1])
            found = re.match(r"<!-- code: ?(.*)-->", comment, re.S)
            rule = found[1].strip() if found else rule
            rule_line = first + (2 if comment.startswith("<!-- code: given\n") else 1)
            edit = comment.startswith("<!-- edit:")
        elif line.lstrip().startswith("```"):
            first = i = i + 1
            while i < len(lines) and not lines[i].lstrip().startswith("```"):
                i += 1
            if i == len(lines):
                raise Wrong(f"{page}:{first}: this fence has no end")
            add(first, line.strip()[3:], textwrap.dedent("\n".join(lines[first:i]) + "\n"))
        elif line.strip() and (i == 0 or not lines[i - 1].strip()) and line.startswith(code_indent(lines, i)):
            first, indent = i, code_indent(lines, i)
            while i < len(lines) and (lines[i].startswith(indent) or not lines[i].strip()):
                i += 1
            add(first, None, textwrap.dedent("\n".join(lines[first:i])).rstrip() + "\n")
            continue
        elif line.strip():
            if rule is not None:
                raise Wrong(f"{page}:{i + 1}: the comment above belongs to no block")
            before = line
        i += 1
    if rule is not None:
        raise Wrong(f"{page}: the last comment belongs to no block")
    return blocks


def code_indent(lines, i):
    """The indentation that makes code of line i: 4 more than that of the list item that it continues, if any."""
    while i > 0 and (not lines[i].strip() or lines[i].startswith(" ")):
        i -= 1
    item = re.match(r"([-*]|\d+\.) +", lines[i])
    return " " * (4 + (len(item[0]) if item else 0))


# ---- programs ----


# What comes before main: a type, a macro, a directive, a comment; or a function, TYPE NAME( without a ; at the end.
DEFINITION = re.compile(r"(static|typedef|extern)\b|(enum|struct)( \w+)? \{|#|/\*|"
                        r"HEED_(OPERATION|MODULE_KIND)\(|(?!return\b|else\b)(\w+[ *]+)+\w+\([^;]*$")


def split(text, place):
    """Splits C into definitions and statements, both with #line directives."""
    page, _, first = place.partition(":")
    definitions, statements = [], []
    to, depth = statements, 0
    for number, line in enumerate(text.split("\n"), int(first)):
        if depth == 0 and line.strip() and not line.startswith((" ", "}", "{")):
            to = definitions if DEFINITION.match(line) else statements
        if line.strip():
            to.append(f'#line {number} "{page}"\n{line}\n')
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*|/\*.*?\*/', "", line)
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
    return "".join(definitions), "".join(statements)


def program_of(parts):
    """A program made of parts, each (text, place)."""
    pieces = [split(text, place) for text, place in parts]
    if any(re.search(r"^int main\(", text, re.M) for text, _ in parts):
        return "".join(top for top, _ in pieces)
    return ("#include <heed.h>\n#include <inttypes.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
            "#include <string.h>\n" + "".join(top for top, _ in pieces) +
            "int main(void)\n{\nsetvbuf(stdout, NULL, _IOLBF, 0);\nheed_on_error(heed_die);\nheed_manual_seed(0);\n"
            "HEED_SCOPE(scope_of_the_page);\n" + "".join(body for _, body in pieces) + "return 0;\n}\n")


class Runner:
    """The blocks of one page."""

    def __init__(self, page, tree, scratch, full):
        self.page, self.tree, self.scratch, self.full = page, tree, scratch, full
        self.parts = []  # of the program of the last c block
        self.output = None
        self.count = dict.fromkeys(("run", "only parsed", "by another test", "skipped", "text"), 0)
        self.notes = []

    def execute(self, command, folder):
        env = dict(os.environ, LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0", HEED_NUM_THREADS="1")
        env.pop("COLUMNS", None)
        with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                self.output = process.communicate(timeout=None if self.full else SECONDS)[0].decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Wrong(f"takes more than {SECONDS} s") from None
        if process.returncode != 0:
            raise Wrong(f"ends with status {process.returncode}:\n{self.output}")

    def compile(self, block):
        given = block.rest if block.word == "given" else ""
        if re.search(r"fopen|_save|\.csv|system", given):
            raise Wrong("its comment makes a file, which readers do not have")
        if block.word == "after":
            if not self.parts:
                raise Wrong("continues no block of C")
        else:
            self.parts = []
        if given:
            self.parts.append((given, f"{block.page}:{block.rule_line}"))
        self.parts.append((block.text, block.place))
        source = os.path.join(self.scratch, f"line{block.line}.c")
        program = os.path.join(self.scratch, f"line{block.line}")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program_of(self.parts))
        self.execute([*os.environ.get("CC", "cc").split(), "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-g", "-O0", "-Isrc",
                      *WARNINGS, *SANITIZE, source, "build/libheed.a", "-lm", "-pthread", "-o", program], ".")
        self.execute([program], self.scratch)
        self.count["run"] += 1

    def python(self, block):
        tree = ast.parse(block.text)
        names = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        missing = sorted({name for name in names if importlib.util.find_spec(name.split(".")[0]) is None})
        if missing:
            self.notes.append(f"{block.place}: only the syntax was checked; not installed: {', '.join(missing)}")
        else:
            self.execute([sys.executable, "-c", block.text], self.scratch)
        self.count["only parsed" if missing else "run"] += 1

    def shell(self, block):
        text = block.text
        if block.word == "quick" and not self.full:
            changed = subprocess.run(["sed", "-E", block.rest], input=text, stdout=subprocess.PIPE, text=True,
                                     check=True).stdout
            if changed == text or changed.count("\n") != text.count("\n"):
                raise Wrong(f"the quick form, {block.rest}, changes nothing, or adds a command")
            text = changed
        self.command(text)
        self.count["run"] += 1

    def command(self, text):
        with self.tree.lock:
            self.execute(["sh", "-eu", "-c", text], self.tree())

    def elsewhere(self, block):
        file, _, text = block.rest.partition(": ")
        with open("tests/checks.mk", encoding="utf-8") as checks, open(".ci/run", encoding="utf-8") as steps:
            runs = checks.read() + steps.read()
        if not os.path.exists(file):
            raise Wrong(f"{file} does not exist")
        step = "check-" + os.path.basename(file).removesuffix(".sh")
        if file.startswith("tests/") and os.path.basename(file) not in runs and step not in runs:
            raise Wrong(f"neither tests/checks.mk nor .ci/run runs {file}")
        with open(file, encoding="utf-8") as opened:
            if text and text not in opened.read():
                raise Wrong(f"{file} does not contain {text}")
        self.count["by another test"] += 1

    def compare(self, block):
        if self.output is None:
            raise Wrong("no block before this one prints anything")
        wanted = [line.rstrip() for line in block.text.rstrip().split("\n")]
        pattern = ""
        for line in wanted:
            pattern += r"(.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r" *\n"
        if not re.fullmatch(pattern, self.output.rstrip() + "\n"):
            raise Wrong("prints something else:\n" + self.output)
        self.count["run"] += 1

    def run(self, block):
        language, word = block.language, block.word
        if word == "text":
            self.count["text"] += 1
        elif word == "skip":
            if not block.rest:
                raise Wrong("is skipped without a reason")
            self.notes.append(f"{block.place}: skipped: {block.rest}")
            self.count["skipped"] += 1
        elif word == "by":
            self.elsewhere(block)
        elif word == "output":
            self.command(block.rest.removeprefix("of "))
            self.compare(block)
        elif word not in ("", "given", "after", "quick") or word == "given" and language != "c":
            raise Wrong(f"has an unknown rule, {word}")
        elif language == "c":
            self.compile(block)
        elif language == "python":
            self.python(block)
        elif language in ("diff", "console"):
            block.rest = f"tests/programs/course.sh: {block.page}"
            self.elsewhere(block)
        elif language == "" and re.search(r"\bprints?:?$", block.before):
            self.compare(block)
        elif language == "sh" or language is None and re.match(COMMANDS, block.text):
            self.shell(block)
        else:
            raise Wrong("has no rule: give it a language or a comment <!-- code: ... -->")


def run_page(page, blocks, tree, full):
    """Runs the blocks in order; returns the counts, notes and faults."""
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(page, tree, scratch, full)
        for block in blocks:
            try:
                runner.run(block)
            except (Wrong, SyntaxError) as fault:
                runner.output = None
                faults.append(f"{block.place}: {fault}")
    return runner.count, runner.notes, faults


class Tree:
    """A copy of the tree with its programs, made when a block first needs it. `lock` is held while a command runs."""

    def __init__(self, folder):
        self.folder, self.made, self.lock = folder, False, threading.Lock()

    def __call__(self):
        if not self.made:
            shutil.copytree(".", self.folder, ignore=shutil.ignore_patterns(".git", "build"), symlinks=True,
                            dirs_exist_ok=True)
            for part in ("src", "examples"):  # the objects, so that `make` has nothing to do
                shutil.copytree(f"build/{part}", f"{self.folder}/build/{part}")
            for name in ("libheed.a", *(name.removesuffix(".c") for name in os.listdir("examples"))):
                if os.path.isfile(f"build/{name}"):
                    shutil.copy2(f"build/{name}", f"{self.folder}/build/{name}")
            self.made = True
        return self.folder


def main():
    full = "--full" in sys.argv
    pages = [argument for argument in sys.argv[1:] if argument != "--full"] or PAGES
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        try:
            blocks = {page: blocks_of(page) for page in pages}
        except Wrong as fault:
            sys.exit(str(fault))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda page: run_page(page, blocks[page], tree, full), pages))
    totals, faults = {}, []
    for counts, notes, wrong in results:
        for note in notes:
            print(note)
        faults += wrong
        for kind, count in counts.items():
            totals[kind] = totals.get(kind, 0) + count
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"docs_code: failing blocks: {len(faults)}")
    print(f"docs_code: {len(pages)} pages: " + ", ".join(f"{count} {kind}" for kind, count in totals.items()))


main()
