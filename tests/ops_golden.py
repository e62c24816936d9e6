"""Makes golden_*.h: what PyTorch says where its meaning, not arithmetic, is in question.

    python ops_golden.py tests/        (torch 2.15.0; 1.13.1 agrees, but for last places)
"""
import itertools
import pathlib
import random
import re
import sys

import torch

INF, NAN = float("inf"), float("nan")
INPUTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 10.0, -10.0, 88.5, 89.0, -87.0, -104.0, 1e-8,
          -1e-8, 2.0**-149, 2.0**-126, 2.0**127, -2.0**127, INF, -INF, NAN, 9.0]
OPERANDS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, INF, -INF, NAN]
UNARY = {"neg": torch.neg, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
         "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu}
BINARY = {name: getattr(torch, name) for name in ("add", "sub", "mul", "div", "pow", "maximum")}
COMPARE = {name: getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def number(x):
    if x != x:
        return "NaN"
    if x in (INF, -INF):
        return "INF" if x > 0 else "-INF"
    text = repr(x).removesuffix(".0") if str(x) != "-0.0" else "-0.0"
    return text if len(text) < 9 else re.sub(r"\.?0*p", "p", x.hex())


def whole(x):
    return "INT64_MIN" if x == -2**63 else f"INT64_C({x})" if abs(x) >= 2**31 else str(x)


def braces(items):
    return "{" + ", ".join(items) + "}"


def flat(text, indent="    "):
    """Breaks a long line at its commas."""
    lines, line = [], ""
    for word in text.split(", "):
        if line and len(line) + len(word) > 96 - len(indent):
            lines.append(line.rstrip())
            line = indent
        line += word + ", "
    return "\n".join(lines + [line[:-2]])


def table(kind, name, rows):
    rows = [flat("    " + row + ",", "     ") for row in rows]
    return "\n".join([f"static const {kind} {name} = {{", *rows, "};", ""])


def f32(values):
    return torch.tensor(values, dtype=torch.float32)


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def unary_rows():
    for name, op in UNARY.items():
        yield braces([f'"{name}"', f"heed_{name}", braces(map(number, op(f64(INPUTS)).tolist())),
                      braces(map(number, op(f32(INPUTS)).tolist()))])


def binary_rows():
    a = [x for x in OPERANDS for _ in OPERANDS]
    b = OPERANDS * len(OPERANDS)
    for name, op in BINARY.items():
        y = op(f64(a), f64(b))
        assert torch.allclose(op(f32(a), f32(b)).double(), y, 1e-7, 0, True)
        yield braces([f'"{name}"', f"heed_{name}", braces(map(number, y.tolist()))])


def compare_rows():
    a = [x for x in OPERANDS for _ in OPERANDS]
    b = OPERANDS * len(OPERANDS)
    for name, op in COMPARE.items():
        y = braces(str(int(x)) for x in op(f64(a), f64(b)).tolist())
        yield braces([f'"{name}"', f"heed_{name}", y])


def power_rows():
    pairs = [(a, b) for a in (0, 1, -1, 2, -3) for b in (0, 1, 2, 5, -1, -2, -3)]
    pairs += [(3, 40), (3, 41), (-3, 41), (2, 62), (2, 63), (2, 64), (-2, 63), (10, 30),
              (-1, 2**62 + 1), (-1, -2**63), (-2**63, 1), (-2**63, 2), (7, -2**63)]
    for a, b in pairs:
        yield braces(map(whole, (a, b, torch.pow(torch.tensor(a), torch.tensor(b)).item())))


def cast_rows():
    values = [NAN, INF, -INF, 1e300, -1e300, 1e30, 2.0**63, -2.0**63, 2.0**62, 1.7, -1.7, 0.5, -0.5,
              0.0, -0.0, 1e-320, 16777217.0, 3e9, 2.0**-149, 0.1]
    for x in values:
        for tensor, name in (f64([x]), "HEED_F64"), (f32([x]), "HEED_F32"):
            yield braces([name, number(x), number(tensor.float().item()),
                          number(tensor.double().item()), whole(tensor.long().item()),
                          str(int(tensor.bool().item()))])


def whole_cast_rows():
    for x in (0, 1, -1, 16777217, -16777219, 2**53 + 1, 2**63 - 1, -2**63, -2**63 + 1, 256, 2**32):
        tensor = torch.tensor([x])
        yield braces([whole(x), number(tensor.float().item()), number(tensor.double().item()),
                      str(int(tensor.bool().item()))])


def views(rng):
    """A tensor on some strides, as views of views make them, and another shape for it."""
    shape = [rng.choice([1, 1, 2, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.08:
        shape[rng.randrange(len(shape))] = 0
    x = torch.zeros([n * rng.choice([1, 1, 1, 2]) for n in shape])
    for dim, n in enumerate(shape):
        if n and x.shape[dim] > n:
            x = x[(slice(None),) * dim + (slice(rng.randint(0, 1), None, 2),)]
    if rng.random() < 0.4:
        x = x.permute(rng.sample(range(x.dim()), x.dim()))
    if rng.random() < 0.3:
        dim = rng.randrange(x.dim())
        x = x.narrow(dim, 0, min(1, x.shape[dim])).expand(
            *x.shape[:dim], rng.choice([2, 3]) if x.shape[dim] else 0, *x.shape[dim + 1:])
    if rng.random() < 0.3:
        x = x.as_strided(x.shape, [rng.choice([n, 1, 5]) if size == 1 else n
                                   for size, n in zip(x.shape, x.stride())])
    factors, left = [], x.numel()
    while left > 1:
        step = rng.choice([n for n in (2, 3, 4, 6, 8, 9, 12, left) if left % n == 0])
        factors.append(step)
        left //= step
    if x.numel() == 0:
        factors = [0] + [rng.randint(0, 3)] * rng.randint(0, 1)
    while len(factors) > 4:
        factors.append(factors.pop() * factors.pop())
    while len(factors) < 4 and rng.random() < 0.3:
        factors.insert(rng.randint(0, len(factors)), 1)
    return x, factors


def reshape_rows():
    rng, wanted = random.Random(7), {True: 70, False: 50}
    seen = set()
    while any(wanted.values()):
        x, shape = views(rng)
        try:
            strides = list(x.view(shape).stride())
        except RuntimeError:
            strides = None
        key = (tuple(x.shape), x.stride(), tuple(shape))
        plain = x.stride() == torch.zeros(x.shape).stride()
        boring = plain and rng.random() < 0.9
        if key in seen or boring or not wanted[strides is not None]:
            continue
        seen.add(key)
        wanted[strides is not None] -= 1
        lists = (list(x.shape), list(x.stride()), shape, strides or [])
        yield braces([str(x.dim()), str(len(shape)), str(int(strides is not None))] +
                     [braces(map(str, items or [0])) for items in lists])


def softmax_rows():
    lines = [[0, 1, 2, 3], [-1, -1, -1, -1], [1000, 1001, 999, 0], [-1000, -1001, -999, -2000],
             [-INF, 0, 1, -INF], [-INF] * 4, [INF, 0, 1, 2], [INF, INF, 0, -INF], [NAN, 0, 1, 2],
             [0, 1, 2, NAN], [-INF, NAN, -INF, 0], [3e38, -3e38, 3e38, 0], [0, 0, 0, -INF],
             [0, -200, -700, -800], [-INF, -INF, -INF, 5], [1e-30, 0, -1e-30, 1e-3],
             [-20000, -20001, -19999, -30000], [-3e38, -3e38, -INF, -3e38]]
    for x in lines:
        rows = (f64(x), torch.softmax(f64(x), 0), torch.log_softmax(f64(x), 0))
        yield braces(braces(map(number, row.tolist())) for row in rows)


def close_rows():
    cases = [([1.0, 2], [1.0, 2]), ([1.0, 2], [1.00001, 2]), ([1.0, 2], [1.0001, 2]),
             ([0.0, 0], [1e-9, 0]), ([0.0, 0], [1e-7, 0]), ([INF, 1], [INF, 1]),
             ([INF, 1], [-INF, 1]), ([INF, 1], [1e308, 1]), ([1.0, 1], [INF, 1]),
             ([NAN, 1], [NAN, 1]), ([NAN, 1], [1.0, 1]), ([1e10, 1], [1.00001e10, 1]),
             ([1.00001e10, 1], [1e10, 1]), ([-1.0, 1], [1.0, 1]), ([-0.0, 1], [0.0, 1]),
             ([1.0, NAN], [1.0, INF])]
    tolerances = [(1e-5, 1e-8), (0.0, 0.0), (1e-3, 0.0), (0.0, 1e-8), (0.0, INF)]
    for (a, b), (rtol, atol), nan in itertools.product(cases, tolerances, (False, True)):
        y = torch.allclose(f64(a), f64(b), rtol, atol, nan)
        if nan and not any(x != x for x in a + b):
            continue
        yield braces([braces(map(number, a)), braces(map(number, b)), *map(number, [rtol, atol]), str(nan).lower(), str(y).lower()])


def loss_rows():
    """logits[i] = (7 i mod 11) / 3 - 1.5, targets[i] = 5 i mod C or 1 (ignored)"""
    shapes = [((4, 3), (4,)), ((3,), ()), ((2, 5, 3), (2, 3)), ((2, 3, 2, 2), (2, 2, 2)),
              ((1, 1), (1,)), ((0, 3), (0,)), ((2, 4, 0), (2, 0)), ((70, 50), (70,))]
    for shape, of_targets in shapes:
        size, count = torch.Size(shape).numel(), torch.Size(of_targets).numel()
        classes = shape[min(1, len(shape) - 1)]
        logits = torch.tensor([(7 * i % 11) / 3 - 1.5 for i in range(size)],
                              dtype=torch.float64).reshape(shape)
        targets = torch.tensor([5 * i % classes for i in range(count)],
                               dtype=torch.int64).reshape(of_targets)
        for ignored in -100, 1, 0:
            y = torch.nn.functional.cross_entropy(logits, targets, ignore_index=ignored)
            z = torch.nn.functional.nll_loss(logits, targets, ignore_index=ignored)
            yield braces([braces([str(len(shape)), braces(map(str, shape))]),
                          braces([str(len(of_targets)), braces(map(str, of_targets or [0]))]),
                          str(classes), str(ignored), number(y.item()), number(z.item())])


FILES = {
    "special": [("double inputs[]", [", ".join(map(number, INPUTS))]),
                ("double operands[]", [", ".join(map(number, OPERANDS))]),
                ("struct special_unary special_unary[]", unary_rows()),
                ("struct special_binary special_binary[]", binary_rows()),
                ("struct special_compare special_compare[]", compare_rows()),
                ("int64_t whole_powers[][3]", power_rows())],
    "cast": [("struct cast casts[]", cast_rows()),
             ("struct whole_cast whole_casts[]", whole_cast_rows())],
    "reshape": [("struct reshape reshapes[]", reshape_rows())],
    "softmax": [("double softmax_lines[][3][4]", softmax_rows())],
    "loss": [("struct loss losses[]", loss_rows()), ("struct close closes[]", close_rows())],
}
for title, tables in FILES.items():
    text = (f"/* What PyTorch {torch.__version__.split('+')[0]} says; made by ops_golden.py. */\n"
            "/* clang-format off */\n")
    if title not in ("reshape",):
        text += "#define INF HUGE_VAL\n#define NaN (double)NAN\n"
    for declaration, lines in tables:
        text += "\n" + table(*declaration.rsplit(" ", 1), lines)
    (pathlib.Path(sys.argv[1]) / f"golden_{title}.h").write_text(text)
