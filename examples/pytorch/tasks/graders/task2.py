"""Grades task 2: scores of queries and keys."""
import math

import torch

from graders.common import attempt, call, case, compare, first_wrong, is_near, matches, near, show, text_of

TITLE = "scores of queries and keys"
HINTS = (
    "Write down the shapes: (T, d) times (d, S) gives (T, S). k has (S, d). Which function exchanges two dims, and which "
    "two are the same with and without a batch?",
    "Dims counted from the end, -1 and -2, are the features and the tokens with any number of dims in front. q.size(-1) "
    "is d.",
)
QUESTIONS = (
    "Queries and keys of 64 features have a variance of 1. How large are typical products of a query and a key, and how "
    "large are typical scores?",
    "The scores of a text of 10 tokens are computed, and then those of the same text with an 11th token. Which of the old "
    "scores change?",
)
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
    d, divisor = q.shape[-1], divisor_of(scores, 5, 11, 7)
    heads = q.shape[1] if q.dim() == 4 else 1
    if c == 0:
        return "All your scores are 0. If you divide integers: in Python, 1 // 2 is 0."
    for tokens, name in ((11, "keys"), (5, "queries")):  # before d, which may be as large
        for root, number in (("root of the ", math.sqrt(tokens)), ("", tokens)):
            if is_near(divisor, number):
                return (f"You divide by the {root}number of {name}. A longer text would change the scores of the same two tokens. "
                        "What grows a score is how many products are added up in it.")
    # Before d, which may be as large: earlier cases have found a division by d.
    if heads > 1 and is_near(c, 1 / math.sqrt(heads)):
        return (f"You divide by the root of {heads * d} = {heads} heads of {d} features, the width of the model. A score in "
                f"one head is a sum of {d} products only.")
    if is_near(c, math.sqrt(d)):
        return ("Your scores are products that are not scaled. A sum of d products grows with d, and softmax of large "
                "scores gives nearly everything to one key, with a gradient of nearly 0. (If you scale: Python has made the "
                "divisor 1. In Python, 1 // 2 is 0, so d ** (1 // 2) is 1, and int(2 ** 0.5) is 1, too.)")
    if is_near(c, d):
        return "You multiply by the root of d. The products are too large already: they are to become smaller."
    if is_near(c, 1 / math.sqrt(d)):
        return ("You divide by d, without the root (or by the root twice). The scores become too small, and softmax gives "
                "all keys nearly the same share.")
    if is_near(c, 1 / (2 * math.sqrt(d))):
        return ("You divide by d, and then by 2: that is what / d ** 1 / 2 does, because ** comes before /. The root is "
                "d ** (1 / 2).")
    return (f"Each of your scores is {c:.4g} times what it should be: the products are right, and what you divide by, "
            f"{math.sqrt(d) / c:.4g}, does not follow from the shapes of this case.")


def are_shares(x, dim):
    """Whether each row or column sums to 1 and nothing is negative."""
    return x.dim() > 1 and x.size(dim) > 1 and x.min() >= 0 and bool(near(x.sum(dim), torch.ones(())).all())


def explain(scores, q, k, yours, right):
    q, k, yours = q.double(), k.double(), yours.detach().double()
    products = (
        (right, None),
        (attempt(torch.matmul, q, k),
         "Your keys are not transposed (a reshape does not do that: it keeps the order of the numbers): a row of q is multiplied by "
         "columns of k, which have one feature of all keys. A score belongs to one query and one key."),
        (attempt(torch.matmul, k, q.transpose(-2, -1)),
         "Your scores are transposed, k q^T: row i has the scores of key i with all queries. Each row should belong to a "
         "query, because softmax runs along rows."),
        (attempt(lambda: q.transpose(-2, -1) @ k),
         "You multiply q^T k: that compares features, each with each, added up over the tokens. A score compares a query with "
         "a key."),
        (attempt(lambda: q * k),
         "You multiply numbers in the same place, q * k. A score is the sum of d such products, of each query with each key."),
        (attempt(lambda: q @ k.permute(*range(k.dim())[::-1])) if k.dim() > 2 else None,
         "You reverse all dims of the keys, as .T and .t() do, so queries meet keys of other sequences. Which dims are always "
         "the tokens and the features?"),
        (attempt(lambda: q @ k.transpose(0, 1)) if k.dim() > 2 else None,
         "You exchange dims 0 and 1 of the keys. In a batch these are the sequences and the tokens, so queries meet keys "
         "of other sequences. Which dims are always the tokens and the features?"),
        (attempt(lambda: q @ k.transpose(1, 2)) if k.dim() > 3 else None,
         "You exchange dims 1 and 2 of the keys. With heads these are the heads and the tokens, so queries meet keys of "
         "other heads. Which dims are always the tokens and the features?"),
    )
    mistakes = []
    for product, why in products:
        result, c = fitted(product, yours)
        mistakes.append((result, why or explain_scale(scores, q, c)))
    mistakes.append((right.floor(), "Your scores are whole numbers: // rounds down."))
    if (yours == -math.inf).any():
        mistakes.append((yours, "Some of your scores are -inf: hidden by a mask. Masks come in task 3."))
    if yours.shape == right.shape and torch.allclose(yours, right, 2e-3, 1e-3):
        mistakes.insert(0, (yours, "Your scores are right to three digits only. Are they computed in half precision?"))
    show("q", first_wrong(q, yours, right))
    show("k", first_wrong(k, yours, right))
    compare("scores", yours, right, mistakes,
            "Your scores are shares already: they sum to 1. Softmax comes later, after a mask has hidden some of the scores."
            if are_shares(yours, -1) or are_shares(yours, -2) else
            "Score (i, j) is the sum of the products of the features of query i and key j, divided by the root of the "
            "number of features. Compute one of the numbers in brackets by hand.")


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
