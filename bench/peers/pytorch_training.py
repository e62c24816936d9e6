"""PyTorch's training steps: W1 to W4 and the perceptron, each in the variants described in pytorch.py."""

import math
import os

import torch
import torch.nn.functional as F
from torch import nn

TUNED = os.environ.get("BENCH_TUNED") == "1"
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

attention = getattr(F, "scaled_dot_product_attention", None)  # PyTorch 2


def fused_attention(q, k, v):
    if attention is not None:
        return attention(q, k, v, is_causal=True)
    return F._scaled_dot_product_attention(q, k, v, is_causal=True)[0]


def causal_mask(length):
    return torch.triu(torch.ones(length, length, dtype=torch.bool), 1)


def optimiser_forms():
    """Variants of this PyTorch's optimisers; the first is the default."""
    forms = [{}]
    if TUNED:
        forms.append({"foreach": True})
        if VERSION >= (2, 4):
            forms.append({"fused": True})
    return forms


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
    """The variants of a step: each model with each variant of the optimiser, by name."""
    forms = []
    for name, model in models:
        for form in optimiser_forms():
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


def toy(what):
    ids, targets = torch.arange(5), torch.tensor([1, 2, 3, 4, 0])
    if what == "forward":
        model = Toy()
        return [("", lambda: F.cross_entropy(model(ids), targets))]
    kind = {"adam": "Adam", "sgd": "SGD"}[what]
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


def mlp(subnormal, what):
    kind = {"adam": "Adam", "sgd": "SGD"}[what]
    x, targets = torch.rand(64, 784), torch.randint(10, (64,))

    def model():
        return nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))

    forms = training([("", model)], lambda m: F.cross_entropy(m(x), targets), kind)
    for _, step in forms:
        for _ in range(1500 if subnormal else 0):  # until the moments of dead units are subnormal
            step()
    return forms


class Attention(nn.Module):
    """W3 and part of W4: several heads, causal."""

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
    """Both variants if tuned; otherwise the default of this version of PyTorch."""
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
