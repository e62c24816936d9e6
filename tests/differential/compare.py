"""Compares two runs of a graph, and lists the declared differences between the libraries.

Tolerance. Dtypes, shapes, integers, bools, infinities and NaN must be equal. For graphs whose largest tensor has n
elements, floats within 4 + sqrt(n) ulp in f32 and 4 + n ulp in f64, which PyTorch sums sequentially, are accepted
immediately. Gradients are also accepted within 4 ulp of 1, the size of the upstream gradient, because terms of that
size may cancel; second derivatives, whose terms may be larger, within 100.

Otherwise PyTorch runs the graph three more times with noise: each result and gradient is perturbed by up to 2 ulp of
its dtype, and so is each input of an operation that rounds internally (sums, products, norms, losses). Both libraries
are equally sensitive to such noise, so the tolerance is 8 times the largest change observed; a sum of n terms changes
by about sqrt(n) ulp of its terms. Elements where the noise changes an integer, a bool or the place of an infinity are
not compared. Equal values are perturbed equally, which preserves ties, and results with few bits (multiples of 1/8
below 65,536) are not perturbed, which preserves kinks. Numbers below the smallest normal one count as 0.
"""
import collections
import math
import re

import numpy
import torch

import graphs

# Operations that do not round internally: their noise comes from their inputs.
EXACT = set("""neg abs sign floor relu add sub mul div maximum minimum eq ne lt le gt ge logical_and logical_or
    eq_scalar ne_scalar lt_scalar le_scalar gt_scalar ge_scalar logical_not add_scalar sub_scalar
    mul_scalar div_scalar maximum_scalar minimum_scalar where masked_fill tril triu transpose permute
    reshape flatten unflatten expand squeeze unsqueeze detach clone contiguous to slice select narrow
    chunk index cat stack flip index_select gather embedding
    amax amin amax_dim argmax argmax_dim equal full eye""".split())


class Noise:
    def __init__(self, phase):
        self.phase = phase

    def of(self, t):
        """Perturbs by up to 2 ulp, as a function of the value."""
        ulp = torch.finfo(t.dtype).eps
        t = t.detach()
        return torch.nan_to_num(t * (2 * ulp * torch.sin(t.double() * 12345.678 * self.phase)).to(t.dtype), 0, 0, 0)

    def of_gradient(self, g):
        """The gradient with perturbations that depend on the place, so that equal gradients do not cancel."""
        if g is None:
            return None
        places = torch.arange(g.numel(), dtype=torch.float64).reshape(g.shape) + 1
        return g + (g.detach() * (2 * torch.finfo(g.dtype).eps * torch.sin(places * 12345.678 * self.phase)).to(g.dtype))

    def inputs(self, node, outputs):
        if node.operation.name in EXACT:
            return outputs
        used = {r.node for r in graphs.refs_of(node.arguments)}
        return [tuple(t + self.of(t) if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in parts)
                if i in used else parts for i, parts in enumerate(outputs)]

    def outputs(self, parts):
        return tuple(self.output(t) if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in parts)

    def output(self, t):
        short = (t * 8 == torch.round(t * 8)) & (t.abs() < 65536)
        t = t + torch.where(short, torch.zeros_like(t), self.of(t)).detach()
        if t.requires_grad:
            t.register_hook(self.of_gradient)
        return t


class Failure:
    """How two runs differ: the kind ('value', 'error', ...), the node, and a description."""

    def __init__(self, what, node, text):
        self.what, self.node, self.text = what, node, text

    def __str__(self):
        return f"{self.what}{'' if self.node is None else f' of node {self.node}'}: {self.text}"


def ulps(n, t):
    """The tolerance at each element of t, for tensors of up to n elements."""
    count = 4 + (n ** 0.5 if t.dtype == numpy.float32 else n)
    with numpy.errstate(all="ignore"):
        size = numpy.abs(t.astype(numpy.float64))
        return count * numpy.finfo(t.dtype).eps * numpy.where(numpy.isfinite(size), size, 0) + numpy.finfo(t.dtype).tiny


def difference(found, expected, noisy=(), n=1, absolute=0):
    """Describes how `found` is wrong, or None. `noisy`: PyTorch's results with noise; n: size of the largest tensor."""
    if not isinstance(expected, numpy.ndarray) or not isinstance(found, numpy.ndarray):
        return None if found == expected else f"{found} instead of {expected}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype} instead of {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    noisy = [n for n in noisy if isinstance(n, numpy.ndarray) and n.shape == expected.shape]
    with numpy.errstate(all="ignore"):
        if expected.dtype.kind != "f":
            wrong = found != expected
            for n in noisy:
                wrong &= n == expected
        else:
            tolerance = ulps(n, expected) + absolute * numpy.finfo(expected.dtype).eps
            changed = numpy.zeros(expected.shape)
            skipped = numpy.zeros(expected.shape, bool)
            for n in noisy:
                change = numpy.abs(n.astype(numpy.float64) - expected)
                finite = numpy.isfinite(n) & numpy.isfinite(expected)
                skipped |= ~finite & ~same_special(n, expected)
                changed = numpy.maximum(changed, numpy.where(finite, change, 0))
            if noisy and changed.size:
                tolerance = numpy.maximum(tolerance, 8 * numpy.maximum(changed, numpy.sqrt(numpy.mean(changed**2)) / 4))
            near = numpy.abs(found.astype(numpy.float64) - expected) <= tolerance
            wrong = ~(near | same_special(found, expected) | skipped)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ; at {place}: {found[place]!r} instead of {expected[place]!r}"


def same_special(a, b):
    return (numpy.isnan(a) & numpy.isnan(b)) | (a == b)


def failures(heed_run, torch_run, noisy):
    """The differences between two runs, in order."""
    n = max((a.size for parts in torch_run.outputs for a in parts if isinstance(a, numpy.ndarray)), default=1)
    for i, (found, expected) in enumerate(zip(heed_run.outputs, torch_run.outputs)):
        if len(found) != len(expected):
            yield Failure("outputs", i, f"{len(found)} instead of {len(expected)}")
            return
        for part, (f, e) in enumerate(zip(found, expected)):
            others = [r.outputs[i][part] for r in noisy if len(r.outputs) > i and len(r.outputs[i]) > part]
            text = difference(f, e, others, n)
            if text:
                yield Failure("value", i, text)
                return
        if heed_run.requires[i] != torch_run.requires[i]:
            yield Failure("requires_grad", i, f"{heed_run.requires[i]} instead of {torch_run.requires[i]}")
            return
    if (heed_run.error is None) != (torch_run.error is None):
        node = min(len(heed_run.outputs), len(torch_run.outputs))
        yield Failure("error", node, f"Heed: {heed_run.error}. PyTorch: {torch_run.error}")
    if heed_run.error or torch_run.error:
        return
    for what in ("grads", "seconds"):
        found, expected = getattr(heed_run, what), getattr(torch_run, what)
        for i in sorted(set(found) | set(expected)):
            f, e = found.get(i), expected.get(i)
            if (f is None) != (e is None):
                yield Failure(f"which {what}", i, "none instead of one" if f is None else "one instead of none")
                return
            others = [getattr(r, what).get(i) for r in noisy]
            text = e is not None and difference(f, e, others, n, 4 if what == "grads" else 100)
            if text:
                yield Failure(what, i, text)
                return


def check(heed, graph):
    """The first failure of a graph, or None; and whether PyTorch also ran with noise."""
    heed_run = graphs.heed_runs(heed, graph)
    torch_run = graphs.torch_runs(graph)
    first = next(failures(heed_run, torch_run, ()), None)
    if first is None or first.what not in ("value", "grads", "seconds"):
        return first and known(graph, first, heed_run, torch_run)
    noisy = [graphs.torch_runs(graph, Noise(phase)) for phase in (0.5, 1.7, 4.1)]
    first = next(failures(heed_run, torch_run, noisy), None)
    return first and known(graph, first, heed_run, torch_run)


# ---- declared differences: docs/pytorch.md, "Differences", and faults of PyTorch ----

class Known:
    """What a declared difference may examine: the failure, its node's inputs, and the operations of the graph."""

    def __init__(self, graph, failure, heed_run, torch_run):
        self.graph, self.failure, self.torch_run = graph, failure, torch_run
        self.heed_error, self.torch_error = heed_run.error or "", torch_run.error or ""
        after_forward = failure.what == "error" and failure.node >= len(graph.nodes)
        self.is_gradient = failure.what.endswith(("grads", "seconds")) or after_forward

    def inputs(self, node):
        return {name: [self.torch_run.outputs[r.node][r.part] for r in graphs.refs_of(value)]
                for name, value in node.arguments.items()}

    def nodes(self, *names):
        """Nodes of these operations that the failure may come from."""
        for i, node in enumerate(self.graph.nodes):
            if isinstance(node, graphs.Node) and node.operation.name in names:
                if self.is_gradient or self.failure.node == i:
                    yield node

    def input_holds(self, names, condition, anywhere=False):
        """Whether condition(x, arguments) holds for the x of one of these operations; anywhere: also of nodes before."""
        names = names.split()
        nodes = [n for n in self.graph.nodes if isinstance(n, graphs.Node) and n.operation.name in names] if anywhere \
            else self.nodes(*names)
        with numpy.errstate(all="ignore"):
            return any(condition(x, node.arguments) for node in nodes for x in self.inputs(node).get("a", ()))


def mixes_floats(k):
    node = k.graph.nodes[k.failure.node] if k.failure.node < len(k.graph.nodes) else None
    dtypes = {a.dtype for arrays in k.inputs(node).values() for a in arrays} if isinstance(node, graphs.Node) else {}
    return "heed_to" in k.heed_error and {numpy.dtype("f4"), numpy.dtype("f8")} <= set(dtypes)


def extreme(x, arguments):
    return (~(numpy.abs(x) < 1e9)).any()


def holds_zero(x, arguments):
    return (x == 0).any()


def near_tie(x, arguments):
    """Whether the two most extreme elements differ only by rounding, so that the libraries may choose differently."""
    dims = arguments.get("dims") or arguments.get("dim", tuple(range(x.ndim)))
    if x.size < 2 or x.dtype.kind != "f":
        return False
    lines = numpy.sort(numpy.moveaxis(x, dims, tuple(range(-numpy.size(dims), 0))).reshape(
        -1, math.prod(x.shape[d] for d in numpy.atleast_1d(dims))), 1)
    ends = numpy.concatenate([lines[:, :2], lines[:, -2:]])
    gaps = numpy.diff(ends, axis=1)
    rounding = 8 * numpy.finfo(x.dtype).eps * abs(ends).max(1, keepdims=True)
    return lines.shape[1] > 1 and ((gaps > 0) & (gaps < rounding)).any()


def constant_row(x, arguments):
    rows = x.reshape(-1, max(1, numpy.prod(arguments["shape"])))
    return (numpy.ptp(rows, 1) <= 1e-5 * abs(rows).max(1)).any() if rows.size else False


def results(run):
    return [a for a in [*(a for parts in run.outputs for a in parts), *run.grads.values(), *run.seconds.values()]
            if isinstance(a, numpy.ndarray) and a.dtype.kind == "f"]


KNOWN = [  # the reason, and whether it explains a failure k
    ("f32 with f64 is an error", mixes_floats),
    ("torch: sum_to_size to () turns bool into i64",
     lambda k: k.failure.text.startswith("dtype bool") and any(n.arguments["shape"] == () for n in k.nodes("sum_to_size"))),
    ("gelu of infinities is never NaN (torch: NaN)", lambda k: k.input_holds("gelu gelu_tanh", extreme)),
    ("gelu: 1 + tanh and 1 + erf cancel for negative x",
     lambda k: k.input_holds("gelu gelu_tanh", lambda x, _: (x < -2).any(), anywhere=True)),
    ("tanh and sigmoid: 1 - y^2 and 1 - y cancel for large x",
     lambda k: k.is_gradient and k.input_holds("tanh sigmoid", lambda x, _: (abs(x) > 4).any())),
    ("torch: d2y / da db of a ** b is 0 for b = 0", lambda k: k.failure.what == "seconds" and any(
        (b == 0).any() for n in k.nodes("pow") for b in k.inputs(n)["b"])),
    ("attention: infinities at masked keys", lambda k: any(
        not all(numpy.isfinite(k.inputs(n)[name][0]).all() for name in ("a", "k", "v"))
        for n in k.nodes("scaled_dot_product_attention"))),
    ("layer_norm: x and its mean cancel in equal rows", lambda k: k.input_holds("layer_norm", constant_row)),
    ("torch: second derivatives of embedding of nothing are an error",
     lambda k: "cannot reshape tensor of 0 elements" in k.torch_error and any(k.nodes("embedding"))),
    ("torch: the derivative of a power with a bool exponent is an error",
     lambda k: "`-` operator, with a bool" in k.torch_error),
    ("second derivatives of pow at 0 are finite", lambda k: k.failure.what == "seconds" and
     k.failure.text.endswith("(nan)") and k.input_holds("pow pow_scalar", holds_zero)),
    ("torch: double backward of layer_norm with a bias and no weight is wrong or an error", lambda k: any(
        n.arguments["weight"] is None and n.arguments["bias"] for n in k.nodes("layer_norm")) and k.graph.second),
    ("exponents 0.5, -0.5 and 1.5 (in its gradient) follow C's pow, not sqrt", lambda k: k.input_holds(
        "pow_scalar", lambda x, a: a["b"] % 1 == 0.5 and ((x == 0) | numpy.isinf(x)).any())),
    ("torch: causal attention with a negative scale is NaN", lambda k: k.failure.text.endswith("(nan)") and any(
        n.arguments["is_causal"] and n.arguments["scale"] < 0 for n in k.nodes("scaled_dot_product_attention"))),
    ("torch: some attention has no second derivative", lambda k: "attention" in k.torch_error and
     "is not implemented" in k.torch_error),
    ("torch: attention without elements gives its mask no gradient", lambda k: k.failure.what in ("which grads", "requires_grad") and any(
        k.inputs(n)[name][0].size == 0 for n in k.nodes("scaled_dot_product_attention") for name in ("a", "v"))),
    ("torch: cross_entropy without classes is NaN",
     lambda k: k.input_holds("cross_entropy", lambda x, _: x.size == 0)),
    ("attention without keys: zeros, of the broadcast shape", lambda k: any(
        a.shape[-2] == 0 for n in k.nodes("scaled_dot_product_attention") for a in k.inputs(n)["k"])),
    ("second derivatives of infinities and NaN", lambda k: k.failure.what == "seconds" and any(
        not numpy.isfinite(a).all() for a in results(k.torch_run))),
    ("gradients near the limits of f32 overflow in one library only", lambda k: k.is_gradient and any(
        a.dtype == numpy.float32 and (abs(a) > 1e35).any() for a in results(k.torch_run))),
    ("extremes that differ by rounding", lambda k: k.is_gradient and k.input_holds("amax amin amax_dim", near_tie) or
     k.failure.what == "value" and k.input_holds("argmax argmax_dim", near_tie)),
    ("Heed has up to 8 dims", lambda k: "8 dims" in k.heed_error and not k.torch_error),
]


def known(graph, failure, heed_run, torch_run):
    """The failure, or None if it is a declared difference."""
    facts = Known(graph, failure, heed_run, torch_run)
    for reason, explains in KNOWN:
        if explains(facts):
            known.counts[reason] += 1
            return None
    return failure


known.counts = collections.Counter()
