"""PyTorch's side of the benchmark: the same workloads and answers as bench/serve.c.

    pytorch.py           reads names from stdin; answers each with the seconds per call, or "none"
    pytorch.py NAME      prints one figure that needs a separate process

With BENCH_TUNED=1 all of PyTorch's variants of a workload are tried (plain operations or fused attention; the
optimiser as a loop, foreach, or fused), and the fastest is timed and named. Otherwise the default is timed.
"""

import math
import sys
import time

from serve import CHUNK, THREADS, answer_requests  # isort: skip
import torch
import torch.nn.functional as F
from pytorch_training import (
    fused_attention, generation, gpt, head, mlp, multi_head, optimiser_forms, seeds, small, toy_from_scratch)

TRIALS, TRYING = 7, 2  # TRYING: seconds after which no further trial begins

# ---- single operations ----


def product(mode, batch, m, n, k):
    a = torch.rand(batch, *((k, m) if mode[0] == "t" else (m, k))) - 0.5
    b = torch.rand(batch, *((n, k) if mode[1] == "t" else (k, n))) - 0.5
    a = a.transpose(-2, -1) if mode[0] == "t" else a
    b = b.transpose(-2, -1) if mode[1] == "t" else b
    out = torch.empty(batch, m, n)
    if batch == 1:
        return lambda: torch.mm(a[0], b[0], out=out[0])
    return lambda: torch.bmm(a, b, out=out)


def operation(name, sizes, subnormal, backward):
    """A call of it, or of its backward pass for a given upstream gradient."""
    rows, columns = (1, *sizes) if len(sizes) == 1 else sizes
    x, a, b = (torch.randn(rows, columns) for _ in range(3))
    if subnormal and name == "softmax":
        x[:, :2] += 95
    elif subnormal:
        x *= 1e-39
    ids = torch.randint(columns, (rows,))
    weight, bias, out = torch.ones(columns), torch.zeros(columns), torch.empty(rows, columns)
    calls = {
        "add": lambda: torch.add(x, a, out=out),
        "mul": lambda: torch.mul(x, a, out=out),
        "exp": lambda: torch.exp(x, out=out),
        "tanh": lambda: torch.tanh(x, out=out),
        "gelu": lambda: F.gelu(x),
        "sum": lambda: x.sum(),
        "sum_dim0": lambda: x.sum(0),
        "sum_dim1": lambda: x.sum(1),
        "softmax": lambda: torch.softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, (columns,), weight, bias),
        "cross_entropy": lambda: F.cross_entropy(x, ids),
        "attention": lambda: fused_attention(x[None, None], a[None, None], b[None, None], is_causal=True),
    }
    if not backward:
        return calls[name]
    inputs = {"layer_norm": (x, weight, bias), "attention": (x, a, b)}.get(name, (x,))
    for leaf in inputs:
        leaf.requires_grad_(True)
    y = calls[name]()
    g = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, inputs, g, retain_graph=True)


def update(name):
    parameters = [torch.randn(204512, requires_grad=True) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    if name == "clip_grad_norm":
        return [("", lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9))]
    return [(" ".join(form), torch.optim.AdamW(parameters, lr=1e-3, **form).step) for form in optimiser_forms()]


def single(words, sizes, subnormal):
    name, *rest = words
    return [("", operation(name, sizes, subnormal, "backward" in rest))] if sizes else update(name)


# ---- chains ----


def chain_of(nodes, x, factor, summand):
    y = x
    for _ in range(nodes // 2):
        y = y * factor
        y = y + summand
    return y


def leaves():
    return [torch.tensor(number, requires_grad=True) for number in (1.0, 0.999, 0.001)]


def chain(what):
    x, factor, summand = leaves()

    def forward():
        return chain_of(1000, x, factor, summand)

    def backward():
        x.grad = None
        forward().backward()

    return [("", torch.no_grad()(forward) if what == "no_grad" else backward)]


# ---- figures that need a separate process ----


def status_bytes(line):
    with open("/proc/self/status") as file:
        return next(1024 * int(text.split()[1]) for text in file if text.startswith(line))


def repeat(step, times):
    for _ in range(times):
        step()


def default_form(forms):
    return forms[0][1]


def memory_of_gpt():
    repeat(default_form(gpt("w4")), 20)
    return status_bytes("VmHWM:")


def memory_of_chain():
    repeat(default_form(chain("leaves")), 1)
    x, factor, summand = leaves()
    before = status_bytes("VmRSS:")
    y = chain_of(1000000, x, factor, summand)
    after = status_bytes("VmRSS:")
    assert y.requires_grad
    return (after - before) / 1e6


def memory_of_attention(length):
    q, k, v = (torch.randn(1, 4, length, 64, requires_grad=True) for _ in range(3))
    fused_attention(q, k, v).sum().backward()
    return status_bytes("VmHWM:")


def first_step():
    toy_from_scratch()()
    return 0


def alone(name, *words):
    if name == "start":
        return first_step()
    if words[0] == "attention":
        return memory_of_attention(int(words[1]))
    return {"w4": memory_of_gpt, "w7": memory_of_chain}[words[0]]()


# ---- answering ----


def forms_of(name):
    """The variants of a workload from bench_heed's list, as pairs (name, call); None: unknown workload."""
    family, *words = name.split(".")
    sizes = [int(n) for word in words for n in word.split("x") if n.isdigit()]
    subnormal = "subnormal" in words
    words = [word for word in words if not word[0].isdigit() and word != "subnormal"]
    families = {
        "w1": lambda: small(name),
        "toys": lambda: small(name),
        "w2": head,
        "w3": lambda: multi_head(*words),
        "w4": lambda: gpt(name),
        "gpt": lambda: gpt(name),
        "generate": lambda: generation(*words),
        "w5": lambda: [("", product(words[0], *sizes))],
        "w6": lambda: single(words, sizes, subnormal),
        "w7": lambda: chain(*words),
        "mlp": lambda: mlp(*words),
    }
    return families[family]() if family in families else None


def seconds_of(call, seconds):
    start = time.perf_counter()
    calls = 0
    while calls < 1 or time.perf_counter() - start < seconds:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def fastest(forms):
    """The variant with the minimum time per chunk; variants are tried in turn, at least once."""
    least, start = [math.inf] * len(forms), time.perf_counter()
    for trial in range(TRIALS if len(forms) > 1 else 0):
        if trial == 0 or time.perf_counter() - start < TRYING:
            for i, (_, call) in enumerate(forms):
                least[i] = min(least[i], seconds_of(call, CHUNK))
    return forms[least.index(min(least))]


def prepare(name):
    forms, per = seeds(name) if name.startswith("seeds.") else (forms_of(name), 1)
    if forms is None:
        return None
    form, call = fastest(forms)
    return form, lambda calls: repeat(call, calls), per


torch.set_num_threads(THREADS)
torch.manual_seed(0)
if len(sys.argv) > 1:
    print(alone(*sys.argv[1].split(".")), flush=True)
else:
    answer_requests(prepare)
