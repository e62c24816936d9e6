"""PyTorch's side of the benchmark: the same workloads, and answers, as bench/serve.c.

    pytorch.py           reads names from stdin; for each a line: the seconds of one call, or "none"
    pytorch.py NAME      one figure that takes a process of its own

With BENCH_TUNED=1 every form of a workload is tried that PyTorch has (plain operations or the fused
attention; the optimiser's loop, foreach, or fused), and the fastest one is timed and named. Without, it is
the one that torch has by default: what a program says that says nothing.
"""

import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

WARM_UP, CHUNK = 0.1, 0.01  # seconds; serve.c has the same
TRIALS = 7
TUNED = os.environ.get("BENCH_TUNED") == "1"
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

attention = getattr(F, "scaled_dot_product_attention", None)  # of PyTorch 2


def fused_attention(q, k, v):
    if attention is not None:
        return attention(q, k, v, is_causal=True)
    return F._scaled_dot_product_attention(q, k, v, is_causal=True)[0]


def causal_mask(length):
    return torch.triu(torch.ones(length, length, dtype=torch.bool), 1)


# ---- training steps ----


def optimiser_forms(kind):
    """How the optimisers of this PyTorch can go through the parameters; the first is the default."""
    forms = [{}]
    if TUNED:
        forms.append({"foreach": True})
        if VERSION >= (2, 4):
            forms.append({"fused": True})
    return [(kind, form) for form in forms]


def step_of(model, loss, kind, form, lr, leaf=None):
    optimiser = getattr(torch.optim, kind)(model.parameters(), lr=lr, **form)

    def step():
        optimiser.zero_grad()
        if leaf is not None:
            leaf.grad = None
        loss(model).backward()
        optimiser.step()

    return step


def training(models, loss, kind, lr=1e-3, leaf=None):
    """The forms of a step: each model with each form of the optimiser, by name."""
    forms = []
    for name, model in models:
        for _, form in optimiser_forms(kind):
            words = [name] * bool(name) + list(form)
            forms.append((" ".join(words), step_of(model(), loss, kind, form, lr, leaf)))
    return forms


class Toy(nn.Module):
    """W1: 5 tokens, d_model 2, masked self-attention, a Linear."""

    def __init__(self):
        super().__init__()
        position = torch.arange(5.0)
        self.embedding = nn.Embedding(5, 2)
        self.W_q, self.W_k, self.W_v = (nn.Linear(2, 2, bias=False) for _ in range(3))
        self.fc = nn.Linear(2, 5)
        self.register_buffer("pe", torch.stack((position.sin(), position.cos()), 1))
        self.register_buffer("mask", causal_mask(5))

    def forward(self, ids):
        x = self.embedding(ids) + self.pe[: ids.shape[0]]
        scores = self.W_q(x) @ self.W_k(x).transpose(0, 1) / math.sqrt(2)
        weights = torch.softmax(scores.masked_fill(self.mask, -1e9), dim=1)
        return self.fc(weights @ self.W_v(x) + x)


def toy(kind):
    ids, targets = torch.arange(5), torch.tensor([1, 2, 3, 4, 0])
    return training([("", Toy)], lambda model: F.cross_entropy(model(ids), targets), kind)


class Head(nn.Module):
    """W2: one head of 16 of 32 features."""

    def __init__(self):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(32, 16, bias=False) for _ in range(3))
        self.register_buffer("mask", causal_mask(8))

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * 16**-0.5
        weights = F.softmax(scores.masked_fill(self.mask, -math.inf), dim=-1)
        return weights @ self.value(x)


def head():
    x = torch.randn(4, 8, 32)
    return training([("", Head)], lambda model: model(x).pow(2).mean(), "SGD")


def mlp(kind):
    x, targets = torch.rand(64, 784), torch.randint(10, (64,))

    def model():
        return nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))

    return training([("", model)], lambda m: F.cross_entropy(m(x), targets), kind)


class Attention(nn.Module):
    """W3, and a part of W4: several heads, causal."""

    def __init__(self, width, heads, length, fused):
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.fused = heads, fused
        self.register_buffer("mask", causal_mask(length))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(c, dim=2)
        )
        if self.fused:
            y = fused_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(c // self.heads))
            y = F.softmax(scores.masked_fill(self.mask, -math.inf), dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))


class ModuleAttention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.register_buffer("mask", causal_mask(length))

    def forward(self, x):
        return self.attention(x, x, x, attn_mask=self.mask, need_weights=False)[0]


def attention_forms(make):
    """Both forms where all are tried; else what a program of its day would have."""
    forms = [("sdpa", lambda: make(True)), ("composed", lambda: make(False))]
    if TUNED:
        return forms
    return forms[:1] if attention is not None else forms[1:]


def multi_head(form=None):
    x = torch.randn(16, 64, 128, requires_grad=True)
    models = attention_forms(lambda fused: Attention(128, 4, 64, fused))
    if form == "composed":
        models = [("", lambda: Attention(128, 4, 64, False))]
    elif form == "module":
        models = [("", lambda: ModuleAttention(128, 4, 64))]
    return training(models, lambda m: m(x).pow(2).mean(), "AdamW", 1e-4, x)


class Block(nn.Module):
    def __init__(self, width, heads, length, gelu, fused):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads, length, fused)
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = nn.GELU(approximate=gelu)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(self.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    """W4: 4 layers, 4 heads, 128 wide, context 64, vocabulary 65."""

    def __init__(self, fused, tied):
        super().__init__()
        gelu = "tanh" if tied else "none"
        self.wte, self.wpe = nn.Embedding(65, 128), nn.Embedding(64, 128)
        self.blocks = nn.Sequential(*(Block(128, 4, 64, gelu, fused) for _ in range(4)))
        self.ln_f, self.head = nn.LayerNorm(128), nn.Linear(128, 65, bias=False)
        if tied:
            self.wte.weight = self.head.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.head(self.ln_f(self.blocks(x)))


def gpt(tied=True):
    ids, targets = torch.randint(65, (12, 64)), torch.randint(65, (12, 64))

    def loss(model):
        logits = model(ids)
        return F.cross_entropy(logits.view(-1, 65), targets.view(-1))

    return training(attention_forms(lambda fused: GPT(fused, tied)), loss, "AdamW")


# ---- products ----


def product(mode, *sizes):
    *batch, m, n, k = sizes
    a = torch.rand(*batch, *((k, m) if mode[0] == "t" else (m, k))) - 0.5
    b = torch.rand(*batch, *((n, k) if mode[1] == "t" else (k, n))) - 0.5
    a = a.transpose(-2, -1) if mode[0] == "t" else a
    b = b.transpose(-2, -1) if mode[1] == "t" else b
    out = torch.empty(*batch, m, n)
    multiply = torch.bmm if batch else torch.mm
    return [("", lambda: multiply(a, b, out=out))]


# ---- element by element, and by rows ----


def elements(name, n):
    a, b, out = torch.randn(n), torch.randn(n), torch.empty(n)
    calls = {
        "add": lambda: torch.add(a, b, out=out),
        "add_new": lambda: a + b,
        "mul": lambda: torch.mul(a, b, out=out),
        "exp": lambda: torch.exp(a, out=out),
        "tanh": lambda: torch.tanh(a, out=out),
        "gelu": lambda: F.gelu(a),
        "gelu_tanh": lambda: F.gelu(a, approximate="tanh"),
        "sum": lambda: a.sum(),
    }
    return [("", calls[name])]


def backward_of(y, leaves, g=None):
    return [("", lambda: torch.autograd.grad(y, leaves, g, retain_graph=True))]


def lines(name, rows, columns):
    x, g = torch.randn(rows, columns), torch.randn(rows, columns)
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


def adamw():
    parameters = [torch.randn(204512, requires_grad=True) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return [
        (" ".join(form), getattr(torch.optim, kind)(parameters, lr=1e-3, **form).step)
        for kind, form in optimiser_forms("AdamW")
    ]


def by_element(name, *sizes):
    if name == "adamw":
        return adamw()
    if len(sizes) == 1:
        return elements(name, *sizes)
    return table(name, *sizes) if name.startswith("embedding") else lines(name, *sizes)


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


# ---- figures that take a process of their own ----


def status_bytes(line):
    with open("/proc/self/status") as file:
        return next(1024 * int(text.split()[1]) for text in file if text.startswith(line))


def repeat(step, times):
    for _ in range(times):
        step()


def default_form(forms):
    return forms[0][1]


def memory_of_gpt():
    repeat(default_form(gpt()), 20)
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
    repeat(default_form(toy("Adam")), 1)
    return 0


def alone(name, *words):
    if name == "start":
        return first_step()
    if words[0] == "attention":
        return memory_of_attention(int(words[1]))
    return {"w4": memory_of_gpt, "w7": memory_of_chain}[words[0]]()


# ---- answering ----


def forms_of(name):
    """The forms of a workload, as (name, call) each, of a name as in bench_heed's list; None: no such one."""
    family, *words = name.split(".")
    sizes = [int(n) for word in words for n in word.split("x") if n.isdigit()]
    words = [word for word in words if not word[0].isdigit()]
    families = {
        "w1": lambda: toy({"adam": "Adam", "sgd": "SGD"}[words[0]]),
        "w2": head,
        "w3": lambda: multi_head(*words),
        "w4": lambda: gpt(not words),
        "w5": lambda: product(words[0], *sizes),
        "w6": lambda: by_element(words[0], *sizes),
        "w7": lambda: chain(*words),
        "mlp": lambda: mlp({"adam": "Adam", "sgd": "SGD"}[words[0]]),
    }
    return families[family]() if family in families else None


def per_call(call, seconds):
    start = time.perf_counter()
    calls = 0
    while calls < 2 or time.perf_counter() - start < seconds:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def fastest(forms):
    """Of several forms the one with the least time of a chunk, tried in turn."""
    least = [math.inf] * len(forms)
    for _ in range(TRIALS if len(forms) > 1 else 0):
        for i, (_, call) in enumerate(forms):
            least[i] = min(least[i], per_call(call, CHUNK))
    return forms[least.index(min(least))]


def choose(name):
    """The form that is timed, as (name, call, calls in a chunk)."""
    forms = forms_of(name)
    if forms is None:
        return None
    form, call = fastest(forms)
    return form, call, max(1, int(CHUNK / per_call(call, WARM_UP)))


def time_chunk(call, calls):
    if calls > 3:  # the first one finds the caches as others left them
        call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def answer_requests():
    now, chosen = None, None
    for line in sys.stdin:
        name = line.strip()
        if name != now:
            chosen = None  # lets go of the last one's memory first
            now, chosen = name, choose(name)
        if chosen is None:
            print("none", flush=True)
        else:
            form, call, calls = chosen
            print(f"{time_chunk(call, calls):.9g} {form}".strip(), flush=True)


torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
torch.manual_seed(0)
if len(sys.argv) > 1:
    print(alone(*sys.argv[1].split(".")), flush=True)
else:
    answer_requests()
