"""Cases of the graders, and which of those in C are also in PyTorch.

tests/tasks/cases/task1.txt has the cases of task 1 in C, task1_pytorch.txt those in PyTorch. Those of the same name are
twins, and the grader says the same of both, except for words that are DIFFERENT. A case without a twin says why, in a
field `only`.
"""
import pathlib
import re

CASES = pathlib.Path(__file__).resolve().parent / "cases"
DONE = "Done: "

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
        "Heed's attention": "PyTorch's attention",
        "heed_scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention",
        "heed_cat": "torch.cat",
        "linear_forward: x (1, 2, 4, 3) must end in in_features, 6. Each": "Each",
    },
    8: {
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


class Case:
    """A wrong or right solution: its name, source, what the grader says (also with AddressSanitizer, if that differs), why
    only one language has it, and bodies by function."""

    def __init__(self, text):
        head, *bodies = re.split(r"^-- (?=[\w.]+\n)", text, flags=re.MULTILINE)
        first, *lines = head.strip().splitlines()
        self.kind, self.name = first.split(": ", 1)
        assert self.kind in ("wrong", "right"), first
        fields = dict(line.split(": ", 1) for line in lines)
        assert set(fields) <= {"source", "says", "sanitized", "only"}, fields
        self.sanitized = fields.get("sanitized")
        self.source = fields.get("source", "")
        self.only = fields.get("only")
        self.says = " ".join(fields["says"].split()) if self.kind == "wrong" else DONE
        self.bodies = {body.split("\n", 1)[0]: body.split("\n", 1)[1].rstrip() + "\n" for body in bodies}
        assert self.bodies, text


def cases_of(number, suffix="", kind=Case):
    text = (CASES / f"task{number}{suffix}.txt").read_text()
    cases = [kind(part) for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]]
    kinds = [case.kind for case in cases]
    assert kinds.count("wrong") >= 8 and kinds.count("right") >= 4, f"task {number}{suffix}: {len(cases)} solutions are too few"
    return cases


def is_in_pytorch(number):
    return (CASES / f"task{number}_pytorch.txt").exists()


def in_python(number, text, used=None):
    """Text of the task in C, in Python's words; adds those that are replaced to `used`."""
    text = " ".join(text.split())
    for task in (number, 0):  # first the task's own
        for c, python in DIFFERENT.get(task, {}).items():
            if c in text and used is not None:
                used.add((task, c))
            text = text.replace(c, python)
    return text


def twins_of(number):
    """Pairs of cases, in C and in PyTorch; None for a language that does not have it."""
    in_c = cases_of(number)
    if not is_in_pytorch(number):
        return [(case, None) for case in in_c]
    in_pytorch = {case.name: case for case in cases_of(number, "_pytorch")}
    pairs = [(case, in_pytorch.pop(in_python(number, case.name), None)) for case in in_c]
    return pairs + [(None, case) for case in in_pytorch.values()]


def faults_of(number):
    """Twins that do not say the same, and cases that have neither a twin nor a reason."""
    faults = []
    for c, python in twins_of(number) if is_in_pytorch(number) else ():
        one = c or python
        name = f"task {number}, {one.kind}: {one.name}"
        if c and python and (c.kind, in_python(number, c.says)) != (python.kind, python.says.strip()):
            faults.append(f"{name}\n  in C:       {c.says}\n  in PyTorch: {python.says}")
        if (c is None or python is None) != (one.only is not None) or (c and python and python.only):
            faults.append(f"{name}: a case has a twin in the other language, or says in `only` why not")
    return faults


def languages(number, c, python):
    """For the table: where this case is, and why only there."""
    where = "C, PyTorch" if c and python else "C" if c else "PyTorch"
    return where + (f": {(c or python).only}" if (c or python).only else "")
