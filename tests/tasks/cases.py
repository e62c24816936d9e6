"""The cases of the graders, and the model solutions.

    cases.py LANGUAGE FOLDER       writes the solved tasks of C or PyTorch into a folder

cases/task1.txt has the cases of task 1, in both languages. A case is the model solution with a few changes:

    == wrong: the scores are not scaled
    source: ethen8181/machine-learning #13
    says: Your scores are not scaled.
    C: heed_div_scalar(sims, sqrt(d)) => sims
    PyTorch: sims / d ** 0.5 => sims

`old => new` replaces text that the solution has exactly once. Comments are not searched, and any white space matches any
other. A function's name limits the search to its body: `C one_head: scores, 2 => scores, 1`. A change without `=>` is
the function's whole body: `C scores: return q;`. Indented lines below a change are the new text, too.

A right solution says nothing. What a wrong one says is the grader's sentence, {with words of C|and of Python} where they
differ; `sanitized` is the one with AddressSanitizer, if that is another one. A case that only one language has says in
`only` why. `source` is where the mistake was seen.
"""
import ast
import pathlib
import re
import sys
import textwrap

CASES = pathlib.Path(__file__).resolve().parent / "cases"
TASKS = CASES.parents[2] / "examples" / "tasks"
DONE = "Done: "
CHANGE = re.compile(r"^(C|PyTorch)(?: ([\w.]+))?:(?:$| )(.*)\n((?:(?: .*)?\n)*)", re.MULTILINE)
COMMENTS = {"C": re.compile(r" */\*.*?\*/", re.DOTALL), "PyTorch": re.compile(r'(?s:\A""".*?""")|  # .*')}


def words_of(language, text):
    """{words of C|words of Python}"""
    return re.sub(r"\{([^{}|]*)\|([^{}]*)\}", r"\1" if language == "C" else r"\2", text)


def body_of(language, source, name):
    """Where the body of a function, or of a method Class.name, begins and ends."""
    if language == "C":
        (match,) = re.finditer(rf"^[\w ]+\**\b{name}\([^;{{}}]*\)\n\{{\n(.*?)^\}}", source, re.DOTALL | re.MULTILINE)
        return match.span(1)
    nodes = ast.parse(source).body
    for part in name.split("."):
        (node,) = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part]
        nodes = node.body
    lines = source.splitlines(keepends=True)
    return len("".join(lines[:nodes[0].lineno - 1])), len("".join(lines[:nodes[-1].end_lineno]))


def task_file(language, number):
    folder, ending = {"C": (TASKS, "c"), "PyTorch": (TASKS.parent / "pytorch" / "tasks", "py")}[language]
    (path,) = folder.glob(f"task{number}_*.{ending}")
    return path


def solution_of(language, number):
    """The task's file with the changes of solutions/taskN_*.txt, which has both languages."""
    (path,) = (TASKS / "solutions").glob(f"task{number}_*.txt")
    changes = [change[1:] for change in CHANGE.findall(path.read_text()) if change[0] == language]
    return apply(changes, language, task_file(language, number).read_text())


def apply(changes, language, source):
    """Source with the changes of a case."""
    source = COMMENTS[language].sub(lambda match: "\n" * match.group().count("\n"), source)
    spans = []
    for function, line, block in changes:
        begin, end = body_of(language, source, function) if function else (0, len(source))
        old, arrow, new = re.match(r"(.*?)(?:( =>)(?: (.*))?)?$", line).groups()
        block = textwrap.dedent(block).strip("\n")
        if not arrow:
            indent = " " * (len(source[begin:end]) - len(source[begin:end].lstrip()))
            spans.append((begin, end, textwrap.indent(block or old, indent) + "\n"))
            continue
        found = [*re.compile(r"\s+".join(map(re.escape, old.split()))).finditer(source, begin, end)]
        assert len(found) == 1, f"{language}: the solution has {len(found)} times {old!r}"
        begin, end = found[0].span()
        before = source[source.rfind("\n", 0, begin) + 1:begin]
        indent = " " * (len(before) - len(before.lstrip()))
        spans.append((begin, end, new or block.replace("\n", "\n" + indent)))
    spans.sort()
    assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:])), f"changes overlap: {changes}"
    for begin, end, new in reversed(spans):
        source = source[:begin] + new + source[end:]
    return source


class Case:
    def __init__(self, text):
        head = CHANGE.split(text, maxsplit=1)[0]
        first, *lines = head.strip().splitlines()
        self.kind, self.name = first.split(": ", 1)
        fields = dict(line.split(": ", 1) for line in lines)
        assert self.kind in ("wrong", "right") and {*fields} <= {"source", "says", "sanitized", "only"}, text
        says = fields["says"] if self.kind == "wrong" else DONE
        self.says = {language: words_of(language, says) for language in ("C", "PyTorch")}
        self.sanitized = fields.get("sanitized")
        self.changes = {"C": [], "PyTorch": []}
        for language, function, line, block in CHANGE.findall(text[len(head):]):
            self.changes[language].append((function, line, block))
        self.is_twin = all(self.changes.values())
        assert any(self.changes.values()) and self.is_twin <= ("only" not in fields), text
        self.says_why = self.is_twin or "only" in fields

    def __str__(self):
        return f"{self.kind}: {self.name}"


def cases_of(number, language=None):
    """The cases of a task, in one language or in any."""
    text = (CASES / f"task{number}.txt").read_text()
    cases = [Case(part) for part in re.split(r"^== ", text + "\n", flags=re.MULTILINE)[1:]]
    assert len(cases) > 40, f"task {number} has {len(cases)} cases"
    alone = [case for case in cases if not case.says_why]
    assert not alone or not any(case.is_twin for case in cases), f"task {number}: no twin and no `only`: {alone[0]}"
    return [case for case in cases if not language or case.changes[language]]


if __name__ == "__main__":
    for number in range(1, 11):
        if sys.argv[1] == "C" or number not in (6, 7):
            name = task_file(sys.argv[1], number).name
            (pathlib.Path(sys.argv[2]) / name).write_text(solution_of(sys.argv[1], number))
