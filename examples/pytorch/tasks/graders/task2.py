"""Grades task 2: scores of queries and keys."""
import math

import torch

from graders.common import (attempt, call, case, compare, first_wrong, is_near, matches, mistakes, near, say, show,
                            text_of)

NAMES = ("scores",)
FORBIDDEN = {}

# After the first case, which is square. Of each number of dims, sizes that are equal come first: a wrong transpose then
# gives numbers, which can be explained, and not an error of shapes.
SHAPES = (
    ((3, 1), (4, 1)),
    ((3, 4), (2, 4)),
    ((1, 3), (2, 3)),
    ((2, 2, 2), (2, 2, 2)),
    ((2, 3, 4), (2, 2, 4)),
    ((2, 2, 2, 2), (2, 2, 2, 2)),
    ((2, 3, 2, 4), (2, 3, 3, 4)),
)


def numbered(shape):
    """Different whole numbers around 0, so that no transpose is the same by chance."""
    n = math.prod(shape)
    return (torch.randperm(n).double() - n // 2).reshape(shape)


def drawn(shape, dtype):
    """In f32 whole numbers, which are added without rounding."""
    return torch.randint(-2, 3, shape).to(dtype) if dtype == torch.float32 else torch.randn(shape, dtype=dtype)


# ---- what a wrong answer is ----


def fitted(t, yours):
    """c t with the c that comes closest to yours, and c; None if the shapes differ."""
    if t is None or t.shape != yours.shape:
        return None, 0
    squares = (t * t).sum().item()
    if not yours.isfinite().all():
        return None, 0
    c = (t * yours).sum().item() / squares if squares > 0 else 0
    return t * c, c


def divisor_of(scores, T, S, d):
    """What the learner's code divides by, for sizes that are all different."""
    s = attempt(scores, torch.ones(T, d).double(), torch.ones(S, d).double())
    return d / s.max().item() if torch.is_tensor(s) and s.any() else math.nan


def explain_scale(scores, q, c):
    """Scores that are c times what they should be."""
    T, S, D = 5, 11, 7
    d, divisor = q.shape[-1], divisor_of(scores, T, S, D)
    heads = q.shape[1] if q.dim() == 4 else 1
    if c == 0:
        return say("all 0")
    for tokens, name in ((S, "keys"), (T, "queries")):
        for root, number in (("root of the ", math.sqrt(tokens)), ("", tokens)):
            if is_near(divisor, number):
                return say("tokens", root, name)
    if heads > 1 and is_near(c, 1 / math.sqrt(heads)):
        return say("width", heads * d, heads, d, d)
    if is_near(divisor, 2 * D):
        return ("You divide by d, and then by 2: that is what / d ** 1 / 2 does, because ** comes before /. The root is "
                "d ** (1 / 2).")
    return (say("not scaled") if is_near(c, math.sqrt(d)) else say("multiplied") if is_near(c, d) else
            say("by d") if is_near(divisor, D) else say("constant", c, math.sqrt(d) / c, d))


def are_shares(x, dim):
    """Whether each row or column sums to 1 and nothing is negative."""
    return x.dim() > 1 and x.size(dim) > 1 and x.min() >= 0 and bool(near(x.sum(dim), torch.ones(())).all())


def explain(scores, q, k, yours, right):
    q, k, yours = q.double(), k.double(), yours.detach().double()
    wrong = []
    for product, why in mistakes("scores", "product", q=q, k=k):
        result, c = fitted(product, yours)
        wrong.append((result, explain_scale(scores, q, c * math.sqrt(q.size(-1))) if why == "scale" else why))
    wrong.append((right.floor(), "Your scores are whole numbers: // rounds down."))
    if (yours == -math.inf).any():
        wrong.append((yours, say("masked")))
    if yours.shape == right.shape and torch.allclose(yours, right, 2e-3, 1e-3):
        wrong.insert(0, (yours, "Your scores are right to three digits only. Are they computed in half precision?"))
    show("q", first_wrong(q, yours, right))
    show("k", first_wrong(k, yours, right))
    compare("scores", yours, right, wrong, say("shares" if are_shares(yours, -1) or are_shares(yours, -2) else "otherwise"))


# ---- cases ----


def check(scores, q, k):
    case(f"q {text_of(q.shape)}, k {text_of(k.shape)}, {'f32' if q.dtype == torch.float32 else 'f64'}")
    yours = call("scores", scores, q=q, k=k)
    right = q.double() @ k.double().transpose(-2, -1) / math.sqrt(q.size(-1))
    if not matches("scores", yours, right.to(q.dtype)):
        explain(scores, q, k, yours, right)


def grade(scores):
    check(scores, torch.tensor([[1, 2], [3, 4]]).double(), torch.tensor([[1, 0], [2, 1]]).double())
    torch.manual_seed(2)
    for q, k in SHAPES:
        check(scores, numbered(q), numbered(k))
    for i in range(30):
        front = (1 + i % 2, 1 + i // 2 % 3)[:i % 3]
        d, dtype = 1 + i * 3 % 7, torch.float32 if i % 2 else torch.float64
        q, k = ((*front, tokens, d) for tokens in (1 + i % 5, 1 + i % 4))
        check(scores, *(drawn(shape, dtype) for shape in (q, k)))
