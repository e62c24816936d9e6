"""Shrinks a failing case to the smallest one that fails in the same way."""
import time

import numpy

import graphs


def shrink(case, failure, check, seconds=20):
    """The simplest case found whose failure is like `failure`, and its failure. check(case) gives a Failure or None."""
    progress, end = True, time.process_time() + seconds
    while progress:
        progress = False
        for candidate in case.simpler():
            found = check(candidate)
            if found and found.kind(candidate) == failure.kind(case):
                case, failure, progress = candidate, found, True
                break
            if time.process_time() > end:
                return case, failure
    return case, failure


def without(graph, dropped):
    """The graph without the nodes `dropped`, which no other node uses."""
    places, other = {}, graph.copy()
    other.nodes = []
    for i, node in enumerate(graph.nodes):
        if i in dropped:
            continue
        places[i] = len(other.nodes)
        if isinstance(node, graphs.Node):
            move = lambda v: graphs.Ref(places[v.node], v.part) if isinstance(v, graphs.Ref) else v
            node = graphs.Node(node.operation, graphs.replaced(node.arguments, move))
        other.nodes.append(node)
    return other


def with_node(graph, i, node):
    other = graph.copy()
    other.nodes[i] = node
    unused = {j for j in other.sinks() if isinstance(other.nodes[j], graphs.Leaf) and j not in graph.sinks()}
    return without(other, unused)


def simpler_graphs(graph):
    """Simpler graphs, the simplest first."""
    for i in graph.sinks():
        if len(graph.nodes) > 1:
            yield without(graph, {i})
    runs = graphs.torch_runs(graph)
    for i, node in reversed(list(enumerate(graph.nodes))):
        if isinstance(node, graphs.Node) and i < len(runs.outputs) and isinstance(runs.outputs[i][0], numpy.ndarray):
            others = [n for n in graph.nodes if isinstance(n, graphs.Node)]
            parts = {r.part for n in others for r in graphs.refs_of(n.arguments) if r.node == i}
            if parts <= {0}:
                yield with_node(graph, i, graphs.Leaf(runs.outputs[i][0], runs.requires[i][0]))
    if graph.second:
        yield changed(graph, second=False)
    if graph.threads != 1:
        yield changed(graph, threads=1)
    yield from smaller(graph)
    for i, node in enumerate(graph.nodes):
        if isinstance(node, graphs.Leaf):
            if node.requires_grad:
                yield with_node(graph, i, graphs.Leaf(node.array, False))
            for array in simpler_values(node.array):
                yield with_node(graph, i, graphs.Leaf(array, node.requires_grad))
        else:
            for arguments in simpler_arguments(node.arguments):
                yield with_node(graph, i, graphs.Node(node.operation, arguments))


def changed(graph, **fields):
    other = graph.copy()
    vars(other).update(fields)
    return other


def smaller(graph):
    """Graphs in which a size is smaller everywhere, or in one leaf."""
    leaves = [i for i, n in enumerate(graph.nodes) if isinstance(n, graphs.Leaf)]
    sizes = {s for i in leaves for s in graph.nodes[i].array.shape if s > 1}
    for size in sorted(sizes, reverse=True):
        for target in sorted({1, 2, size // 2, size - 1} - {size, 0}):
            yield resized(graph, leaves, size, target)
            for i in leaves:
                if len(leaves) > 1 and size in graph.nodes[i].array.shape:
                    yield resized(graph, [i], size, target)
    for i in leaves:
        if graph.nodes[i].array.ndim and graph.nodes[i].array.shape[0]:
            other = graph.copy()
            other.nodes[i] = graphs.Leaf(graph.nodes[i].array[0], graph.nodes[i].requires_grad)
            yield other


def resized(graph, leaves, size, target):
    other = graph.copy()
    everywhere = leaves == [i for i, n in enumerate(graph.nodes) if isinstance(n, graphs.Leaf)]
    for i in leaves:
        leaf = graph.nodes[i]
        cut = tuple(slice(target if s == size else None) for s in leaf.array.shape)
        other.nodes[i] = graphs.Leaf(leaf.array[cut], leaf.requires_grad)
    shrunk = lambda v: target if type(v) is int and v == size else v
    for i, node in enumerate(graph.nodes):
        if isinstance(node, graphs.Node) and everywhere:
            arguments = {k: graphs.replaced(v, shrunk) if isinstance(v, tuple) else v for k, v in node.arguments.items()}
            other.nodes[i] = graphs.Node(node.operation, arguments)
    return other


def simpler_values(array):
    """Arrays of the same shape with simpler values: constant, fewer bits, one element changed to 1."""
    constant = array.size and (array == array.reshape(-1)[0]).all()
    if array.size and not (constant and array.reshape(-1)[0] in (0, 1)):
        yield numpy.ones_like(array)
        yield numpy.zeros_like(array)
    for digits in (0, 1, 3):
        rounded = numpy.round(array, digits) if array.dtype.kind == "f" else array
        if (rounded != array).any():
            yield rounded
    for i in numpy.flatnonzero(array != 1)[:16]:
        other = array.copy()
        other.reshape(-1)[i] = 1
        yield other


def simpler_arguments(arguments):
    for name, value in arguments.items():
        if isinstance(value, dict):
            for key in value:
                yield {**arguments, name: {k: v for k, v in value.items() if k != key}}
        elif isinstance(value, graphs.Ref) and name in ("weight", "bias", "mask"):
            yield {**arguments, name: None}
        elif type(value) in (int, float) and value not in (0, 1):
            for simple in (1,) if name in ("eps", "scale", "p") else (0, 1):  # 0 is Heed's default, or special
                yield {**arguments, name: type(value)(simple)}
        elif value is True:
            yield {**arguments, name: False}

