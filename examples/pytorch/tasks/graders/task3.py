"""Grades task 3: masks."""
import math

import torch

from graders import common
from graders.common import (NotBegun, call, case, equal, fail, first_wrong, is_near, matches, mistakes, near, right, say,
                            show, text_of, writes)

NAMES = ("causal_weights", "padded_weights")
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward", "generate_square_subsequent_mask"}

inf = math.inf


class Sought:
    """What a function should compute; names that only its mistakes read."""

    def __init__(self, what, token, x, hidden, **names):
        self.what, self.token = what, token  # the function, a hidden key
        self.x, self.hidden, self.dtype = x.double(), hidden.expand(x.shape), x.dtype
        self.names = {"x": self.x, "hidden": self.hidden, **names}


# ---- what can be seen of a mistake ----


def finite_score(s, y):
    """The score in place of the hidden ones from which softmax would give y; None if there is none."""
    pairs = s.hidden & (y > 0) & (~s.hidden & (y > 0)).any(-1, keepdim=True)
    if not pairs.any():
        return None
    *row, key = pairs.nonzero()[0].tolist()
    weights, x, seen = y[tuple(row)], s.x[tuple(row)], ~s.hidden[tuple(row)]
    j = int((seen & (weights > 0)).nonzero()[0])
    score = (x[j] + (weights[key] / weights[j]).log()).item()
    return score if equal(y, torch.softmax(s.x.masked_fill(s.hidden, score), -1)) else None


def symptom(s, y, expected):
    """What is wrong in the first row that is wrong."""
    T, S = y.shape[-2:]
    score = finite_score(s, y)
    plain = (y.isnan().any(-1) & ~s.hidden.any(-1)).flatten().nonzero().flatten().tolist()
    if plain and s.x.abs().max().item() > 700:
        return say("nan in a plain row", plain[0] % T)
    rows = zip(*(t.reshape(-1, S) for t in (y, s.x, s.hidden, expected)))
    for row, (weights, x, hidden, good) in enumerate(rows):
        row %= T
        if near(weights, good).all():
            continue
        most_hidden = x.masked_fill(~hidden, -inf).max().item()
        kept = x.masked_fill(hidden, -inf).max().item()
        seen = (hidden & ~near(weights, torch.zeros(()))).nonzero().flatten().tolist()
        off = int((~near(weights, good)).nonzero()[-1])
        if weights.isnan().any():
            hides = most_hidden - kept > 700
            return say("nan beside a larger score", row, most_hidden, s.token) if hides else say("nan", row)
        if seen and kept < -1000:
            return say("very low" if kept < -1e9 else "low", row, kept, s.token)
        if seen and score is not None:
            return say("finite", score, s.token, weights[seen[0]].item(), row)
        if seen:
            return say("seen", row, weights[seen[0]].item(), seen[0], s.token)
        if not is_near(weights.sum().item(), 1):
            return say("sum", row, weights.sum().item())
        return say("share", row, off, good[off].item())
    return say("order")


def compare(s, yours):
    """Compares yours."""
    expected = right("masks", "weights", **s.names).to(s.dtype)
    if matches(s.what, yours, expected):
        return
    show("scores", first_wrong(s.x, yours, expected))
    low = s.x.min().item() < -1000  # weights are 0 or 1, of many mistakes
    fits = yours.shape == expected.shape
    common.compare(s.what, yours, expected, [] if low else mistakes("masks", "weights zeros finite", **s.names),
                   symptom(s, yours.detach().double(), expected.double()) if fits else "")


# ---- causal ----


def check_causal(causal_weights, x):
    case(f"causal_weights, scores {text_of(x.shape)}, {'f32' if x.dtype == torch.float32 else 'f64'}")
    yours = call("causal_weights", causal_weights, scores=x)
    ones = torch.ones(x.shape, dtype=torch.bool)
    scores = {"deep" if x.dim() > 2 else "flat": x.double()}
    compare(Sought("causal_weights", "a later token", x, ones.triu(1), ones=ones, **scores), yours)


# ---- padding ----


def check_padded(padded_weights, x, lengths):
    case(f"padded_weights, scores {text_of(x.shape)}, lengths {lengths.tolist()}")
    yours = call("padded_weights", padded_weights, scores=x, lengths=lengths)

    keys, queries, length = torch.arange(x.size(2)), torch.arange(x.size(1))[:, None], lengths[:, None, None]
    keys, queries, length = torch.arange(x.size(2)), torch.arange(x.size(1))[:, None], lengths[:, None, None]
    compare(Sought("padded_weights", "padding", x, keys >= length, padded=x.double(), keys=keys, queries=queries, length=length,
                   lengths=lengths, S=x.size(2)), yours)


# ---- cases ----


# Scores of this size were found in a trained model, whose mask of -1e4 they undercut.
LOW = torch.tensor([[-15000, -9000, -9500], [-14000, -17000, -8000], [-12000, -13000, -14000]]).double()


def check_all_causal(causal_weights):
    first = torch.tensor([[1, 2, 0], [0, 1, 3], [2, 0, 1]]).double()
    negative = torch.tensor([[-5, -6, -7], [-8, -5, -6], [-7, -8, -5]]).double()
    for x in (first, negative, torch.zeros(1, 1).double(), LOW, LOW * 1e6):
        check_causal(causal_weights, x)
    torch.manual_seed(3)
    for i in range(20):
        front, T = (1 + i % 2, 2 + i % 3)[:i % 3], 1 + i % 7
        x = torch.randn(*front, T, T, dtype=torch.float64)
        check_causal(causal_weights, x.float() if i % 2 else x * i)  # f32 rounds large scores too much


def check_all_padded(padded_weights):
    # As many sequences, queries and keys: wrong shapes of a mask then broadcast. The first length is not the longest, and
    # the longest leaves padding.
    x = torch.tensor([[1, 2, 0, 3], [0, 1, 3, -1], [2, 0, 1, -2], [-1, 3, 2, 1]]).double()
    check_padded(padded_weights, torch.stack([x, x - 5, x, x - 5]), torch.tensor([2, 1, 3, 2]))
    check_padded(padded_weights, torch.arange(-8, 8).double().reshape(2, 2, 4), torch.tensor([3, 4]))
    check_padded(padded_weights, torch.zeros(1, 1, 1).double(), torch.tensor([1]))
    check_padded(padded_weights, torch.stack([LOW[:2], LOW[:2]]), torch.tensor([2, 3]))
    check_padded(padded_weights, LOW[None, 1:2] * 1e6, torch.tensor([2]))
    torch.manual_seed(33)
    for i in range(20):
        B, T, S = 1 + i % 4, 1 + i % 3, 1 + i % 6
        x = torch.randn(B, T, S, dtype=torch.float64)
        check_padded(padded_weights, x.float() if i % 2 else x * i, torch.randint(1, S + 1, (B,)))


def grade(causal_weights, padded_weights):
    if writes(causal_weights):
        check_all_causal(causal_weights)
    elif not writes(padded_weights):
        raise NotBegun
    check_all_padded(padded_weights)
    if not writes(causal_weights):
        case("causal_weights")
        fail("empty")
