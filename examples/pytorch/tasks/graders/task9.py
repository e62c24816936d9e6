"""Grades task 9: generation with a cache."""
import math

import torch
from torch.overrides import TorchFunctionMode

from graders.common import attention_check, case, compare, equal, fail, returned, show

TITLE = "generation with a cache of keys and values"
HINTS = (
    "Write forward for the one token first, with its position. That is right for step 0. From step 1 on, what does its "
    "query need besides its own key and value?",
    "torch.cat appends along dim 1 (tokens) to what the last step kept; at position 0 there is nothing to append to. Keep "
    "the result, then attend to all of it: nothing in it is later than the new token, so there is nothing to block.",
)
QUESTIONS = (
    "Why does the cache hold no queries?",
    "The model has a causal mask. Why would a cache be wrong for a model without one?",
)
NAMES = ("Writer",)
FORBIDDEN = {}
LONGEST = 24


def make(Writer, d, dtype=torch.float64):
    m = Writer(d)
    with torch.no_grad():
        for layer in (m.W_q, m.W_k, m.W_v, m.W_o):
            layer.weight *= 2  # scores of a size that makes weights differ
    return m.to(dtype)


# ---- the right row, and what known mistakes compute ----

MISTAKES = {
    "nothing": "The row is 0: the first token of a sentence attends to nothing. No token is before it, but it should attend "
               "to itself.",
    "without itself": "The new token attends to the tokens before it, but not to itself: its key and value are not in the "
                      "cache yet when it looks.",
    "itself alone": "The new token attends to itself alone: the keys and values of the tokens before it are lost.",
    "first alone": "The new token attends to token 0 alone. A causal mask for one query and p + 1 keys is aligned at the "
                   "top left then: it takes the query for token 0. Which keys may the newest token not see?",
    "at zero": "Each token gets position 0. One token is given, but it is not the first one of its sentence.",
    "no position": "The tokens get no position: y does not depend on their order.",
    "next position": "Each token gets the position after its own: the first one is at position 0.",
    "jump": "Only the first token gets its own position; those after it get the next one.",
    "old sentence": "The tokens of the sentence before are still in the cache. Position 0 begins a new one.",
    "q as k": "The scores are products of queries with queries: the cache has W_q's results where it should have keys.",
    "k as v": "Your values are keys: y is a mean of what W_k computes.",
    "v as k": "Your keys are values: the scores are products of queries with what W_v computes.",
    "no output": "The result does not pass through W_o.",
}


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), -1) @ v


def row_of(m, x, old, p, form="right"):
    """Row p of x (B, T, d), (B, 1, d). `old` is the sentence before, or None. None if the form cannot be computed."""
    if (form in ("next position", "jump") and p + 2 > LONGEST) or (form == "without itself" and p == 0):
        return None
    if form == "old sentence" and (old is None or len(old) != len(x)):
        return None
    if form == "nothing":
        return torch.zeros_like(x[:, :1]) if p == 0 else None
    seen = x[:, :p + 1]
    if form == "at zero":
        seen = seen + m.positions[:1]
    elif form == "jump":
        seen = seen + torch.cat([m.positions[:1], m.positions[2:p + 2]])
    elif form != "no position":
        first = 1 if form == "next position" else 0
        seen = seen + m.positions[first:first + p + 1]
    q = m.W_q(seen[:, -1:])
    if form == "old sentence":
        seen = torch.cat([old + m.positions[:old.size(1)], seen], dim=1)
    seen = {"without itself": seen[:, :-1], "itself alone": seen[:, -1:], "first alone": seen[:, :1]}.get(form, seen)
    keys = {"q as k": m.W_q, "v as k": m.W_v}.get(form, m.W_k)
    values = m.W_k if form == "k as v" else m.W_v
    y = attend(q, keys(seen), values(seen))
    return y if form == "no output" else m.W_o(y)


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
            fail(f"The row is right, but in this step {rows} rows of a sentence pass through {layer}, and one token is new. A "
                 "model without a cache does that much. What of an old token is still needed, once it has been computed?")
    if work.products > batch * (8 * d + 2 * LONGEST):
        fail(f"The row is right, but the matrix products of this step have {work.products // batch} numbers for a sentence. "
             f"A query, key and value of {d} numbers, and a score for each key, are fewer. Which rows does your code compute "
             "that nobody reads?")


# ---- cases ----


def show_inputs(m, x, p):
    seen = x[:, :p + 1] + m.positions[:p + 1]
    show(f"the new token, x (position {p})", x[:, p:p + 1])
    show(f"keys of the tokens up to position {p}", m.W_k(seen))
    show(f"values of the tokens up to position {p}", m.W_v(seen))


def check_step(m, x, old, p, otherwise):
    right = row_of(m, x, old, p)
    work = Work(m)
    try:
        with work:
            y = m.step(x[:, p:p + 1].clone(), p)
    except Exception as error:
        if p > 0:
            error.advice = ("Step 0 works, this step does not. How many keys, and how many values, does your code have in "
                            "this step?")
        raise
    returned("y", y, right.shape)
    if equal(y, right):
        if p > 1:  # before, mistakes can still look right
            check_work(work, len(x), x.size(2))
        return
    if x.size(2) == 2:
        show_inputs(m, x, p)
    mistakes = {form: row_of(m, x, old, p, form) for form in MISTAKES}
    if p == 1 and equal(y, mistakes["first alone"]) and is_first_alone(m, x, old):
        mistakes["without itself"] = None
    compare("y", y, right, [(row, MISTAKES[form]) for form, row in mistakes.items()], otherwise)


def is_first_alone(m, x, old):
    """Without itself, or the first alone? After step 1, step 2 tells."""
    try:
        y = m.step(x[:, 2:3].clone(), 2)
    except Exception:
        return False
    return torch.is_tensor(y) and equal(y, row_of(m, x, old, 2, "first alone"))


def check_sentence(m, x, old, name, tokens):
    """The first `tokens` of x, one by one."""
    for p in range(tokens):
        case(f"d_model {x.size(2)}, batch {len(x)}, {name}, step {p}")
        check_step(m, x, old, p, "This is none of the mistakes that the grader knows. Print the shapes of what is in the "
                   "cache at each step (self.keys.shape): which tokens does it have?")


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
                   "With one model, the steps are right. Do the two models share a cache?")


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
            fail("forward is not what it was. Undo your change of it.")


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
