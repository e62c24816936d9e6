"""The cases of the graders, and what each says in PyTorch.

cases/task1.txt has the cases of task 1, in both languages. A case is the model solution with a few changes:

    == wrong: the scores are not scaled
    source: ethen8181/machine-learning #13
    says: Your scores are not scaled.
    C: heed_div_scalar(sims, sqrt(d)) => sims
    PyTorch: sims / d ** 0.5 => sims

`old => new` replaces text that the solution has exactly once. Comments are not searched, and any white space matches any
other. A function's name limits the search to its body: `C one_head: scores, 2 => scores, 1`. A change without `=>` is
the function's whole body: `C scores: return q;`. Indented lines below a change are the new text, too.

A right solution says nothing. What a wrong one says is the grader's sentence in C; `sanitized` is the one with
AddressSanitizer, if that differs; PyTorch's is the same but for words that are DIFFERENT. A case that only one language has
says in `only` why. `source` is where the mistake was seen.
"""
import ast
import pathlib
import re
import textwrap

CASES = pathlib.Path(__file__).resolve().parent / "cases"
DONE = "Done: "
CHANGE = re.compile(r"^(C|PyTorch)(?: ([\w.]+))?:(?:$| )(.*)\n((?:(?: .*)?\n)*)", re.MULTILINE)
COMMENTS = {"C": re.compile(r" */\*.*?\*/", re.DOTALL), "PyTorch": re.compile(r"  # .*")}

# What Python says in place of the words of C, by task; 0: in all tasks.
DIFFERENT = {
    0: {
        "after 3 seconds": "after 10 seconds",
        "Heed's own": "PyTorch's own",
        "w->grad": "w.grad",
        "Heed reports": "Python reports",
        "returns NULL": "returns None",
        "the dtype f32": "the dtype torch.float32",
        "the dtype f64": "the dtype torch.float64",
        "yours has f32": "yours has torch.float32",
        "yours has f64": "yours has torch.float64",
    },
    1: {
        "heed_softmax": "torch.softmax",
        "DBL_MIN": "torch.finfo(x.dtype).tiny",
        "Element (r, c) is x[r * columns + c], so along a column the next number is `columns` further.":
            "x.amax(dim, keepdim=True) and sum(dim, keepdim=True) keep a dim of size 1, so that what they return broadcasts "
            "along x.",
    },
    2: {
        "in C, 1 / 2 is 0": "in Python, 1 // 2 is 0",
        "C has made the divisor 1. In C, 1 / 2 is 0, so pow(d, 1 / 2)":
            "Python has made the divisor 1. In Python, 1 // 2 is 0, so d ** (1 // 2)",
        "(int)sqrt(2)": "int(2 ** 0.5)",
        "1 / 2, which is 0 in C": "1 // 2, which is 0",
        "in your code: reshape": "in your code: RuntimeError: shape '[5, 7]' is invalid",
        "heed_size(q, -1) is d: an int64_t, so convert it before you take a root.": "q.size(-1) is d.",
    },
    3: {
        "Heed's causal mask": "PyTorch's causal mask",
        "heed_causal_block_mask": "generate_square_subsequent_mask of torch.nn.modules.transformer",
        "heed_where": "torch.where",
        "heed_triu": "torch.triu",
        "heed_masked_fill": "masked_fill",
    },
    4: {
        "the mask is NULL": "the mask is None",
        "A layer that the struct alone knows": "A layer in a plain list or dict",
        "Heed's own class": "PyTorch's own function",
        "heed_self_attention_new": "torch.nn.functional.scaled_dot_product_attention",
        "self_attention_forward still returns NULL": "forward still returns None",
        "HEED_CHILD registers a layer (examples/custom_module.c), and heed_linear_new has an option for bias=False.":
            "An attribute that is a layer is registered, and nn.Linear has an option bias=False.",
        "self->": "self.",
        "The class works without HEED_CHILD, too, if the struct's fields are set.":
            "The class works with its layers in a plain list, too.",
    },
    5: {
        "(int)0.5 is in C": "int(0.5) is",
        "heed_cross_entropy": "torch.nn.functional.cross_entropy",
        "heed_optimizer_step": "step of torch.optim.sgd",
        "heed_grad": "torch.autograd.grad",
        "which is NULL": "which is None",
        "as heed_sub does": "as w - lr * w.grad does",
        "m->weights[0]": "model.embedding",
        "were recorded in the graph": "The update would be recorded in the graph",  # an error in PyTorch
        "heed_gather(x, 1, heed_unsqueeze(targets, 1))": "x.gather(1, targets[:, None])",
        "heed_narrow cuts": "text[:, :-1] cuts",
        "heed_flatten": "flatten",
        "Within a HEED_SCOPE_NO_GRAD": "Within torch.no_grad()",
    },
    8: {
        "Heed's attention": "PyTorch's attention",
        "heed_scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention",
        "heed_cat": "torch.cat",
    },
    9: {
        "writer_forward": "forward",
        "matmul: b (1, 1, 2) does not fit a (1, 1, 2): takes a (..., m, k), b (..., k, n). How": "How",  # PyTorch's message, and the line, come before
        "m->": "self.",
        "NULL": "None",
        "heed_cat": "torch.cat",
    },
    10: {
        "heed_masked_fill": "masked_fill",
    },
}


def in_python(number, text, used=None):
    """Text of the task in C, in Python's words; adds those that are replaced to `used`."""
    text = " ".join(text.split())
    for task in (number, 0):  # first the task's own
        for c, python in DIFFERENT.get(task, {}).items():
            if c in text and used is not None:
                used.add((task, c))
            text = text.replace(c, python)
    return text


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


def apply(changes, language, source):
    """The model solution with the changes of a case."""
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
    def __init__(self, number, text):
        head = CHANGE.split(text, maxsplit=1)[0]
        first, *lines = head.strip().splitlines()
        self.kind, self.name = first.split(": ", 1)
        fields = dict(line.split(": ", 1) for line in lines)
        assert self.kind in ("wrong", "right") and {*fields} <= {"source", "says", "sanitized", "only"}, text
        self.says = fields["says"] if self.kind == "wrong" else DONE
        self.in_python = in_python(number, self.says) if self.kind == "wrong" else DONE
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
    cases = [Case(number, part) for part in re.split(r"^== ", text + "\n", flags=re.MULTILINE)[1:]]
    assert len(cases) > 40, f"task {number} has {len(cases)} cases"
    alone = [case for case in cases if not case.says_why]
    assert not alone or not any(case.is_twin for case in cases), f"task {number}: no twin and no `only`: {alone[0]}"
    return [case for case in cases if not language or case.changes[language]]
