"""Grades task 9: generation with a cache."""
import torch
from torch.overrides import TorchFunctionMode

from graders.common import (answered, attempt, attention_check, case, changed, compare, equal, fail, matches, mistakes,
                            say, show, text_of, unchanged)

NAMES = ("Writer",)
FORBIDDEN = {}
LONGEST = 24


def make(Writer, d, dtype=torch.float64):
    m = Writer(d)
    with torch.no_grad():
        for layer in (m.W_q, m.W_k, m.W_v, m.W_o):
            layer.weight *= 2  # scores of a size that makes weights differ
    return m.to(dtype)


# ---- the right row ----


def names_of(m, x, old, p):
    """What formulas read for row p of x (B, T, d). `old` is the sentence before, or None."""
    names = {name: getattr(m, name).weight.double() for name in ("W_q", "W_k", "W_v", "W_o")}
    x, positions = x.double(), m.positions.double()
    names.update(x=x[:, :p + 1], p=p, d=x.size(2), own=positions[:p + 1], zero=positions[:1],
                 later=torch.ones(p + 1, p + 1, dtype=torch.bool).triu(1), empty=x.new_zeros(len(x), LONGEST - p - 1, x.size(2)))
    if p == 0:
        names["first"] = x[:, :1]
    if p + 2 <= LONGEST:
        names.update(next=positions[1:p + 2], jump=torch.cat([positions[:1], positions[2:p + 2]]))
    if old is not None and len(old) == len(x):
        names["old"] = old.double() + positions[:old.size(1)]
    return names


def row_of(m, x, old, p, changes=()):
    """Row p, (B, 1, d), with changes of formulas."""
    return changed("step", "y", changes, **names_of(m, x, old, p)).to(x.dtype)


# ---- what a step computes: the work that a cache saves ----

PRODUCTS = {"linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "einsum", "addmm", "baddbmm"}


class Work(TorchFunctionMode):
    """Counts rows that pass through W_q, W_k and W_v, and numbers that matrix products result in."""

    def __init__(self, m):
        super().__init__()
        self.weights = {name: getattr(m, name).weight for name in ("W_q", "W_k", "W_v")}
        self.rows, self.products = dict.fromkeys(self.weights, 0), 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        y = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        tensors = [t for t in args if torch.is_tensor(t)]
        if name in PRODUCTS and torch.is_tensor(y):
            self.products += y.numel()
            for a, b in (tensors[:2], tensors[1::-1]) if len(tensors) > 1 else ():
                for layer, weight in self.weights.items():
                    if a.data_ptr() == weight.data_ptr():
                        self.rows[layer] += b.numel() // weight.size(1)
        if name == "scaled_dot_product_attention" and len(tensors) > 1:  # scores, and y
            self.products += y.numel() // y.size(-1) * tensors[1].size(-2) + y.numel()
        return y


def check_work(work, batch, d):
    for layer in ("W_v", "W_k", "W_q"):
        rows = work.rows[layer] // batch
        if rows > 1:
            fail("rows", rows, layer)
    if work.products > batch * (8 * d + 2 * LONGEST):
        fail("products", work.products // batch, d)


def cached(m):
    """For an error: "self.keys is (1, 2, 2), self.values is None"."""
    return ", ".join(f"self.{name} is {text_of(kept.shape) if torch.is_tensor(kept) else kept}"
                     for name, kept in ((name, getattr(m, name, None)) for name in ("keys", "values")))


# ---- cases ----


def show_inputs(m, x, p):
    seen = x[:, :p + 1] + m.positions[:p + 1]
    show(f"the new token, x (position {p})", x[:, p:p + 1])
    show(f"keys of the tokens up to position {p}", m.W_k(seen))
    show(f"values of the tokens up to position {p}", m.W_v(seen))


def check_step(m, x, old, p, otherwise):
    right = row_of(m, x, old, p)
    work, token = Work(m), x[:, p:p + 1].clone()
    try:
        with work:
            y = m.step(token, p)
    except Exception as error:
        if p == 0 and "None" in str(error):
            error.advice = f"At position 0 nothing is in the cache ({cached(m)})."
        elif p > 0 and (isinstance(error, RuntimeError) or m.keys is None or m.values is None):
            error.advice = say("later step", cached(m))
        raise
    answered("y", y, m.step)
    unchanged("x", token, x[:, p:p + 1])
    if matches("y", y, right):
        if p > 1:  # before, mistakes can still look right
            check_work(work, len(x), x.size(2))
        return
    if x.size(2) == 2:
        show_inputs(m, x, p)
    wrong = mistakes("step", "y", **names_of(m, x, old, p))
    # Two mistakes can be the same in this step; the next one tells. At step 0 a value is the result, so its position is that of
    # all. At step 1, the first alone is all but itself, and one key leaves no choice.
    rows = "softmax(hide(%s @ t(k) / sqrt(d), later, -inf), -1) @ v @ t(W_o)"
    for at, one, other in ((0, {"seen": "x"}, {"v": "x @ t(W_v)"}),
                           (1, {"among": "narrow(seen, 1, 0, p)"}, {"among": "narrow(seen, 1, 0, 1)"}),
                           (1, {"y": rows % "seen @ t(W_q)"}, {"y": rows % "q"})):
        if p == at and p + 1 < x.size(1) and equal(y, row_of(m, x, old, p, one)):
            following = attempt(m.step, x[:, p + 1:p + 2].clone(), p + 1)
            if torch.is_tensor(following) and equal(following, row_of(m, x, old, p + 1, other)):
                del wrong[next(i for i, (row, _) in enumerate(wrong) if row is not None and equal(row, y))]
    compare("y", y, right, wrong, otherwise)


def check_sentence(m, x, old, name, tokens):
    """The first `tokens` of x, one by one."""
    for p in range(tokens):
        case(f"d_model {x.size(2)}, batch {len(x)}, {name}, step {p}")
        check_step(m, x, old, p, say("otherwise"))


def random_sentence(batch, tokens, m):
    weight = m.W_q.weight
    return torch.randn(batch, tokens, weight.size(1), dtype=torch.float64).to(weight.dtype)


def check_sentences(Writer, d, dtype):
    m = make(Writer, d, dtype)
    first, second = random_sentence(1, 4, m), random_sentence(1, 3, m)
    batch, other = random_sentence(3, 5, m), random_sentence(2, 1, m)
    check_sentence(m, first, None, "a sentence", 4)
    check_sentence(m, second, first, "the next sentence", 3)
    check_sentence(m, batch, None, "a batch", 2)
    check_sentence(m, batch, batch[:, :2], "the batch again, from its beginning", 5)
    check_sentence(m, other, None, "sentences of one token", 1)


def check_two(Writer):
    """Two models write in turn."""
    models = [make(Writer, 3), make(Writer, 3)]
    sentences = [random_sentence(2, 4, m) for m in models]
    for step in range(8):
        which = step % 2
        case(f"two models write in turn, each with its own cache; model {which}, step {step // 2}")
        check_step(models[which], sentences[which], None, step // 2,
                   say("shared"))


def check_attention(Writer):
    case("attention_check of forward, with step=")
    m = make(Writer, 6, torch.float32)
    report = attention_check(m, 6, causal=True, positions="absolute", longest=LONGEST, module=m, step=m.step, show=False)
    for result in [report.checks["cache"], *report.checks.values()]:
        if result.verdict == "failed":
            fail(result.text)


def check_given(Writer):
    case("forward, which is given")
    m = make(Writer, 3)
    x = random_sentence(2, 5, m)
    y = m(x)
    for p in range(5):
        if not torch.is_tensor(y) or not equal(y[:, p:p + 1], row_of(m, x, None, p)):
            fail("changed")


def grade(Writer):
    torch.manual_seed(9)
    with torch.no_grad():
        check_sentences(Writer, 2, torch.float64)
        check_given(Writer)
        check_sentences(Writer, 5, torch.float64)
        check_sentences(Writer, 3, torch.float32)
        for batch in (1, 2):
            m = make(Writer, 4)
            check_sentence(m, random_sentence(batch, LONGEST, m), None, "a long sentence", LONGEST)
        check_two(Writer)
    check_attention(Writer)
