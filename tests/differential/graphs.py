"""Random graphs of operations: drawing them, and running them in Heed and in PyTorch."""
import hashlib
import math
import random
import re

import numpy
import torch
import torch.nn.functional as F

from bind import DTYPES, NUMPY, HeedError, Parts, Pointer
from drawers import operations

OPERATIONS = operations()
TORCH_DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "bool": torch.bool}
NAMES = {d: n for n, d in TORCH_DTYPES.items()}
EDGES = [7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257]
LARGE = [2047, 2048, 2049, 4097, 8191, 8192, 8193, 16385, 32769, 65537]  # kernels' blocks, src/tensor/tensor.h
MOST_ELEMENTS = 150_000


class Ref:
    """The output `part` of node `node`."""

    def __init__(self, node, part=0):
        self.node, self.part = node, part


class Leaf:
    def __init__(self, array, requires_grad):
        self.array, self.requires_grad = numpy.asarray(array, order="C"), requires_grad


class Node:
    def __init__(self, operation, arguments):
        self.operation, self.arguments = operation, arguments


def refs_of(value):
    if isinstance(value, Ref):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [r for v in values for r in refs_of(v)]


def replaced(value, change):
    """A copy of an argument with change(leaf) in place of everything that is not a container."""
    if isinstance(value, dict):
        return {k: replaced(v, change) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(v, change) for v in value)
    return change(value)


class Graph:
    """A list of leaves and nodes; each node follows its inputs."""

    def __init__(self, second, threads):
        self.nodes, self.second, self.threads = [], second, threads

    def names(self):
        return [n.operation.name for n in self.nodes if isinstance(n, Node)]

    def programs(self, heed):
        return torch_program(self), heed_runs(heed, self, traced=True).trace

    def needed_by(self, last):
        """The graph of node `last` and the nodes that it needs."""
        needed = {last}
        for i in range(last, -1, -1):
            if i in needed and isinstance(self.nodes[i], Node):
                needed.update(r.node for r in refs_of(self.nodes[i].arguments))
        places = {i: place for place, i in enumerate(sorted(needed))}
        part = Graph(self.second, self.threads)
        for i in places:
            node = self.nodes[i]
            if isinstance(node, Node):
                node = Node(node.operation, replaced(
                    node.arguments, lambda v: Ref(places[v.node], v.part) if isinstance(v, Ref) else v))
            part.nodes.append(node)
        return part

    def sinks(self):
        used = {r.node for n in self.nodes if isinstance(n, Node) for r in refs_of(n.arguments)}
        return [i for i in range(len(self.nodes)) if i not in used]


# ---- drawing ----

class Drawing:
    def __init__(self, rng, names):
        self.rng, self.names, self.mode = rng, names, None
        self.graph = Graph(rng.random() < 0.3, rng.choice([1, 2, 3]))
        self.torch = []  # outputs of the nodes so far
        style = rng.random()
        self.edges = 0.0 if style < 0.7 else 0.5
        self.large = 0.3 if style > 0.95 else 0.0
        self.special = 0.3 if rng.random() < 0.06 else 0.0
        self.main = rng.choice(["f32", "f32", "f64"])

    def chance(self, p):
        return self.rng.random() < p

    def integer(self, low, high):
        return self.rng.randint(low, max(low, high))

    def choose(self, values):
        return self.rng.choice(list(values))

    def sample(self, values, count):
        return self.rng.sample(list(values), count)

    def size(self):
        if self.chance(self.large):
            self.large = 0  # products of large sizes would not fit in memory
            return self.choose(LARGE)
        if self.chance(self.edges):
            self.edges *= 0.75
            return self.choose(EDGES)
        return self.choose([0, 1, 1, 2, 2, 3, 3, 4, 5, 6] if self.chance(0.3) else [1, 2, 3, 4, 5])

    def shape(self, low=0, high=5):
        count = self.choose([n for n in (0, 1, 1, 2, 2, 2, 3, 3, 4, 5) if low <= n <= high])
        shape = [self.size() for _ in range(count)]
        while math.prod(shape) > MOST_ELEMENTS:
            shape[shape.index(max(shape))] = self.integer(1, 5)
        return tuple(shape)

    def narrowed(self, shape):
        """A shape that broadcasts to `shape`."""
        shape = [1 if self.chance(0.25) else s for s in shape]
        return tuple(shape[self.integer(0, len(shape)) if self.chance(0.3) else 0:])

    def partner(self, shape):
        """A shape that broadcasts with `shape`, with rare exceptions."""
        other = [self.size() if s == 1 and self.chance(0.5) else s for s in self.narrowed(shape)]
        if len(other) == len(shape) and len(shape) < 5 and self.chance(0.1):
            other = [self.integer(1, 3)] + other
        if other and self.chance(0.015):
            other[-1] += 1
        return tuple(other)

    def refactored(self, count):
        if count == 0:
            return (0, 2) if self.chance(0.5) else (0,)
        sizes = []
        while count > 1 and len(sizes) < 4:
            factors = [f for f in range(1, min(count, 64) + 1) if count % f == 0]
            sizes.append(self.choose(factors))
            count //= sizes[-1]
        sizes.append(count)
        if self.chance(0.2):
            sizes[self.integer(0, len(sizes) - 1)] = -1
        if self.chance(0.02):
            sizes[0] += 1
        return tuple(sizes)

    def values(self, mode):
        """A context in which leaves have values of that kind."""
        return Mode(self, mode)

    def numbers(self, shape, dtype, mode):
        rng = numpy.random.default_rng(self.rng.getrandbits(32))
        if dtype == "bool":
            return rng.random(shape) < 0.6
        if dtype == "i64":
            return rng.integers(1 if mode == "positive" else -4, 5, shape)
        style = self.rng.random()
        array = rng.standard_normal(shape) if style < 0.6 else rng.integers(-16, 17, shape) / 8 if style < 0.9 \
            else rng.standard_normal(shape) * 10 ** rng.uniform(-3, 2)
        array = numpy.asarray(array)
        if mode == "positive":
            array = numpy.abs(array) + 0.0625
        if mode == "probability":
            array = numpy.abs(array) / (1 + numpy.abs(array))
        if mode == "bias":
            array = numpy.where(rng.random(shape) < 0.2, -numpy.inf, array)
        elif self.chance(self.special) and array.size:
            specials = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e3, -1e3, 1e-9]
            array = numpy.where(rng.random(shape) < 0.2, rng.choice(specials, shape), array)
        return array.astype(NUMPY[dtype])

    def leaf(self, array, requires_grad):
        self.graph.nodes.append(Leaf(array, requires_grad))
        self.torch.append((torch.from_numpy(self.graph.nodes[-1].array.copy()).requires_grad_(requires_grad),))
        return Ref(len(self.torch) - 1)

    def value(self, ref):
        return self.torch[ref.node][ref.part]

    def dtype(self, ref):
        return NAMES[self.value(ref).dtype]

    def extent(self, ref, dim):
        shape = self.value(ref).shape
        return shape[dim] if -len(shape) <= dim < len(shape) else 1

    def existing(self, suits):
        found = [Ref(i, p) for i, parts in enumerate(self.torch) for p, t in enumerate(parts)
                 if isinstance(t, torch.Tensor) and suits(t)]
        return found

    def of_shape(self, shape, dtype, requires_grad=None, values=None):
        shape = tuple(shape)
        if math.prod(shape) > MOST_ELEMENTS:
            shape = tuple(min(s, 3) for s in shape)
        plain = self.mode is None and values is None and requires_grad is None
        found = self.existing(lambda t: tuple(t.shape) == shape and NAMES[t.dtype] == dtype) if plain else []
        if found and self.chance(0.4):
            return self.choose(found)
        if requires_grad is None:
            requires_grad = dtype in ("f32", "f64") and self.chance(0.75)
        return self.leaf(self.numbers(shape, dtype, values or self.mode), requires_grad)

    def tensor(self, dtypes, dims=None):
        found = self.existing(lambda t: NAMES[t.dtype] in dtypes and dims in (None, t.dim())) if self.mode is None else []
        if found and self.chance(0.8):
            return found[-1] if self.chance(0.5) else self.choose(found)
        dtype = self.main if self.chance(0.8) else self.choose(dtypes)
        return self.of_shape(self.shape() if dims is None else self.shape(dims, dims), dtype)

    def ids(self, shape, extent):
        array = numpy.random.default_rng(self.rng.getrandbits(32)).integers(0, max(1, extent), shape)
        if array.size and self.chance(0.02):
            array.reshape(-1)[self.integer(0, array.size - 1)] = self.choose([extent, -1])
        return self.leaf(numpy.asarray(array, dtype=numpy.int64), False)

    def node(self):
        """Adds an operation; false if torch rejects it, or the result is too large to continue."""
        # The name with the largest hash: a new operation leaves most graphs of a seed as they were.
        place = self.rng.getrandbits(32)
        operation = OPERATIONS[max(self.names, key=lambda name: hashlib.blake2s(f"{name} {place}".encode()).digest())]
        arguments = {}
        for name, drawer in operation.drawers.items():
            arguments[name] = drawer(self, arguments)
        work = math.prod(max(1, self.value(r).numel()) for r in refs_of(arguments))
        if work > 3_000_000_000:
            return True  # too much time or memory
        self.graph.nodes.append(Node(operation, arguments))
        try:
            self.torch.append(run_torch(operation, arguments, self.torch))
        except Exception:
            return False
        return sum(t.numel() for t in self.torch[-1] if isinstance(t, torch.Tensor)) < MOST_ELEMENTS


class Mode:
    def __init__(self, drawing, mode):
        self.drawing, self.mode = drawing, mode

    def __enter__(self):
        self.before, self.drawing.mode = self.drawing.mode, self.mode

    def __exit__(self, *_):
        self.drawing.mode = self.before


def draw(seed, only=None):
    """The graph of a seed; contains only the operations `only`, if any are given."""
    rng = random.Random(seed)
    while True:
        drawing = Drawing(rng, [name for name in OPERATIONS if not only or name in only])
        try:
            for _ in range(rng.choice([1, 1, 2, 3, 4, 6])):
                if not drawing.node():
                    break
        except (ValueError, IndexError, KeyError):
            continue  # a drawer needs a different number of dims than x has
        if drawing.graph.names():
            return drawing.graph


# ---- running ----

def torch_value(value, outputs):
    if isinstance(value, Ref):
        return outputs[value.node][value.part]
    return TORCH_DTYPES.get(value, value) if isinstance(value, str) else value


def torch_options(options):
    """Heed's options under torch's names."""
    words = {"HEED_MEAN": "mean", "HEED_SUM": "sum", "HEED_NONE": "none"}
    return {k: words.get(v, v) if isinstance(v, str) else v for k, v in options.items()}


GLOBALS = {"torch": torch, "F": F, "numpy": numpy}


def run_torch(operation, arguments, outputs):
    values = {}
    for name, value in arguments.items():
        value = torch_options(value) if isinstance(value, dict) else value
        values[name] = replaced(value, lambda v: torch_value(v, outputs))
    result = eval(operation.code, GLOBALS, values)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def weights_like(shape):
    """The upstream gradient: not constant, and exact in f32."""
    return ((numpy.arange(math.prod(shape)) * 37 % 17 - 8) / 8 + 0.0625).reshape(shape)


def array_of(t):
    """A copy of t's values. A ZeroTensor, torch's constant zero gradient, has no memory to copy."""
    return numpy.zeros(t.shape, NUMPY[NAMES[t.dtype]]) if t._is_zerotensor() else t.detach().numpy().copy()


class Run:
    """Results of a graph: the outputs of each node, or an error; gradients of the leaves; second derivatives."""

    def __init__(self):
        self.outputs, self.error, self.grads, self.seconds, self.requires = [], None, {}, {}, []


def torch_runs(graph, noise=None):
    """Runs a graph in PyTorch. `noise` changes the value of each tensor and gradient (compare.Noise)."""
    run, outputs = Run(), []
    for node in graph.nodes:
        if isinstance(node, Leaf):
            parts = (torch.from_numpy(node.array.copy()).requires_grad_(node.requires_grad),)
            outputs.append(parts)
        else:
            try:
                inputs = noise.inputs(node, outputs) if noise else outputs
                parts = run_torch(node.operation, node.arguments, inputs)
            except Exception as error:
                run.error = f"{type(error).__name__}: {error}"
                return run
            outputs.append(noise.outputs(parts) if noise else parts)
        run.outputs.append([array_of(t) if isinstance(t, torch.Tensor) else t for t in outputs[-1]])
        run.requires.append([isinstance(t, torch.Tensor) and t.requires_grad for t in parts])
    leaves = [(i, outputs[i][0]) for i, n in enumerate(graph.nodes) if isinstance(n, Leaf) and n.requires_grad]
    sinks = [t for i in graph.sinks() for t in outputs[i] if isinstance(t, torch.Tensor) and t.requires_grad]
    if not sinks or not leaves:
        return run
    try:
        loss = sum((t.double() * torch.from_numpy(weights_like(t.shape))).sum() for t in sinks)
        loss.backward(retain_graph=graph.second)
        run.grads = {i: None if t.grad is None else array_of(t.grad) for i, t in leaves}
        if graph.second:
            tensors = [t for _, t in leaves]
            grads = torch.autograd.grad(loss, tensors, create_graph=True, allow_unused=True)
            grads = [g for g in grads if g is not None and g.requires_grad]
            total = sum((g.double() * torch.from_numpy(weights_like(g.shape))).sum() for g in grads)
            seconds = torch.autograd.grad(total, tensors, allow_unused=True) if grads else [None] * len(tensors)
            run.seconds = {i: numpy.zeros(t.shape, t.detach().numpy().dtype) if g is None else array_of(g)
                           for (i, t), g in zip(leaves, seconds)}
    except RuntimeError as error:
        run.error = f"{type(error).__name__}: {error}"
    return run


fault = None  # of the self-test: changes the result of an operation


def weighted_sum(heed, tensors):
    total = None
    for t in tensors:
        wide = heed.call("to", t, "f64")
        weights = heed.tensor(weights_like(heed.shape(t)))
        part = heed.call("sum", heed.call("mul", wide, weights))
        total = part if total is None else heed.call("add", total, part)
    return total


def heed_runs(heed, graph, traced=False):
    """Runs a graph in Heed."""
    heed.begin()
    heed.trace = [] if traced else None
    run, outputs = Run(), []
    try:
        heed.call_quietly("set_num_threads", graph.threads)
        for node in graph.nodes:
            if isinstance(node, Leaf):
                made = heed.tensor(node.array)
                outputs.append([heed.call("set_requires_grad", made, True) if node.requires_grad else made])
            else:
                values = [replaced(node.arguments[n], lambda v: outputs[v.node][v.part] if isinstance(v, Ref) else v)
                          for n in node.operation.order]
                result = heed.call(node.operation.name, *values)
                result = fault(node.operation.name, result) if fault else result
                outputs.append(result if isinstance(result, list) else [result])
            run.outputs.append([heed.array(t) if isinstance(t, Pointer) else t for t in outputs[-1]])
            run.requires.append([isinstance(t, Pointer) and heed.struct(t).requires_grad for t in outputs[-1]])
        leaves = [(i, outputs[i][0]) for i, n in enumerate(graph.nodes) if isinstance(n, Leaf) and n.requires_grad]
        sinks = [t for i in graph.sinks() for t in outputs[i]
                 if isinstance(t, Pointer) and heed.struct(t).requires_grad]
        if sinks and leaves:
            loss = weighted_sum(heed, sinks)
            heed.call("backward_retain" if graph.second else "backward", loss)
            run.grads = {i: heed.grad(t) for i, t in leaves}
            if graph.second:
                tensors = [t for _, t in leaves]
                grads = heed.call("grad", loss, tensors, len(tensors), Parts(len(tensors)), True)[1:]
                seconds = heed.call("grad", weighted_sum(heed, grads), tensors, len(tensors), Parts(len(tensors)), False)[1:]
                run.seconds = {i: heed.array(g) for (i, _), g in zip(leaves, seconds)}
    except HeedError as error:
        run.error = error.args[1]
    finally:
        run.trace = heed.trace
        heed.end()
    return run


# ---- printing ----

def torch_text(value):
    if isinstance(value, Ref):
        return f"y{value.node}[{value.part}]"
    if isinstance(value, dict):
        return "dict(" + ", ".join(f"{k}={torch_text(v)}" for k, v in torch_options(value).items()) + ")"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(torch_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return str(TORCH_DTYPES[value]) if isinstance(value, str) and value in TORCH_DTYPES else repr(value)


def torch_program(graph):
    """The graph as a Python program; y3[0] is the first output of node 3."""
    lines = ["import numpy, torch, torch.nn.functional as F"]
    for i, node in enumerate(graph.nodes):
        if isinstance(node, Leaf):
            values = torch_text(node.array.reshape(-1).tolist())
            grad = ".requires_grad_()" if node.requires_grad else ""
            lines.append(f"y{i} = [torch.tensor({values}, dtype={TORCH_DTYPES[NAMES_OF[node.array.dtype]]})"
                         f".reshape({torch_text(node.array.shape)}){grad}]")
        else:
            text = node.operation.torch
            names = "|".join(map(re.escape, node.arguments))
            text = re.sub(rf"(?<![\w.'])({names})\b(?!=[^=]|')", lambda m: torch_text(node.arguments[m[1]]), text)
            lines.append(f"y{i} = {text}" if node.operation.name in SEVERAL else f"y{i} = [{text}]")
    leaves = ", ".join(f"y{i}[0]" for i, n in enumerate(graph.nodes) if isinstance(n, Leaf) and n.requires_grad)
    if not leaves:
        return lines
    lines.append("def weighted(tensors):\n    return sum((t.double() * ((torch.arange(t.numel()) * 37 % 17 - 8) / 8 + 0.0625)"
                 ".reshape(t.shape)).sum() for t in tensors if t.requires_grad)")
    lines.append("loss = weighted([" + ", ".join(f"*y{i}" for i in graph.sinks()) + "])")
    lines.append(f"grads = torch.autograd.grad(loss, [{leaves}], create_graph=True, allow_unused=True)")
    if graph.second:
        lines.append(f"seconds = torch.autograd.grad(weighted(grads), [{leaves}], allow_unused=True)")
    return lines


NAMES_OF = {numpy.dtype(d): n for n, d in NUMPY.items()}
SEVERAL = ["chunk"]
