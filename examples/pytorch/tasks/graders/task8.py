"""Grades task 8: several heads."""
import torch
from torch import nn

from graders.common import (attention_check, call, case, compare, fail, matches, mistakes, right, say, show,
                            text_of)

NAMES = ("split_heads", "merge_heads", "forward")
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward"}


def sizes_of(B, T, C, heads):
    """What formulas read."""
    return {"B": B, "T": T, "C": C, "heads": heads, "width": C // heads}


# ---- split and merge ----


def check_split(split_heads, x, heads):
    case(f"split_heads, x {text_of(x.shape)}, {heads} head{'' if heads == 1 else 's'}")
    yours = call("split_heads", split_heads, x=x, heads=heads)
    names = sizes_of(*x.shape, heads)
    expected = right("split", "y", x=x, **names)
    if not matches("split_heads", yours, expected) and len(x) == 1:
        show("x, 10 times the token plus the feature", x[0])
    compare("split_heads", yours, expected, mistakes("split", "y", x=x, **names),
            say("each split"))
    return expected


def check_merge(merge_heads, y):
    case(f"merge_heads, y {text_of(y.shape)}")
    yours = call("merge_heads", merge_heads, y=y)
    B, heads, T, width = y.shape
    names = sizes_of(B, T, heads * width, heads)
    expected = right("merge", "y", x=y, **names)
    if not matches("merge_heads", yours, expected) and len(y) == 1:
        show("y, head 0; 10 times the token plus the feature", y[0, 0])
    compare("merge_heads", yours, expected, mistakes("merge", "y", x=y, **names),
            say("each merge"))


# ---- forward ----


class MultiHead(nn.Module):
    """The layers that forward gets."""

    def __init__(self, C, heads, dtype):
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(C, C, bias=False)
        self.W_k = nn.Linear(C, C, bias=False)
        self.W_v = nn.Linear(C, C, bias=False)
        self.W_o = nn.Linear(C, C, bias=False)
        self.to(dtype)


def check_forward(forward, B, T, C, heads, dtype):
    m = MultiHead(C, heads, dtype)
    x = torch.randn(B, T, C, dtype=torch.float64).to(dtype)
    case(f"forward, x {text_of(x.shape)}, {heads} head{'' if heads == 1 else 's'}, "
         f"{'f32' if dtype == torch.float32 else 'f64'}")
    try:
        yours = call("forward", forward, m=m, x=x)
    except RuntimeError as error:
        if "mat1 and mat2 shapes" in str(error):
            error.advice = say("all features", C)
        raise
    W = torch.stack([m.W_q.weight, m.W_k.weight, m.W_v.weight]).unsqueeze(1)
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    names = {"x": x, "W": W, "W_o": m.W_o.weight, "later": later, **sizes_of(B, T, C, heads)}
    compare("forward", yours, right("forward", "y", **names), mistakes("forward", "y", **names),
            say("pencil"))


def check_attention(forward, C, heads):
    """What numbers do not show: gradients, and that a call depends on nothing else."""
    case(f"attention_check of forward, {C} features, {heads} heads")
    m = MultiHead(C, heads, torch.float64)
    report = attention_check(lambda x: forward(m, x), C, heads=heads, module=m, show=False)
    for result in report.checks.values():
        if result.verdict == "failed":
            fail("check", result.text)


# ---- cases ----


def numbered(B, T, C):
    """(B, T, C): 100 times the sequence plus 10 times the token plus the feature."""
    b, t = 100 * torch.arange(B).reshape(B, 1, 1), 10 * torch.arange(T).reshape(T, 1)
    return (b + t + torch.arange(C)).double()


SIZES = ((1, 3, 4, 2), (1, 2, 4, 4), (1, 4, 4, 1), (2, 3, 6, 2), (2, 4, 6, 3), (3, 1, 8, 4), (1, 1, 1, 1))  # B, T, C, heads


def grade(split_heads, merge_heads, forward):
    torch.manual_seed(5)
    split = [check_split(split_heads, numbered(B, T, C), heads) for B, T, C, heads in SIZES]
    check_split(split_heads, torch.randn(2, 5, 12), 4)
    for y in split:
        check_merge(merge_heads, y)
    check_merge(merge_heads, torch.randn(2, 4, 5, 3))
    check_forward(forward, 1, 4, 6, 2, torch.float64)  # heads, width and T differ, and their roots
    for i, sizes in enumerate(SIZES):
        check_forward(forward, *sizes, torch.float32 if i % 2 else torch.float64)
    check_forward(forward, 2, 5, 12, 4, torch.float64)
    check_attention(forward, 6, 2)
    check_attention(forward, 12, 4)
