"""PyTorch's training steps and generation, each in the variants described in pytorch.py."""

import math
import os

import torch
import torch.nn.functional as F
from serve import GPTS, TRAINED, check_first, check_losses, toys_of
from torch import nn

TUNED = os.environ.get("BENCH_TUNED") == "1"
fused_attention = F.scaled_dot_product_attention


def causal_mask(length):
    return torch.triu(torch.ones(length, length, dtype=torch.bool), 1)


def optimiser_forms():
    """Variants of the optimisers; the first is the default."""
    return [{}, {"foreach": True}, {"fused": True}] if TUNED else [{}]


def step_of(model, loss, optimiser, leaf, clipped):
    """A step, which returns the loss."""

    def step():
        optimiser.zero_grad()
        if leaf is not None:
            leaf.grad = None
        y = loss(model)
        y.backward()
        if clipped:
            nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimiser.step()
        return y

    return step


def training(models, loss, kind, lr=1e-3, leaf=None, groups=nn.Module.parameters, clipped=False, first=None, **options):
    """The variants of a step: each model with each variant of the optimiser, by name. first: the loss before it."""
    forms = []
    for name, make in models:
        for form in optimiser_forms():
            model = make()
            optimiser = getattr(torch.optim, kind)(groups(model), lr=lr, **options, **form)
            words = [name] * bool(name) + list(form)
            forms.append((" ".join(words), step_of(model, loss, optimiser, leaf, clipped)))
    for _, step in forms:
        losses = [step().item() for _ in range(TRAINED + 1)]
        check_losses(losses)
        if first is not None:
            check_first(losses[0], first)
    return forms


# ---- small models, as functions of their weights, which vmap takes together ----


class Weights:
    """The weights of a seed or, with a dim of seeds, of all."""

    def __init__(self, toys, seed=slice(None), fused=False):
        self.named = {name: torch.tensor(array[seed], requires_grad=True) for name, array in toys.parameters.items()}
        self.fused = fused

    def parameters(self):
        return list(self.named.values())


def data_of(toys, seed=slice(None)):
    return torch.from_numpy(toys.inputs[seed]), torch.from_numpy(toys.targets[seed])


def attend(q, k, v, mask, fused):
    if fused:
        return fused_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return F.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ v


def loss_function(names, tokens, scored, heads):
    """loss(weights, inputs, targets, fused) of a seed, whose weights have these names."""
    mask, position = causal_mask(tokens), torch.arange(float(tokens))
    encoding = torch.stack((position.sin(), position.cos()), 1)
    layers = sum(name.endswith("qkv.weight") for name in names)

    def toy_loss(p, ids, targets, fused):
        x = F.embedding(ids, p["we.weight"]) + encoding
        q, k, v = (F.linear(x, p[f"attention.W_{part}.weight"]) for part in "qkv")
        return F.cross_entropy(F.linear(attend(q, k, v, mask, fused) + x, p["fc.weight"], p["fc.bias"]), targets)

    def loss(p, ids, targets, fused):
        x = F.embedding(ids, p["wte.weight"]) + p["wpe.weight"]
        rows, _, width = x.shape
        for i in range(layers):
            block = f"blocks.{i}."
            y = F.layer_norm(x, (width,), p[block + "norm_1.weight"], p[block + "norm_1.bias"])
            parts = F.linear(y, p[block + "qkv.weight"]).split(width, -1)
            q, k, v = (part.view(rows, tokens, heads, -1).transpose(1, 2) for part in parts)
            y = attend(q, k, v, mask, fused).transpose(1, 2).reshape(rows, tokens, width)
            x = x + F.linear(y, p[block + "W_o.weight"])
        x = F.layer_norm(x[:, -scored:], (width,), p["norm.weight"], p["norm.bias"])
        return F.cross_entropy(F.linear(x, p["unembed.weight"]).flatten(0, 1), targets.flatten())

    return loss if layers else toy_loss


def loss_of(toys):
    return loss_function(toys.parameters, toys.inputs.shape[-1], toys.targets.shape[-1], toys.heads)


def small(name):
    """w1.NAME or toys.NAME: the model of seed 0."""
    toys = toys_of(name)
    ids, targets = data_of(toys, 0)
    loss = loss_of(toys)
    of_toy = [("", lambda: Weights(toys, 0))]  # with 5 tokens plain operations are faster
    return training(
        of_toy if "we.weight" in toys.parameters else attention_forms(lambda fused: Weights(toys, 0, fused)),
        lambda model: loss(model.named, ids, targets, model.fused),
        "SGD" if name == "w1.sgd" else "Adam",
        groups=Weights.parameters,
        first=toys.losses[0],
    )


def toy_from_scratch():
    """A step of W1 with random weights."""
    shapes = {"we.weight": (5, 2), "fc.weight": (5, 2), "fc.bias": (5,)}
    shapes.update({f"attention.W_{part}.weight": (2, 2) for part in "qkv"})
    named = {name: torch.randn(shape, requires_grad=True) for name, shape in shapes.items()}
    ids, targets = torch.arange(5), torch.tensor([1, 2, 3, 4, 0])
    loss = loss_function(shapes, 5, 5, 1)
    optimiser = torch.optim.Adam(named.values())
    return step_of(named, lambda p: loss(p, ids, targets, False), optimiser, None, False)


def seeds(name):
    """All seeds in one step, with vmap; and how many steps of seeds a call has."""
    toys = toys_of(name)
    data, loss = data_of(toys), loss_of(toys)

    def losses(model):
        return torch.func.vmap(lambda *seed: loss(*seed, False))(model.named, *data).sum()

    forms = training(
        [("", lambda: Weights(toys))], losses, "Adam", groups=Weights.parameters, first=toys.losses.sum()
    )
    calls = [(form, lambda step=step: [step() for _ in range(toys.steps)]) for form, step in forms]
    return calls, len(toys.losses) * toys.steps


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


def mlp(what):
    kind = {"adam": "Adam", "sgd": "SGD"}[what]
    x, targets = torch.rand(64, 784), torch.randint(10, (64,))

    def model():
        return nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))

    return training([("", model)], lambda m: F.cross_entropy(m(x), targets), kind)


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
            y = fused_attention(q, k, v, is_causal=True)
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
    return forms if TUNED else forms[:1]


def multi_head(form=None):
    x = torch.randn(16, 64, 128, requires_grad=True)
    models = attention_forms(lambda fused: Attention(128, 4, 64, fused))
    if form == "module":
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
    """A GPT of a size in GPTS."""

    def __init__(self, size, fused, tied):
        super().__init__()
        gelu = "tanh" if tied else "none"
        width, context = size.width, size.context
        self.wte, self.wpe = nn.Embedding(size.vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, size.heads, context, gelu, fused) for _ in range(size.layers)))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, size.vocabulary, bias=False)
        if tied:
            self.wte.weight = self.head.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.head(self.ln_f(self.blocks(x)))


def decay_groups(model):
    """Weight decay for matrices only, as in `gpt train`."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": matrices}, {"params": vectors, "weight_decay": 0}]


def gpt(name):
    size = GPTS[name]
    ids, targets = torch.randint(size.vocabulary, (2, size.batch, size.context))

    def loss(model):
        return F.cross_entropy(model(ids).view(-1, size.vocabulary), targets.view(-1))

    models = attention_forms(lambda fused: GPT(size, fused, name != "w4.untied"))
    if size.width > 128:  # each variant would take long
        models = models[:1]
    if name == "gpt.readme":
        options = {"groups": decay_groups, "clipped": True, "weight_decay": 0.1, "betas": (0.9, 0.99)}
        return training(models, loss, "AdamW", **options)
    return training(models, loss, "AdamW")


def generation(batch="batch1"):
    """The most probable tokens of a whole context, with cached keys and values."""
    size, rows = GPTS["w4"], int(batch[len("batch") :])
    model = GPT(size, True, True).eval()
    shape = rows, size.heads, size.context, size.width // size.heads
    caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(size.layers)]

    def attend(layer, x, keys, values, at):
        parts = layer.qkv(x).view(rows, 1, 3, layer.heads, -1).permute(2, 0, 3, 1, 4)
        q, keys[:, :, at : at + 1], values[:, :, at : at + 1] = parts
        y = fused_attention(q, keys[:, :, : at + 1], values[:, :, : at + 1])
        return layer.proj(y.transpose(1, 2).reshape(rows, 1, -1))

    def logits_of(ids, at):
        x = model.wte(ids) + model.wpe.weight[at]
        for block, (keys, values) in zip(model.blocks, caches):
            x = x + attend(block.attn, block.ln_1(x), keys, values, at)
            x = x + block.proj(block.gelu(block.fc(block.ln_2(x))))
        return model.head(model.ln_f(x))

    @torch.no_grad()
    def generate():
        ids = torch.zeros(rows, 1, dtype=torch.long)
        for at in range(size.context):
            ids = logits_of(ids, at).argmax(-1)

    return [("", generate)]
