"""Grades task 9: generation with a cache."""
import math

import torch
from torch.overrides import TorchFunctionMode

from graders.common import (answered, attempt, attention_check, case, compare, equal, fail, matches, returned, show,
                            text_of, unchanged)

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
    "positions twice": "The positions are added twice.",
    "x as query": "The query does not pass through W_q: scores are products of keys with x itself.",
    "query without position": "The query is computed from x without its position. Keys and values have theirs.",
    "keys without positions": "The keys are computed from x without their positions, so the scores do not depend on the order "
                              "of the tokens.",
    "values without positions": "The values are computed from x without their positions. Queries and keys have theirs.",
    "value joined to keys": "The new value is joined to the keys of the tokens before, so old keys are used as values.",
    "key joined to values": "The new key is joined to the values of the tokens before, so old values are used as keys.",
    "other order": "Keys and values are in different orders: the new one is joined to the end of one and to the front of the "
                   "other. Each weight then goes to the value of another token.",
    "first and itself": "The new token attends to token 0 and to itself: what step 1 has joined is not in the cache. Does "
                        "every step keep its keys and values?",
    "old sentence": "The tokens of the sentence before are still in the cache. Position 0 begins a new one.",
    "q as k": "The scores are products of queries with queries: the cache has W_q's results where it should have keys.",
    "k as v": "Your values are keys: y is a mean of what W_k computes.",
    "v as k": "Your keys are values: the scores are products of queries with what W_v computes.",
    "no output": "The result does not pass through W_o.",
}


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), -1) @ v


OF_PARTS = [*MISTAKES][[*MISTAKES].index("x as query"):[*MISTAKES].index("old sentence")]


def row_of_parts(m, x, p, form):
    """Row p where queries, keys and values come from different rows."""
    x = x[:, :p + 1]
    seen = x + m.positions[:p + 1]
    q = (x if form == "query without position" else seen)[:, p:]
    q = q if form == "x as query" else m.W_q(q)
    k = m.W_k(x if form == "keys without positions" else seen)
    v = m.W_v(x if form == "values without positions" else seen)
    n = min(p, 1) if form == "first and itself" else p
    old_k, old_v = k[:, :n], v[:, :n]
    new_k = torch.cat([old_v if form == "key joined to values" else old_k, k[:, p:]], dim=1)
    new_v = torch.cat([old_k if form == "value joined to keys" else old_v, v[:, p:]], dim=1)
    return m.W_o(attend(q, new_k.flip(1) if form == "other order" else new_k, new_v))


def row_of(m, x, old, p, form="right"):
    """Row p of x (B, T, d), (B, 1, d). `old` is the sentence before, or None. None if the form cannot be computed."""
    if (form in ("next position", "jump") and p + 2 > LONGEST) or (form == "without itself" and p == 0):
        return None
    if form == "old sentence" and (old is None or len(old) != len(x)):
        return None
    if form in OF_PARTS:
        return row_of_parts(m, x, p, form)
    if form == "nothing":
        return torch.zeros_like(x[:, :1]) if p == 0 else None
    seen = x[:, :p + 1]
    if form == "at zero":
        seen = seen + m.positions[:1]
    elif form == "jump":
        seen = seen + torch.cat([m.positions[:1], m.positions[2:p + 2]])
    elif form != "no position":
        first = 1 if form == "next position" else 0
        seen = seen + m.positions[first:first + p + 1] * (2 if form == "positions twice" else 1)
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


def cached(m):
    """For an error: "self.keys is (1, 2, 2), self.values is None"."""
    return ", ".join(f"self.{name} is {text_of(kept.shape) if torch.is_tensor(kept) else kept}"
                     for name, kept in ((name, getattr(m, name, None)) for name in ("keys", "values")))


def explain_shape(m, y, x, p):
    """A row of other shapes, at p > 0."""
    B, d = len(x), x.size(2)
    begin = f"y should have the shape {text_of((B, 1, d))}; yours has {text_of(y.shape)}."
    if p > 0 and y.shape == (B, p + 1, d):
        rows = y
        if p == 1 and x.size(1) > 2:  # with two keys, both mistakes are the same
            rows = attempt(m.step, x[:, 2:3].clone(), 2)
        if torch.is_tensor(rows) and rows.dim() == 3 and all(
                equal(rows[:, i:i + 1], row_of(m, x, None, i)) for i in range(min(rows.size(1), x.size(1)))):
            fail(f"{begin} These are the rows of all tokens up to this one. The step returns the new one; the others have been "
                 "returned before.")
        fail(f"{begin} One query has become several: a mask with a row for each token does that (which keys may the newest token "
             "not see?), and so do queries from the cache.")
    if p > 0 and y.shape == (B * (p + 1), 1, d):
        fail(f"{begin} Keys and values are joined along dim 0, as if each token were another sequence. Which dim has the tokens?")


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
        if p > 0 and (isinstance(error, RuntimeError) or m.keys is None or m.values is None):
            error.advice = ("Step 0 works, this step does not. How many keys, and how many values, does your code have in "
                            f"this step? ({cached(m)}.)")
        raise
    answered("y", y, m.step)
    unchanged("x", token, x[:, p:p + 1])
    explain_shape(m, y, x, p)
    returned("y", y, right.shape)
    if matches("y", y, right):
        if p > 1:  # before, mistakes can still look right
            check_work(work, len(x), x.size(2))
        return
    if x.size(2) == 2:
        show_inputs(m, x, p)
    mistakes = {form: row_of(m, x, old, p, form) for form in MISTAKES}
    # Two mistakes can be the same in this step; the next one tells. At step 0 a value is the result, so its position is that of
    # all. At step 1, the first alone is all but itself.
    for at, one, other in ((0, "no position", "values without positions"), (1, "without itself", "first alone")):
        if p == at and equal(y, mistakes[one]) and p + 1 < x.size(1):
            following = attempt(m.step, x[:, p + 1:p + 2].clone(), p + 1)
            if torch.is_tensor(following) and equal(following, row_of(m, x, old, p + 1, other)):
                mistakes[one] = None
    compare("y", y, right, [(row, MISTAKES[form]) for form, row in mistakes.items()], otherwise)


def check_sentence(m, x, old, name, tokens):
    """The first `tokens` of x, one by one."""
    for p in range(tokens):
        case(f"d_model {x.size(2)}, batch {len(x)}, {name}, step {p}")
        check_step(m, x, old, p, "This is none of the mistakes that the grader knows. Print what is in the cache at "
                   "each step: are these the keys and values of the tokens up to this one, and in the same order?")


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
