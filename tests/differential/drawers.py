"""How the arguments of the operations are drawn: the words of the DRAW and RANDOM rows of tests/ops/operations.def.

A drawer is a function (d, args) -> value: d is the graph so far (graphs.Drawing), args the arguments drawn before, by name;
the first tensor is `a`. An argument is a tensor (Ref), a number, a bool, a tuple, a list
of tensors, a dict of options, the name of a dtype, or Parts; None means NULL.
"""
import math
import pathlib
import sys

import numpy

from bind import Parts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ops"))
import table  # noqa: E402

FLOATS, NUMBERS, ALL = ("f32", "f64"), ("f32", "f64", "i64"), ("f32", "f64", "i64", "bool")


class Operation:
    def __init__(self, name, torch, order=None, **drawers):
        self.name, self.torch, self.drawers = name, torch, drawers
        self.order = order.split() if order else list(drawers)
        self.code = compile(torch, name, "eval")


def operations():
    """Those of the DRAW and RANDOM rows of tests/ops/operations.def, by name."""
    return {name: Operation(name, torch, **eval(f"dict({drawers})", globals())) for name, torch, drawers in table.draws()}


# ---- drawers: tensors ----

def tensor(dtypes=ALL, dims=None):
    return lambda d, args: d.tensor(dtypes, dims)


def floats(d, args):
    return d.tensor(FLOATS)


def numbers(d, args):
    return d.tensor(NUMBERS)


def anything(d, args):
    return d.tensor(ALL)


def with_infinities(d, args):
    return d.of_shape(d.shape(), d.choose(FLOATS), values="bias")


def like(d, args):
    """A tensor that broadcasts with a, of a's dtype or any other."""
    x = d.value(args["a"])
    dtype = d.dtype(args["a"]) if d.chance(0.85) else d.choose(ALL)
    return d.of_shape(d.partner(x.shape), dtype)


def same(d, args):
    """x's shape and dtype."""
    return d.of_shape(d.value(args["a"]).shape, d.dtype(args["a"]))


def broadcast_mask(d, args):
    return d.of_shape(d.narrowed(d.value(args["a"]).shape), "bool")


def positive(drawer):
    """The same kind of tensor with positive values."""
    def draw(d, args):
        with d.values("positive"):
            return drawer(d, args)
    return draw


def probability(drawer):
    """The same kind of tensor with values in [0, 1)."""
    def draw(d, args):
        with d.values("probability"):
            return drawer(d, args)
    return draw


def several(d, args):
    first = d.tensor(ALL)
    return [first] + [d.of_shape(d.value(first).shape, d.dtype(first)) for _ in range(d.integer(0, 3))]


def joinable(d, args):
    """Tensors that differ in one dim."""
    first = d.tensor(ALL)
    shape, tensors = d.value(first).shape, [first]
    dim = d.integer(0, len(shape) - 1) if shape else 0
    for _ in range(d.integer(0, 3)):
        other = list(shape)
        if shape:
            other[dim] = d.size()
        tensors.append(d.of_shape(tuple(other), d.dtype(first)))
    d.joined = dim
    return tensors


# The families of elementwise.def: values of either sign, or positive ones.
ANY_OF, POS_OF = (lambda drawer: drawer), positive


# ---- drawers: dims, sizes, numbers ----

def dim(d, args, extra=0):
    x = args["a"][0] if isinstance(args["a"], list) else args["a"]
    n = max(1, len(d.value(x).shape) + extra)
    return d.integer(-n, n - 1) if d.chance(0.98) else d.choose([n, -n - 1])


def new_dim(d, args):
    return dim(d, args, 1)


def joined_dim(d, args):
    return d.joined - (len(d.value(args["a"][0]).shape) if d.chance(0.3) else 0) if d.chance(0.98) else d.joined + 1


def dims(d, args):
    n = len(d.value(args["a"]).shape)
    chosen = d.sample(range(n), d.integer(0, n))
    chosen = [i - n if d.chance(0.3) else i for i in chosen]
    return tuple(chosen + chosen[:1] if d.chance(0.01) else chosen)


def permutation(d, args):
    n = len(d.value(args["a"]).shape)
    return tuple(i - n if d.chance(0.3) else i for i in d.sample(range(n), n))


def flag(d, args):
    return d.chance(0.5)


def integer(low, high):
    return lambda d, args: d.integer(low, high)


def choice(*values):
    return lambda d, args: d.choose(values)


def index(d, args):
    n = d.extent(args["a"], args["dim"])
    return d.integer(-n, max(0, n - 1)) if d.chance(0.97) else n + 1


def bound(d, args):
    n = d.extent(args["a"], args["dim"])
    return d.integer(-n - 2, n + 2)


def scalar(d, args):
    if d.dtype(args["a"]) in FLOATS and d.chance(0.7):
        return d.choose([0.5, -1.25, 3.0, 0.1, -2.0, 1e-3, 0.0, 1.0, 7.0])
    return d.choose([0, 1, 2, -3, 7]) if d.dtype(args["a"]) not in FLOATS else float(d.choose([0, 1, 2, -3, 7]))


def exponent(d, args):
    if d.dtype(args["a"]) in FLOATS:
        return d.choose([0.5, 2.0, 3.0, -1.0, 0.0, 1.0, -0.5, 1.5, -2.0, 4.0])
    return d.choose([0, 1, 2, 3])


def new_shape(d, args):
    """A shape with as many elements as x, occasionally with -1 or wrong."""
    return d.refactored(d.value(args["a"]).numel())


def expanded(d, args):
    shape = [d.size() if s == 1 and d.chance(0.7) else -1 if d.chance(0.2) else s for s in d.value(args["a"]).shape]
    return tuple([d.integer(1, 3) for _ in range(d.integer(0, 2) if len(shape) < 6 else 0)] + shape)


def narrowed(d, args):
    return d.narrowed(d.value(args["a"]).shape)


def split_dim(d, args):
    return d.refactored(d.extent(args["a"], args["dim"]))


def repeats(d, args):
    n = len(d.value(args["a"]).shape)
    return tuple(d.integer(0, 3) for _ in range(n + d.integer(0, 1) if n < 5 else n))


def count_of(name):
    return lambda d, args: len(args[name])


def room_of(name, spare=0):
    return lambda d, args: Parts((args[name] if isinstance(args[name], int) else len(args[name])) + spare)


def indices(shape_of):
    """An i64 tensor with indices into dim `dim` of x."""
    return lambda d, args: d.ids(shape_of(d, args), d.extent(args["a"], args["dim"]))


def index_shape(d, args):
    return (d.size(),) if d.chance(0.95) else ()


def gather_shape(d, args):
    shape = list(d.value(args["a"]).shape)
    shape = [d.integer(0 if d.chance(0.1) else min(1, s), s) if d.chance(0.3) else s for s in shape]
    if shape:
        shape[args["dim"] % len(shape)] = d.size()
    return tuple(shape)


def scatter_source(d, args):
    return d.of_shape(d.value(args["index"]).shape, d.dtype(args["a"]))


# ---- drawers: products, normalisation, attention, losses ----

def right_factor(d, args):
    shape, inner = d.value(args["a"]).shape, d.size()
    batch = d.partner(shape[:-2]) if len(shape) > 2 and d.chance(0.7) else ()
    last = (shape[-1] if shape and d.chance(0.97) else inner,)
    return d.of_shape(batch + last + ((d.size(),) if len(batch) or d.chance(0.85) else ()), d.dtype(args["a"]))


def linear_weight(d, args):
    shape = d.value(args["a"]).shape
    return d.of_shape((d.size(), shape[-1] if shape else 2), d.dtype(args["a"]))


def linear_bias(d, args):
    return d.of_shape(d.value(args["weight"]).shape[:1], d.dtype(args["a"])) if d.chance(0.6) else None


def last_dims(d, args):
    return tuple(d.value(args["a"]).shape)[-1:] or (1,)


def normalized(chance):
    return lambda d, args: d.of_shape(args["shape"], d.dtype(args["a"])) if d.chance(chance) else None


def eps(d, args):
    return d.choose([1e-5, 1e-6, 0.1, 1e-12])


def pairs(d, args):
    """x of rope: an even last dim."""
    *shape, features = d.shape(2)
    return d.of_shape((*shape, features + features % 2), d.choose(FLOATS))


def positions_of(d, args):
    return d.ids(d.narrowed(d.value(args["a"]).shape[:-1]), 30)


def rope_options(d, args):
    options = {"base": d.choose([100.0, 500000.0])} if d.chance(0.5) else {}
    return {**options, "interleaved": True} if d.chance(0.5) else options


def attention_key(d, args):
    *batch, _, e = d.value(args["a"]).shape
    return d.of_shape((*batch, d.size(), e), d.dtype(args["a"]))


def attention_value(d, args):
    *batch, s, _ = d.value(args["k"]).shape
    return d.of_shape((*batch, s, d.size()), d.dtype(args["a"]))


def attention_mask(d, args):
    shape = tuple(d.value(args["a"]).shape[:-1]) + (d.value(args["k"]).shape[-2],)
    if d.chance(0.4):
        return None
    with d.values("bias"):
        shape = d.narrowed(shape) if d.chance(0.5) else shape
        return d.of_shape(shape if len(shape) >= 2 else (1, 1), "bool" if d.chance(0.5) else d.dtype(args["a"]))


def logits(d, args):
    return d.of_shape(d.shape(2, 2), d.choose(FLOATS))


def loss_options(d, args):
    """Options of cross_entropy: a random choice."""
    classes = d.value(args["a"]).shape[1]
    options = {"reduction": d.choose(["HEED_MEAN", "HEED_SUM", "HEED_NONE"]),
               "ignore_index": d.integer(-1, max(0, classes - 1)) or -1, "label_smoothing": d.choose([0.1, 0.5, 1.0])}
    return {name: value for name, value in options.items() if d.chance(0.4)}


def class_targets(d, args):
    rows, classes = d.value(args["a"]).shape
    return d.ids((rows,), classes)
