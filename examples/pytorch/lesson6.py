"""Lesson 6 in Python: how loss.backward() works, with numpy alone.

    python examples/pytorch/lesson6.py

A tensor remembers the operation that made it and the tensors that it was computed from: that is the graph. my_backward
walks it from the loss back to the leaves. First y = tanh(w * x + b), then the SelfAttention of lesson 3. The numbers are
those of build/lesson6_autograd; here each gradient is compared with a difference quotient.
"""
import sys

import numpy as np


class Tensor:
    def __init__(self, value, op=None, inputs=(), args=None, name="constant"):
        self.value, self.op, self.inputs, self.args, self.name = np.asarray(value, float), op, inputs, args, name
        self.grad = None


# ---- the operations: what they compute, and the chain rule for each ----

def add(a, b): return Tensor(a.value + b.value, "add", (a, b))
def mul(a, b): return Tensor(a.value * b.value, "mul", (a, b))
def tanh(a): return Tensor(np.tanh(a.value), "tanh", (a,))
def linear(a, b): return Tensor(a.value @ b.value.T, "linear", (a, b))
def matmul(a, b): return Tensor(a.value @ b.value, "matmul", (a, b))
def transpose(a): return Tensor(a.value.T, "transpose", (a,))
def div_scalar(a, divisor): return Tensor(a.value / divisor, "div_scalar", (a,), divisor)
def total(a): return Tensor(a.value.sum(), "sum", (a,))


def softmax(a):
    e = np.exp(a.value - a.value.max(axis=-1, keepdims=True))
    return Tensor(e / e.sum(axis=-1, keepdims=True), "softmax", (a,))


def softmax_rule(dy, y, a):
    return [y.value * (dy - (y.value * dy).sum(axis=-1, keepdims=True))]


# From dy, the gradient of y, those of its inputs.
RULES = {
    "add": lambda dy, y, a, b: [dy, dy],
    "mul": lambda dy, y, a, b: [dy * b.value, dy * a.value],
    "tanh": lambda dy, y, a: [dy * (1 - y.value**2)],
    "linear": lambda dy, y, a, b: [dy @ b.value, dy.T @ a.value],
    "matmul": lambda dy, y, a, b: [dy @ b.value.T, a.value.T @ dy],
    "transpose": lambda dy, y, a: [dy.T],
    "div_scalar": lambda dy, y, a: [dy / y.args],
    "softmax": softmax_rule,
    "sum": lambda dy, y, a: [np.broadcast_to(dy, a.value.shape)],
}


# ---- my_backward ----

def sort(t, graph):
    """Appends t after everything that it was computed from: a topological order."""
    if all(t is not other for other in graph):
        for x in t.inputs:
            sort(x, graph)
        graph.append(t)
    return graph


def my_backward(y):
    graph = sort(y, [])
    y.grad = np.ones_like(y.value)  # dy/dy = 1
    for t in reversed(graph):       # a gradient is complete before it is passed on
        for x, dx in zip(t.inputs, RULES[t.op](t.grad, t, *t.inputs) if t.op else []):
            x.grad = dx if x.grad is None else x.grad + dx  # used twice: added


# ---- and a difference quotient beside it ----

def quotients(leaf, loss, h=1e-6):
    """(loss(x + h) - loss(x - h)) / 2h for each number x of the leaf."""
    found = np.zeros_like(leaf.value)
    for i in np.ndindex(leaf.value.shape):
        x = leaf.value[i]
        sides = []
        for moved in (x + h, x - h):
            leaf.value[i] = moved
            sides.append(loss().value)
        leaf.value[i] = x
        found[i] = (sides[0] - sides[1]) / (2 * h)
    return found


def show(title, leaves, loss):
    y = loss()
    my_backward(y)
    print(f"{title} = {y.value:.4f}\n\n  gradients: my_backward | difference quotients")
    same = True
    for leaf in leaves:
        difference = quotients(leaf, loss)
        for i, (mine, other) in enumerate(zip(np.atleast_2d(leaf.grad), np.atleast_2d(difference))):
            print(f"  {leaf.name if i == 0 else '':11}" + "".join(f"{x:11.4f}" for x in mine) + "   |" +
                  "".join(f"{x:11.4f}" for x in other))
        same = same and np.allclose(leaf.grad, difference, rtol=1e-6, atol=1e-6)
    print(f"  the same: {'yes' if same else 'no'}\n")
    return same


w, x, b = Tensor(0.5, name="w"), Tensor(2, name="x"), Tensor(-0.4, name="b")
same = show("y = tanh(w * x + b)", [w, x, b], lambda: tanh(add(mul(w, x), b)))

tokens = Tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]], name="tokens")
# The weights of torch.manual_seed(42), each an nn.Linear(2, 2, bias=False).
W_q = Tensor([[0.540610373, 0.586904228], [-0.165655658, 0.649556279]], name="W_q.weight")
W_k = Tensor([[-0.154929623, 0.142687559], [-0.344258487, 0.41527155]], name="W_k.weight")
W_v = Tensor([[0.623344958, -0.518753409], [0.614614487, 0.132341608]], name="W_v.weight")


def attention():
    q, k, v = linear(tokens, W_q), linear(tokens, W_k), linear(tokens, W_v)
    scaled_sims = div_scalar(matmul(q, transpose(k)), np.sqrt(k.value.shape[1]))
    return matmul(softmax(scaled_sims), v)


def loss():
    output = attention()
    return total(mul(output, output))


same = show("loss = sum(output^2), output = SelfAttention(tokens)", [tokens, W_q, W_k, W_v], loss) and same
sys.exit(not same)
