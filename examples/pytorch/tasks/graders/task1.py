"""Grades task 1: softmax."""
import math

import torch

from graders.common import case, equal, fail, is_near, matches, mistakes, near, returned, say, show, unchanged

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
    line, name = ("row", "Row") if dim == 1 else ("column", "Column")
    nan = y.isnan()
    most = x[nan].max().item() if nan.any() else -inf  # of the scores without a share
    if len(x) == 1 and 0 < y[0, 0] == y[0, -1] < inf and x[0, 0] >= 1000:
        fail("cut off", x[0, 0], x[0, 1])
    moderate = {"moderate": x} if 0 < x.exp().sum() < inf else {}
    for result, why in mistakes("shares", "y", x=x, dim=dim, **moderate):
        if result is not None and equal(y, result):
            fail(why)
    if nan.any() and most < -700:
        fail(*(["nan of small scores"] if len(x) == 1 else ["nan of one line", line, line]))
    if nan.any() and most < 700:
        fail("A share is NaN: it was not written (torch.empty has no numbers yet), or 0 was divided by 0.")
    if nan.any() and ((x == -inf).any(dim) | ~nan.any(dim)).all():
        fail("nan beside -inf", line)
    if nan.any():
        fail("nan of large scores")
    if near(y, (x - x.amax(dim, keepdim=True)).exp()).all():
        fail("factor", name, 0, y.sum(dim)[0].item(), "large", say("undivided"))
    if is_near(y.sum().item(), 1) and x.shape[1 - dim] > 1:
        fail("together", line)
    right = torch.softmax(x, dim)
    for i, own in enumerate(y.sum(dim).tolist()):
        largest = x.select(1 - dim, i).max().item()
        if math.isinf(own) or (own == 0 and abs(largest) > 700):
            fail("extreme", name, i, own, largest, "infinite" if largest > 0 else 0)
        for power, where in ((-largest, "in the numerator, but not in the sum"), (largest, "in the sum, but not in the numerator")):
            if abs(power) < 700 and not is_near(own, 1) and near(y, right * math.exp(power)).select(1 - dim, i).all():
                fail("one side", name, i, own, power, largest, where)
        if not is_near(own, 1):
            fail("sum", name, i, own)
    fail("not softmax")


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
