"""Grades task 1: softmax."""
import math

import torch

from graders.common import case, fail, is_near, matches, near, returned, show, unchanged

TITLE = "softmax along a dim"
HINTS = (
    "Nothing in the formula changes if you replace each x_i by x_i - m, for any m: numerator and denominator both become "
    "exp(m) times smaller.",
    "With m the largest score of the row (or column) no exponent is above 0, and one is 0: the sum is at least 1. "
    "x.amax(dim, keepdim=True) and sum(dim, keepdim=True) keep a dim of size 1, so that what they return broadcasts "
    "along x.",
)
QUESTIONS = (
    "Two words have the scores 3 and 1. What are the shares if both scores become 10 larger, and what if both become 10 "
    "times as large?",
    "Why does attention need softmax along the keys, and not along the queries?",
)
NAMES = ("softmax",)
FORBIDDEN = {"softmax", "softmin", "log_softmax", "gumbel_softmax"}

inf = math.inf
GIVEN = (  # x and dim
    ([[1, 2, 3]], 1),
    ([[1, 2, 3], [0, 0, 2]], 1),
    ([[1, 2, 3], [0, 0, 2]], 0),
    ([[5], [-5], [0]], 1),
    ([[7, -7, 0, 1]], 0),
    ([[1000, 1001]], 1),
    ([[-1000, -1001]], 1),
    ([[1000, 1001], [-1000, -1001]], 1),
    ([[-2000, -1999], [2000, 2001]], 1),
    ([[800, -800], [801, -801], [-inf, -900]], 0),
    ([[1, -inf, 2, -inf], [-inf, -inf, -inf, 3]], 1),
    ([[-1e300]], 1),
    ([[-3, -3, -3], [1e6, 1e6, -1e6]], 1),
    ([[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]], 0),
)


def explain(x, y, dim):
    """Explains y, which is not what it should be."""
    line, lines = ("row", "Row") if dim == 1 else ("column", "Column")
    nan = y.isnan()
    most = x[nan].max().item() if nan.any() else -inf  # of the scores without a share
    which = "The shares stay the same if one number is subtracted from all scores first; which one?"
    if len(x) == 1 and 0 < y[0, 0] == y[0, -1] < inf and x[0, 0] >= 1000:
        fail(f"Scores that differ get the same share. If you cut off what is too large for exp, {x[0, 0]:g} and {x[0, 1]:g} become "
             "the same number. Subtract one number from all scores instead: their differences stay.")
    right = torch.softmax(x, dim)
    if near(y, torch.softmax(-x, dim)).all():
        fail("That is softmax of -x: the lowest score gets the largest share. A sign is wrong in an exponent.")
    if near(y, torch.softmax(x, 1 - dim)).all():
        fail("Your shares run along the other dim. dim 1 is along a row, dim 0 along a column.")
    if nan.any() and most < -700 and len(x) == 1:
        fail("A share is NaN: each exp is so small that it is 0, and 0 / 0 is NaN. Subtract the largest score. If you do: a "
             "search for it that begins at 0 or torch.finfo(x.dtype).tiny finds that, because all scores here are smaller. Begin "
             "with the first score.")
    if nan.any() and most < -700:
        fail(f"A share is NaN: all exponents of a {line} are so small that exp gives 0, and 0 / 0 is NaN. The largest "
             f"number of another {line} does not help this one.")
    if nan.any() and most < 700:
        fail("A share is NaN: it was not written (torch.empty has no numbers yet), or 0 was divided by 0.")
    if nan.any() and ((x == -inf).any(dim) | ~nan.any(dim)).all():
        fail(f"A share is NaN. A score of the same {line} is -inf, and so is what you subtract if it is a mean, the "
             f"smallest or the last score: -inf - -inf is NaN. {which}")
    if nan.any():
        fail(f"A share is NaN: exp of a large score is infinite, and inf / inf is NaN. {which}")
    if near(y, x.exp()).all() and 0 < y.sum() < inf:
        fail("y is exp(x), which is not divided by anything yet.")
    if near(y, (x - x.amax(dim, keepdim=True)).exp()).all():
        own = y.sum(dim)[0].item()
        fail(f"{lines} 0 sums to {own:.6g}: all its shares are too large by that factor, because its exponentials are not divided by "
             "their sum.")
    if is_near(y.sum().item(), 1) and x.shape[1 - dim] > 1:
        fail(f"All shares together sum to 1. Each {line} should sum to 1.")
    for i, own in enumerate(y.sum(dim).tolist()):
        largest = (x[i] if dim == 1 else x[:, i]).max().item()
        if math.isinf(own) or (own == 0 and abs(largest) > 700):
            fail(f"{lines} {i} sums to {own:g}: its largest score is {largest:g}, and exp of that is {'infinite' if largest > 0 else 0}. "
                 f"{which}")
        for power, where in ((-largest, "in the numerator, but not in the sum"), (largest, "in the sum, but not in the numerator")):
            if abs(power) < 700 and not is_near(own, 1) and near(y, right * math.exp(power)).select(1 - dim, i).all():
                fail(f"{lines} {i} sums to {own:.6g} = exp({power:g}), and should sum to 1. Its largest score, {largest:g}, is "
                     f"subtracted {where}: it has to be subtracted from all scores, in the numerator and in the sum.")
        if not is_near(own, 1):
            fail(f"{lines} {i} sums to {own:.6g}, and should sum to 1.")
    fail("The shares sum to 1, but they are not exp(x) divided by the sum of exp(x).")


def check(softmax, x, dim):
    rows, columns = x.shape
    case(f"x has {rows} row{'' if rows == 1 else 's'} and {columns} column{'' if columns == 1 else 's'}, dim {dim}")
    given = x.clone()
    y = softmax(given, dim)
    returned("y", y, x.shape, softmax)
    unchanged("x", given, x)
    right = torch.softmax(x, dim)
    if not matches("y", y, right):
        show("x", x)
        show("y, as your code computes it (wrong numbers in brackets)", y, right)
        show("y, as it should be", right)
        explain(x, y.double(), dim)


def grade(softmax):
    for x, dim in GIVEN:
        check(softmax, torch.tensor(x, dtype=torch.float64), dim)
    generator = torch.Generator().manual_seed(1)
    for i in range(30):
        x = torch.randn(1 + i % 5, 1 + i % 7, dtype=torch.float64, generator=generator)
        check(softmax, x * i, i // 2 % 2)
