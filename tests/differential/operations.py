"""The operations: each with its expression in torch, and how its arguments are drawn.

A drawer is a function (d, a) -> value: d is the graph so far (graphs.Drawing), a the arguments drawn before, by name.
Arguments are in Heed's order; `x` is the first tensor. An argument is a tensor (Ref), a number, a bool, a tuple, a list
of tensors, a dict of options, the name of a dtype, or Parts; None means NULL.
"""
import math

import numpy

from bind import Parts

FLOATS, NUMBERS, ALL = ("f32", "f64"), ("f32", "f64", "i64"), ("f32", "f64", "i64", "bool")


class Operation:
    def __init__(self, name, torch, order=None, **drawers):
        self.name, self.torch, self.drawers = name, torch, drawers
        self.order = order.split() if order else list(drawers)
        self.code = compile(torch, name, "eval")


OPERATIONS = {}


def op(names, torch, **drawers):
    """Adds operations; NAME in the torch expression is the operation's name. `order`: the order of Heed's arguments, if
    they are drawn in a different one."""
    for name in names.split():
        OPERATIONS[name] = Operation(name, torch.replace("NAME", name), **drawers)


# ---- drawers: tensors ----

def tensor(dtypes=ALL, dims=None):
    return lambda d, a: d.tensor(dtypes, dims)


def floats(d, a):
    return d.tensor(FLOATS)


def numbers(d, a):
    return d.tensor(NUMBERS)


def anything(d, a):
    return d.tensor(ALL)


def like(d, a):
    """A tensor that broadcasts with x, of x's dtype or any other."""
    x = d.value(a["x"])
    dtype = d.dtype(a["x"]) if d.chance(0.85) else d.choose(ALL)
    return d.of_shape(d.partner(x.shape), dtype)


def same(d, a):
    """x's shape and dtype."""
    return d.of_shape(d.value(a["x"]).shape, d.dtype(a["x"]))


def broadcast_mask(d, a):
    return d.of_shape(d.narrowed(d.value(a["x"]).shape), "bool")


def positive(drawer):
    """The same kind of tensor with positive values."""
    def draw(d, a):
        with d.values("positive"):
            return drawer(d, a)
    return draw


def probability(drawer):
    """The same kind of tensor with values in [0, 1)."""
    def draw(d, a):
        with d.values("probability"):
            return drawer(d, a)
    return draw


def maybe(drawer, chance=0.5):
    return lambda d, a: drawer(d, a) if d.chance(chance) else None


def several(d, a):
    first = d.tensor(ALL)
    return [first] + [d.of_shape(d.value(first).shape, d.dtype(first)) for _ in range(d.integer(0, 3))]


def joinable(d, a):
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


# ---- drawers: dims, sizes, numbers ----

def dim(d, a, extra=0):
    x = a["x"][0] if isinstance(a["x"], list) else a["x"]
    n = max(1, len(d.value(x).shape) + extra)
    return d.integer(-n, n - 1) if d.chance(0.98) else d.choose([n, -n - 1])


def new_dim(d, a):
    return dim(d, a, 1)


def joined_dim(d, a):
    return d.joined - (len(d.value(a["x"][0]).shape) if d.chance(0.3) else 0) if d.chance(0.98) else d.joined + 1


def dims(d, a):
    n = len(d.value(a["x"]).shape)
    chosen = d.sample(range(n), d.integer(0, n))
    chosen = [i - n if d.chance(0.3) else i for i in chosen]
    return tuple(chosen + chosen[:1] if d.chance(0.01) else chosen)


def one_or_no_dim(d, a):
    return dims(d, a)[:1]


def permutation(d, a):
    n = len(d.value(a["x"]).shape)
    return tuple(i - n if d.chance(0.3) else i for i in d.sample(range(n), n))


def flag(d, a):
    return d.chance(0.5)


def integer(low, high):
    return lambda d, a: d.integer(low, high)


def choice(*values):
    return lambda d, a: d.choose(values)


def index(d, a):
    n = d.extent(a["x"], a["dim"])
    return d.integer(-n, max(0, n - 1)) if d.chance(0.97) else n + 1


def bound(d, a):
    n = d.extent(a["x"], a["dim"])
    return d.integer(-n - 2, n + 2)


def scalar(d, a):
    if d.dtype(a["x"]) in FLOATS and d.chance(0.7):
        return d.choose([0.5, -1.25, 3.0, 0.1, -2.0, 1e-3, 0.0, 1.0, 7.0])
    return d.choose([0, 1, 2, -3, 7]) if d.dtype(a["x"]) not in FLOATS else float(d.choose([0, 1, 2, -3, 7]))


def exponent(d, a):
    if d.dtype(a["x"]) in FLOATS:
        return d.choose([0.5, 2.0, 3.0, -1.0, 0.0, 1.0, -0.5, 1.5, -2.0, 4.0])
    return d.choose([0, 1, 2, 3])


def new_shape(d, a):
    """A shape with as many elements as x, occasionally with -1 or wrong."""
    return d.refactored(d.value(a["x"]).numel())


def expanded(d, a):
    shape = [d.size() if s == 1 and d.chance(0.7) else -1 if d.chance(0.2) else s for s in d.value(a["x"]).shape]
    return tuple([d.integer(1, 3) for _ in range(d.integer(0, 2) if len(shape) < 6 else 0)] + shape)


def narrowed(d, a):
    return d.narrowed(d.value(a["x"]).shape)


def split_dim(d, a):
    return d.refactored(d.extent(a["x"], a["dim"]))


def repeats(d, a):
    n = len(d.value(a["x"]).shape)
    return tuple(d.integer(0, 3) for _ in range(n + d.integer(0, 1) if n < 5 else n))


def pieces(d, a):
    n, sizes = d.extent(a["x"], a["dim"]), []
    while sum(sizes) < n and len(sizes) < 5:
        sizes.append(d.integer(0, n - sum(sizes)))
    sizes.append(n - sum(sizes))
    return sizes if d.chance(0.97) else sizes + [1]


def split_count(d, a):
    return max(1, -(-d.extent(a["x"], a["dim"]) // a["size"]))


def count_of(name):
    return lambda d, a: len(a[name])


def room_of(name, spare=0):
    return lambda d, a: Parts((a[name] if isinstance(a[name], int) else len(a[name])) + spare)


def indices(shape_of):
    """An i64 tensor with indices into dim `dim` of x."""
    return lambda d, a: d.ids(shape_of(d, a), d.extent(a["x"], a["dim"]))


def index_shape(d, a):
    return (d.size(),) if d.chance(0.95) else ()


def gather_shape(d, a):
    shape = list(d.value(a["x"]).shape)
    shape = [d.integer(0 if d.chance(0.1) else min(1, s), s) if d.chance(0.3) else s for s in shape]
    if shape:
        shape[a["dim"] % len(shape)] = d.size()
    return tuple(shape)


def source(d, a):
    """The source of index_add: x's shape with the index's size in dim."""
    shape = list(d.value(a["x"]).shape)
    if shape and -len(shape) <= a["dim"] < len(shape):
        shape[a["dim"]] = d.value(a["index"]).numel()
    return d.of_shape(tuple(shape), d.dtype(a["x"]))


def scatter_source(d, a):
    shape = tuple(s + (d.integer(0, 2) if d.chance(0.2) else 0) for s in d.value(a["index"]).shape)
    return d.of_shape(shape, d.dtype(a["x"]))


def scatter_index(d, a):
    """Distinct indices along dim: torch does not define which of several elements scatter writes."""
    shape = list(d.value(a["x"]).shape)
    if not shape:
        return d.ids((), 1)
    dim = a["dim"] % len(shape)
    extent = shape[dim]
    shape = [d.integer(min(1, s), s) if d.chance(0.3) else s for s in shape]
    places = [d.sample(range(extent), shape[dim]) for _ in range(math.prod(shape) // max(1, shape[dim]))]
    lines = numpy.array(places, dtype=numpy.int64).reshape([s for i, s in enumerate(shape) if i != dim] + [shape[dim]])
    return d.leaf(numpy.moveaxis(lines, -1, dim), False)


def subscript(d, a):
    """Indices, ranges, None and an ellipsis, occasionally too many or out of range."""
    n, parts = len(d.value(a["x"]).shape), []
    for i in range(d.integer(0, n) if d.chance(0.97) else n + 1):
        size = d.extent(a["x"], i)
        bounds = [str(d.integer(-size - 2, size + 2)) if d.chance(0.6) else "" for _ in range(2)]
        step = d.choose(["", ":", ":1", ":2", ":3", " : 2"])
        index = d.integer(-size, max(0, size - 1)) if d.chance(0.97) else size
        parts.append(str(index) if d.chance(0.3) else ":".join(bounds) + step)
    for extra, chance in ("None", 0.3), ("...", 0.4):
        if d.chance(chance) or not parts:
            parts.insert(d.integer(0, len(parts)), extra)
    return ", ".join(parts)


# ---- drawers: products, normalisation, attention, losses ----

def matrix(d, a):
    return d.of_shape(tuple(d.size() for _ in range(2)), d.choose(NUMBERS))


def right_factor(d, a):
    shape, inner = d.value(a["x"]).shape, d.size()
    batch = d.partner(shape[:-2]) if len(shape) > 2 and d.chance(0.7) else ()
    last = (shape[-1] if shape and d.chance(0.97) else inner,)
    return d.of_shape(batch + last + ((d.size(),) if len(batch) or d.chance(0.85) else ()), d.dtype(a["x"]))


def batch_factor(d, a):
    b, _, k = d.value(a["x"]).shape
    return d.of_shape((b, k, d.size()), d.dtype(a["x"]))


def linear_weight(d, a):
    shape = d.value(a["x"]).shape
    return d.of_shape((d.size(), shape[-1] if shape else 2), d.dtype(a["x"]))


def linear_bias(d, a):
    return d.of_shape(d.value(a["weight"]).shape[:1], d.dtype(a["x"])) if d.chance(0.6) else None


def second_matrix(d, a):
    return d.of_shape((d.value(a["mat1"]).shape[-1], d.size()), d.dtype(a["mat1"]))


def addend(d, a):
    shape = (d.value(a["mat1"]).shape[0], d.value(a["mat2"]).shape[-1])
    return d.of_shape(d.narrowed(shape), d.dtype(a["mat1"]))


def equation(d, a):
    """Letters for both operands, some of them shared, and a result with some of them."""
    letters = d.sample("abcdXY", d.integer(1, 5))
    left = d.sample(letters, d.integer(0, min(4, len(letters))))
    right = d.sample(letters, d.integer(0, min(4, len(letters))))
    if left and d.chance(0.05):
        left.append(left[0])
    used = sorted(set(left + right))
    dots = d.chance(0.1)
    text = "".join(left) + ("..." if dots else "") + "," + "".join(right) + ("..." if dots and d.chance(0.7) else "")
    if d.chance(0.8):
        text += "->" + ("..." if dots else "") + "".join(d.sample(used, d.integer(0, len(used))))
    d.sizes = {c: d.size() for c in "abcdXY"}
    d.sizes["..."] = (d.size(),) if d.chance(0.6) else ()
    return text


def einsum_operand(place):
    def draw(d, a):
        letters = a["equation"].split("->")[0].split(",")[place]
        named = letters.replace("...", "")
        shape = tuple(1 if d.chance(0.05) else d.sizes[c] for c in named)
        dtype = d.choose(NUMBERS) if place == 0 else d.dtype(a["x"])
        return d.of_shape(shape + (d.sizes["..."] if "..." in letters else ()), dtype)
    return draw


def last_dims(d, a):
    shape = tuple(d.value(a["x"]).shape)
    return shape[d.integer(0, max(0, len(shape) - 1)):] if shape else (1,)


def normalized(chance):
    return lambda d, a: d.of_shape(a["shape"], d.dtype(a["x"])) if d.chance(chance) else None


def eps(d, a):
    return d.choose([1e-5, 1e-6, 0.1, 1e-12])


def attention_key(d, a):
    *batch, _, e = d.value(a["x"]).shape
    return d.of_shape((*batch, d.size(), e), d.dtype(a["x"]))


def attention_value(d, a):
    *batch, s, _ = d.value(a["k"]).shape
    return d.of_shape((*batch, s, d.size()), d.dtype(a["x"]))


def attention_mask(d, a):
    shape = tuple(d.value(a["x"]).shape[:-1]) + (d.value(a["k"]).shape[-2],)
    if d.chance(0.4):
        return None
    with d.values("bias"):
        shape = d.narrowed(shape) if d.chance(0.5) else shape
        return d.of_shape(shape if len(shape) >= 2 else (1, 1), "bool" if d.chance(0.5) else d.dtype(a["x"]))


def loss_options(*names):
    """Options of the losses: a random choice of those named."""
    def draw(d, a):
        options, x = {}, d.value(a["x"])
        classes = x.shape[min(1, x.dim() - 1)] if x.dim() else 1
        for name in names:
            if not d.chance(0.4):
                continue
            options[name] = {
                "reduction": lambda: d.choose(["HEED_MEAN", "HEED_SUM", "HEED_NONE"]),
                "batchmean": lambda: "HEED_BATCHMEAN",
                "weight": lambda: d.of_shape(x.shape, d.dtype(a["x"])),
                "broadcast_weight": lambda: d.of_shape(d.narrowed(x.shape), d.dtype(a["x"])),
                "pos_weight": lambda: d.of_shape(d.narrowed(x.shape), d.dtype(a["x"])),
                "class_weight": lambda: d.of_shape((classes,), d.dtype(a["x"]), requires_grad=False),
                "ignore_index": lambda: d.integer(-1, max(0, classes - 1)),
                "label_smoothing": lambda: d.choose([0.1, 0.5, 1.0]),
                "delta": lambda: d.choose([0.5, 1.0, 2.0]),
                "log_target": lambda: True,
            }[name]()
        for name, field in (("batchmean", "reduction"), ("class_weight", "weight"), ("broadcast_weight", "weight")):
            if name in options:
                options[field] = options.pop(name)
        return options
    return draw


def class_targets(probabilities):
    def draw(d, a):
        shape = d.value(a["x"]).shape
        if probabilities and d.chance(0.3):
            with d.values("positive"):
                return d.of_shape(shape, d.dtype(a["x"]))
        classes = shape[min(1, len(shape) - 1)] if len(shape) else 1
        return d.ids(shape[:1] * (len(shape) > 1) + shape[2:], classes)
    return draw


# ---- the table ----

op("neg abs square", "torch.NAME(x)", x=numbers)
op("sign exp expm1 reciprocal sin cos tanh erf sigmoid", "torch.NAME(x)", x=anything)
op("log log1p sqrt rsqrt", "torch.NAME(x)", x=positive(anything))
op("floor ceil trunc round relu", "torch.NAME(x)", x=numbers)
op("silu softplus logsigmoid gelu", "F.NAME(x)", x=floats)
op("gelu_tanh", "F.gelu(x, approximate='tanh')", x=floats)
op("add", "x + b", x=anything, b=like)
op("sub", "x - b", x=numbers, b=like)
op("mul", "x * b", x=anything, b=like)
op("div", "x / b", x=anything, b=positive(like))
op("pow", "x ** b", x=positive(numbers), b=like)
op("remainder", "torch.remainder(x, b)", x=numbers, b=like)
op("maximum minimum", "torch.NAME(x, b)", x=anything, b=like)
op("eq ne lt le gt ge logical_and logical_or logical_xor", "torch.NAME(x, b)", x=anything, b=like)
op("eq_scalar", "x == b", x=anything, b=scalar)
op("ne_scalar", "x != b", x=anything, b=scalar)
op("lt_scalar", "x < b", x=anything, b=scalar)
op("le_scalar", "x <= b", x=anything, b=scalar)
op("gt_scalar", "x > b", x=anything, b=scalar)
op("ge_scalar", "x >= b", x=anything, b=scalar)
op("logical_not isnan isinf isfinite", "torch.NAME(x)", x=anything)
op("add_scalar", "x + b", x=anything, b=scalar)
op("sub_scalar", "x - b", x=numbers, b=scalar)
op("mul_scalar", "x * b", x=anything, b=scalar)
op("div_scalar", "x / b", x=anything, b=choice(2.0, -3.0, 7.0, 1.0))
op("pow_scalar", "x ** b", x=positive(numbers), b=exponent)
op("remainder_scalar", "torch.remainder(x, b)", x=numbers, b=scalar)
op("maximum_scalar", "torch.maximum(x, torch.tensor(b, dtype=x.dtype))", x=numbers, b=scalar)
op("minimum_scalar", "torch.minimum(x, torch.tensor(b, dtype=x.dtype))", x=numbers, b=scalar)
op("clamp", "torch.clamp(x, lo, hi)", x=numbers, lo=choice(-1, -2, 0), hi=choice(1, 2, 3, -1))
op("lerp", "torch.lerp(x, b, weight)", x=floats, b=same, weight=same)
op("lerp_scalar", "torch.lerp(x, b, weight)", x=floats, b=same, weight=choice(0.25, 0.5, 0.75, -1.5))
op("where", "torch.where(mask, x, b)", x=anything, b=like, mask=broadcast_mask,
   order="mask x b")
op("where_scalar", "torch.where(mask, x, b)", x=anything, b=scalar, mask=broadcast_mask, order="mask x b")
op("masked_fill", "x.masked_fill(mask, value)", x=anything, mask=broadcast_mask, value=choice(0, 1))
op("tril triu", "torch.NAME(x, k)", x=anything, k=integer(-3, 3))

op("transpose", "x.transpose(dim0, dim)", x=anything, dim0=dim, dim=dim)
op("permute", "x.permute(dims)", x=anything, dims=permutation)
op("reshape", "x.reshape(shape)", x=anything, shape=new_shape)
op("flatten", "x.flatten(start, end)", x=anything, start=dim, end=dim)
op("unflatten", "x.unflatten(dim, sizes)", x=anything, dim=dim, sizes=split_dim)
op("expand broadcast_to", "x.NAME(shape)", x=anything, shape=expanded)
op("squeeze", "x.squeeze(dim)", x=anything, dim=dim)
op("unsqueeze", "x.unsqueeze(dim)", x=anything, dim=new_dim)
op("detach clone contiguous", "x.NAME()", x=anything)
op("to", "x.to(dtype)", x=anything, dtype=choice(*ALL))
op("slice", "torch.ops.aten.slice(x, dim, start, end, step)", x=anything, dim=dim, start=bound, end=bound,
   step=integer(1, 3))
op("select", "x.select(dim, index)", x=anything, dim=dim, index=index)
op("narrow", "x.narrow(dim, start, length)", x=anything, dim=dim, start=index, length=integer(0, 3))
op("diagonal", "x.diagonal(offset, dim1, dim)", x=anything, offset=integer(-2, 2), dim1=dim, dim=dim)
op("split", "x.split(size, dim)", x=anything, size=integer(1, 5), dim=dim, most=split_count,
   parts=room_of("most"),
   order="x size dim parts most")
op("split_sizes", "x.split(sizes, dim)", x=anything, dim=dim, sizes=pieces, count=count_of("sizes"), parts=room_of("sizes"),
   order="x sizes count dim parts")
op("chunk", "x.chunk(chunks, dim)", x=anything, chunks=integer(1, 5), dim=dim, parts=room_of("chunks"))
op("unbind", "x.unbind(dim)", x=anything, dim=dim, most=lambda d, a: d.extent(a["x"], a["dim"]), parts=room_of("most"),
   order="x dim parts most")
op("index", "x[eval('numpy.s_[' + text + ']')]", x=anything, text=subscript)
op("sum_to", "x.sum_to_size(shape)", x=anything, shape=narrowed)
op("cat", "torch.cat(x, dim)", x=joinable, count=count_of("x"), dim=joined_dim)
op("stack", "torch.stack(x, dim)", x=several, count=count_of("x"), dim=new_dim)
op("flip", "x.flip(dims)", x=anything, dims=lambda d, a: dims(d, a) or (0,))
op("roll", "x.roll(shift)", x=anything, shift=integer(-9, 9))
op("roll_dim", "x.roll(shift, dim)", x=anything, shift=integer(-9, 9), dim=dim)
op("roll_dims", "x.roll(shifts, dims)", x=tensor(ALL, 3), shifts=lambda d, a: tuple(d.integer(-4, 4) for _ in range(2)),
   dims=lambda d, a: (d.integer(-3, 2), d.integer(0, 2)))
op("repeat", "x.repeat(sizes)", x=anything, sizes=repeats)
op("repeat_interleave", "x.repeat_interleave(repeats)", x=anything, repeats=integer(0, 3))
op("repeat_interleave_dim", "x.repeat_interleave(repeats, dim)", x=anything, repeats=integer(0, 3), dim=dim)
op("repeat_interleave_each", "x.repeat_interleave(repeats, dim)", x=anything, dim=dim,
   repeats=lambda d, a: d.ids((d.extent(a["x"], a["dim"]),), 4),
   order="x repeats dim")

op("index_select", "x.index_select(dim, index)", x=anything, dim=dim, index=indices(index_shape))
op("index_add", "x.index_add(dim, index, source)", x=numbers, dim=dim, index=indices(index_shape), source=source)
op("gather", "x.gather(dim, index)", x=anything, dim=dim, index=indices(gather_shape))
op("scatter_add", "x.scatter_add(dim, index, src)", x=numbers, dim=dim, index=indices(gather_shape), src=scatter_source)
op("scatter", "x.scatter(dim, index, src)", x=anything, dim=dim, index=scatter_index,
   src=lambda d, a: d.of_shape(d.value(a["index"]).shape, d.dtype(a["x"])))
op("scatter_scalar", "x.scatter(dim, index, value)", x=anything, dim=dim, index=indices(gather_shape), value=scalar)
op("nonzero", "x.nonzero()", x=anything)
op("masked_select", "x.masked_select(mask)", x=anything, mask=broadcast_mask)
op("one_hot", "F.one_hot(x, classes)", x=lambda d, a: d.ids(d.shape(), 4), classes=choice(4, 5, -1))
op("embedding", "F.embedding(ids, x)", x=tensor(FLOATS, 2), dim=choice(0), ids=indices(lambda d, a: d.shape()),
   order="ids x")
op("argsort", "x.argsort(dim=dim, descending=descending, stable=True)", x=anything, dim=dim, descending=flag)
op("sort", "x.sort(dim=dim, descending=descending, stable=True)", x=anything, dim=dim, descending=flag,
   indices=lambda d, a: Parts(1))
op("topk", "x.topk(k, dim, largest)", x=numbers, k=integer(0, 4), dim=dim, largest=flag, indices=lambda d, a: Parts(1))

for name in ("sum", "mean", "amax", "amin", "any", "all", "logsumexp"):
    dtypes = numbers if name in ("amax", "amin") else floats if name in ("mean", "logsumexp") else anything
    op(name, f"torch.{name}(x, tuple(range(x.ndim)))", x=dtypes)
    op(f"{name}_dim", f"torch.{name}(x, dim, keepdim=keepdim)", x=dtypes, dim=dim, keepdim=flag)
    op(f"{name}_dims", f"torch.{name}(x, dims or tuple(range(x.ndim)), keepdim=keepdim)", x=dtypes, dims=dims, keepdim=flag)
for name in ("var", "std"):
    op(name, f"torch.{name}(x)", x=floats)
    op(f"{name}_dim", f"torch.{name}(x, dim, correction=correction, keepdim=keepdim)", x=floats, dim=dim,
       correction=integer(0, 1), keepdim=flag)
    op(f"{name}_dims", f"torch.{name}(x, dims or None, correction=correction, keepdim=keepdim)", x=floats, dims=dims,
       correction=integer(0, 1), keepdim=flag)
norms = choice(2.0, 1.0, 3.0, float("inf"), float("-inf"), 0.5, 2.5)
op("norm", "torch.linalg.vector_norm(x, p)", x=floats, p=norms)
op("norm_dim", "torch.linalg.vector_norm(x, p, dim, keepdim)", x=floats, p=norms, dim=dim, keepdim=flag)
op("norm_dims", "torch.linalg.vector_norm(x, p, dims or None, keepdim)", x=floats, p=norms, dims=dims, keepdim=flag)
op("prod", "torch.prod(x)", x=anything)
op("prod_dim", "torch.prod(x, dim, keepdim)", x=anything, dim=dim, keepdim=flag)
op("max min argmax argmin", "torch.NAME(x)", x=numbers)
op("max_dim", "torch.max(x, dim, keepdim)", x=numbers, dim=dim, keepdim=flag, indices=lambda d, a: Parts(1))
op("min_dim", "torch.min(x, dim, keepdim)", x=numbers, dim=dim, keepdim=flag, indices=lambda d, a: Parts(1))
op("argmax_dim", "torch.argmax(x, dim, keepdim)", x=numbers, dim=dim, keepdim=flag)
op("argmin_dim", "torch.argmin(x, dim, keepdim)", x=numbers, dim=dim, keepdim=flag)
op("median", "torch.median(x)", x=numbers)
op("median_dim", "torch.median(x, dim, keepdim)", x=numbers, dim=dim, keepdim=flag, indices=lambda d, a: Parts(1))
op("cumsum cumprod", "x.NAME(dim)", x=anything, dim=dim)
op("softmax log_softmax", "torch.NAME(x, dim)", x=floats, dim=dim)
with_infinities = lambda d, a: d.of_shape(d.shape(), d.choose(FLOATS), values="bias")
op("safe_softmax", "torch._safe_softmax(x, dim)", x=with_infinities, dim=dim)

op("matmul", "torch.matmul(x, b)", x=numbers, b=right_factor)
op("bmm", "torch.bmm(x, b)", x=tensor(NUMBERS, 3), b=batch_factor)
op("outer", "torch.outer(x, b)", x=tensor(NUMBERS, 1), b=lambda d, a: d.of_shape((d.size(),), d.dtype(a["x"])))
op("linear", "F.linear(x, weight, bias)", x=floats, weight=linear_weight, bias=linear_bias)
factor = choice(1, 0, 2, -1)
op("addmm", "torch.addmm(x, mat1, mat2, beta=beta, alpha=alpha)", mat1=matrix, mat2=second_matrix, x=addend,
   beta=factor, alpha=factor,
   order="x mat1 mat2 beta alpha")
op("einsum", "torch.einsum(equation, x, b)", equation=equation, x=einsum_operand(0), b=einsum_operand(1))
op("layer_norm", "F.layer_norm(x, shape, weight, bias, eps)", x=floats, shape=last_dims, weight=normalized(0.6),
   bias=normalized(0.6), eps=eps)
op("rms_norm", "F.rms_norm(x, shape, weight, eps)", x=floats, shape=last_dims, weight=normalized(0.6), eps=eps)
op("scaled_dot_product_attention",
   "F.scaled_dot_product_attention(x, k, v, mask, dropout, is_causal, scale=scale or None)",
   x=lambda d, a: d.tensor(FLOATS, d.integer(2, 4)), k=attention_key, v=attention_value, mask=attention_mask,
   dropout=choice(0.0), is_causal=lambda d, a: a["mask"] is None and d.chance(0.4), scale=choice(0.0, 0.5, -1.0))

op("mse_loss_with", "F.mse_loss(x, target, **options)", x=floats, target=same, options=loss_options("reduction", "weight"))
op("l1_loss_with", "F.l1_loss(x, target, **options)", x=floats, target=same, options=loss_options("reduction", "weight"))
op("huber_loss_with", "F.huber_loss(x, target, **options)", x=floats, target=same,
   options=loss_options("reduction", "weight", "delta"))
op("binary_cross_entropy_with", "F.binary_cross_entropy(x, target, **options)", x=probability(floats),
   target=probability(same), options=loss_options("reduction", "broadcast_weight"))
op("binary_cross_entropy_with_logits_with", "F.binary_cross_entropy_with_logits(x, target, **options)",
   x=floats, target=positive(same), options=loss_options("reduction", "broadcast_weight", "pos_weight"))
op("kl_div_with", "F.kl_div(x, target, **options)", x=floats, target=positive(same),
   options=loss_options("reduction", "batchmean", "log_target"))
logits = lambda d, a: d.of_shape(d.shape(1, 4), d.choose(FLOATS))
op("cross_entropy_with", "F.cross_entropy(x, target, **options)", x=logits, target=class_targets(True),
   options=loss_options("reduction", "class_weight", "ignore_index", "label_smoothing"))
op("nll_loss_with", "F.nll_loss(x, target, **options)", x=logits, target=class_targets(False),
   options=loss_options("reduction", "class_weight", "ignore_index"))
op("equal", "torch.equal(x, b)", x=anything, b=same)
op("full", "torch.full(shape, value, dtype=dtype)", shape=lambda d, a: d.shape(), value=choice(0, 1, 3), dtype=choice(*ALL))
op("arange", "torch.arange(start, end, step, dtype=dtype)", start=integer(-3, 3), end=integer(3, 40), step=choice(1, 2, 7),
   dtype=choice(*NUMBERS))
op("linspace", "torch.linspace(start, end, steps, dtype=dtype)", start=integer(-3, 3), end=integer(-3, 9),
   steps=choice(0, 1, 2, 7, 33, 257), dtype=choice(*FLOATS))
op("eye", "torch.eye(n, m, dtype=dtype)", n=integer(0, 5), m=integer(0, 5), dtype=choice(*ALL))
