"""PyTorch's side of the benchmark: the same workloads and answers as bench/serve.c.

    pytorch.py           reads names from stdin; answers each with the seconds per call, or "none"
    pytorch.py NAME      prints one figure that needs a separate process

With BENCH_TUNED=1 all of PyTorch's variants of a workload are tried (plain operations or fused attention; the
optimiser as a loop, foreach, or fused), and the fastest is timed and named. Otherwise the default is timed.
With BENCH_COMPILED=1 only training steps are timed, with models and optimisers compiled by torch.compile.
"""

import math
import sys
import time

from serve import CHUNK, THREADS, answer_requests  # isort: skip
import torch
import torch.nn.functional as F
from pytorch_training import (
    COMPILED,
    fused_attention,
    generation,
    gpt,
    head,
    mlp,
    multi_head,
    optimiser_forms,
    seeds,
    small,
    toy,
    toy_from_scratch,
)

TRIALS, TRYING = 7, 2  # TRYING: seconds after which no further trial begins
SUBNORMAL = 1e-39  # the factor of inputs that are below the smallest normal number

# ---- products ----


def product(scale, mode, *sizes):
    *batch, m, n, k = sizes
    a = scale * (torch.rand(*batch, *((k, m) if mode[0] == "t" else (m, k))) - 0.5)
    b = torch.rand(*batch, *((n, k) if mode[1] == "t" else (k, n))) - 0.5
    a = a.transpose(-2, -1) if mode[0] == "t" else a
    b = b.transpose(-2, -1) if mode[1] == "t" else b
    out = torch.empty(*batch, m, n)
    multiply = torch.bmm if batch else torch.mm
    return [("", lambda: multiply(a, b, out=out))]


# ---- element-wise and row-wise ----


def elements(scale, name, n):
    a, b, out = scale * torch.randn(n), torch.randn(n), torch.empty(n)
    calls = {
        "add": lambda: torch.add(a, b, out=out),
        "add_new": lambda: a + b,
        "mul": lambda: torch.mul(a, b, out=out),
        "div": lambda: torch.div(a, b, out=out),
        "exp": lambda: torch.exp(a, out=out),
        "tanh": lambda: torch.tanh(a, out=out),
        "gelu": lambda: F.gelu(a),
        "gelu_tanh": lambda: F.gelu(a, approximate="tanh"),
        "sum": lambda: a.sum(),
    }
    return [("", calls[name])]


def backward_of(y, leaves, g=None):
    return [("", lambda: torch.autograd.grad(y, leaves, g, retain_graph=True))]


def attend(subnormal, name, rows, columns):
    q, k, v, g = (torch.randn(1, 1, rows, columns) for _ in range(4))
    if subnormal:
        q[..., 0], k[..., 0], k[:, :, :2, 0] = 1, 0, 95 * math.sqrt(columns)
    if name == "attention":
        return [("", lambda: fused_attention(q, k, v))]
    for leaf in (q, k, v):
        leaf.requires_grad_(True)
    return backward_of(fused_attention(q, k, v), (q, k, v), g)


def lines(subnormal, name, rows, columns):
    x, g = torch.randn(rows, columns), torch.randn(rows, columns)
    if subnormal:
        x[:, :2] += 95
    ids = torch.randint(columns, (rows,))
    leaf = x.clone().requires_grad_(True)
    if name.startswith("softmax"):
        if name == "softmax":
            return [("", lambda: torch.softmax(x, -1))]
        return backward_of(torch.softmax(leaf, -1), leaf, g)
    if name.startswith("layer_norm"):
        weight = torch.ones(columns, requires_grad=True)
        bias = torch.zeros(columns, requires_grad=True)
        if name == "layer_norm":
            return [("", torch.no_grad()(lambda: F.layer_norm(x, (columns,), weight, bias)))]
        return backward_of(F.layer_norm(leaf, (columns,), weight, bias), (leaf, weight, bias), g)
    if name.startswith("cross_entropy"):
        if name == "cross_entropy":
            return [("", lambda: F.cross_entropy(x, ids))]
        return backward_of(F.cross_entropy(leaf, ids), leaf)
    dim = int(name[-1])
    return [("", lambda: x.sum(dim))]


def table(name, rows, count):
    weight = torch.randn(count, 128, requires_grad=True)
    ids, g = torch.randint(count, (rows,)), torch.randn(rows, 128)
    if name == "embedding":
        return [("", torch.no_grad()(lambda: F.embedding(ids, weight)))]
    return backward_of(F.embedding(ids, weight), weight, g)


def update(subnormal, name):
    parameters = [torch.randn(204512, requires_grad=True) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    if name == "clip_grad_norm":
        return [("", lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9))]
    kind = "AdamW" if name == "adamw" else "SGD"
    options = {"momentum": 0.9} if name == "sgd_momentum" else {}
    forms = []
    for form in optimiser_forms():
        step = getattr(torch.optim, kind)(parameters, lr=1e-3, **options, **form).step
        forms.append((" ".join(form), step))
        step()
    if subnormal:  # the state decays, as that of a unit whose gradient stays 0
        for parameter in parameters:
            parameter.grad.zero_()
        for _, step in forms:
            repeat(step, 1000)
    return forms


def by_element(subnormal, name, *sizes):
    if not sizes:
        return update(subnormal, name)
    if len(sizes) == 1:
        return elements(SUBNORMAL if subnormal else 1, name, *sizes)
    if name.startswith("embedding"):
        return table(name, *sizes)
    return (attend if name.startswith("attention") else lines)(subnormal, name, *sizes)


# ---- chains ----


def chain_of(nodes, x, factor, summand):
    y = x
    for _ in range(nodes // 2):
        y = y * factor
        y = y + summand
    return y


def operands(kind):
    numbers = 0.999, 0.001
    if kind == "numbers":
        return numbers
    return [torch.tensor(number, requires_grad=kind == "leaves") for number in numbers]


def chain(kind, what="backward"):
    x, (factor, summand) = torch.tensor(1.0, requires_grad=True), operands(kind)

    def forward():
        return chain_of(1000, x, factor, summand)

    def backward():
        x.grad = None
        forward().backward()

    calls = {"forward": forward, "no_grad": torch.no_grad()(forward), "backward": backward}
    return [("", calls[what])]


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
    x, (factor, summand) = torch.tensor(1.0, requires_grad=True), operands("leaves")
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
    repeat(default_form(toy_from_scratch()), 1)
    return 0


def alone(name, *words):
    if name == "start":
        return first_step()
    if words[0] == "attention":
        return memory_of_attention(int(words[1]))
    return {"w4": memory_of_gpt, "w7": memory_of_chain}[words[0]]()


# ---- answering ----


def trains(family, what=""):
    return family in ("w1", "w2", "w3", "w4", "gpt", "mlp", "toys") and what != "forward"


def forms_of(name):
    """The variants of a workload from bench_heed's list, as pairs (name, call); None: unknown workload."""
    family, *words = name.split(".")
    sizes = [int(n) for word in words for n in word.split("x") if n.isdigit()]
    subnormal = "subnormal" in words
    words = [word for word in words if not word[0].isdigit() and word != "subnormal"]
    families = {
        "w1": lambda: toy(*words),
        "toys": lambda: small(name),
        "w2": head,
        "w3": lambda: multi_head(*words),
        "w4": lambda: gpt(name),
        "gpt": lambda: gpt(name),
        "generate": lambda: generation(*words),
        "w5": lambda: product(SUBNORMAL if subnormal else 1, words[0], *sizes),
        "w6": lambda: by_element(subnormal, words[0], *sizes),
        "w7": lambda: chain(*words),
        "mlp": lambda: mlp(subnormal, *words),
    }
    if family not in families or (COMPILED and not trains(family, *words)):
        return None
    return families[family]()


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
    per = 1
    if not name.startswith("seeds."):
        forms = forms_of(name)
    elif name.endswith(".stacked"):
        forms = None
    else:
        forms, per = seeds(name)
    if forms is None:
        return None
    form, call = fastest(forms)
    return form, lambda calls: repeat(call, calls), per


torch.set_num_threads(THREADS)
torch.manual_seed(0)
if len(sys.argv) > 1 and not COMPILED:
    print(alone(*sys.argv[1].split(".")), flush=True)
else:
    answer_requests(prepare)
