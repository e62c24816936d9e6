"""Attention as public repositories write it, right and with common faults: recall and false alarms of attention_check
by names, layouts, positions and precision.

    build/torch/bin/python -B tests/programs/attention_forms.py     prints the table

Structures and names are those of the source; the code is written again. A fault is made the same way in each.
"""
import functools
import math
import multiprocessing
import pathlib
import sys
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/pytorch"))
from attention_check import attention_check  # noqa: E402

WIDTH, HEADS, D = 48, 4, 12
FORMS = []  # (kind, source, fault or "", module's constructor, options of attention_check)


def add(kind, source, make, faults, **options):
    """The right form and one for each of the faults, separated by commas; "-" before them: there is no right one.
    Options that are functions get the module first."""
    options = {"d_model": WIDTH, "heads": HEADS, "causal": True, **options}
    for fault in faults[1:].split(",") if faults[:1] == "-" else ["", *faults.split(",")] if faults else [""]:
        FORMS.append((kind, source, fault, make, options))


def split(t):  # (B, T, heads * d_head) -> (B, heads, T, d_head)
    return t.unflatten(-1, (-1, D)).transpose(1, 2)


def turn(t, pairs=False, start=0):
    """Rotary positions, over halves (GPT-NeoX) or pairs (GPT-J) of the features."""
    d = t.size(-1)
    at = torch.arange(start, start + t.size(-2))[:, None]
    angle = (at * 10000 ** (-torch.arange(0, d, 2) / d)).to(t.dtype)
    a, b = (t[..., ::2], t[..., 1::2]) if pairs else t.chunk(2, -1)
    a, b = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack([a, b], -1).flatten(-2) if pairs else torch.cat([a, b], -1)


def core(q, k, v, fault="", causal=True, bias=0.0, divisor=None):
    """Attention of (B, heads, T, d_head), with a fault."""
    n, d, more = q.size(-2), q.size(-1), q.size(1) // k.size(1)
    if more > 1:
        k, v = (t.repeat(1, more, 1, 1) if fault == "tiled" else t.repeat_interleave(more, 1) for t in (k, v))
    known = {"unscaled": 1, "by model": math.sqrt(WIDTH), "by d_head": d, "multiplied": d ** -0.5, "root after": 1,
             "scaled twice": d, "by heads": math.sqrt(HEADS), "by half": math.sqrt(d / 2)}
    scores = q @ k.transpose(-2, -1) / known.get(fault, divisor or math.sqrt(d)) + bias
    future = torch.ones(n, n, dtype=torch.bool).triu(2 if fault == "loose" else 1)
    if causal and fault not in ("mask after", "no mask"):
        scores = scores.masked_fill(future, -1e5 if scores.dtype != torch.float16 else -1e4)
    p = scores.softmax(-2 if fault == "over queries" else -1)
    p = p.masked_fill(future, 0) if fault == "mask after" else p
    y = (p / math.sqrt(d) if fault == "root after" else p) @ v
    return y.reshape(len(y), n, -1) if fault == "merged" else y.transpose(1, 2).flatten(2)


def put(module, path, layer):
    for part in path.split(".")[:-1]:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    module.add_module(path.split(".")[-1], layer)


class Linears(nn.Module):
    """A layer each for q, k, v and o, registered in the order of `names`, whose roles are those of `order`. change:
    of the module, after it is made; around: what it does instead of attend()."""

    def __init__(self, fault, names, order="qkvo", bias=True, kv_heads=HEADS, rotary="", causal=True, divisor=None,
                 change=None, around=None):
        super().__init__()
        self.fault, self.rotary, self.causal, self.divisor = fault, rotary, causal, divisor
        for role, name in zip(order, names.split()):
            out = kv_heads * D if role in "kv" else WIDTH
            put(self, name, nn.Linear(WIDTH, out, bias=bias))
        self.path, self.around = dict(zip(order, names.split())), around or Linears.attend
        if change:
            change(self)

    def layer(self, role):
        return self.get_submodule(self.path[role])

    def project(self, x, roles="qkv"):
        return [split(self.layer(role)(x)) for role in roles]

    def attend(self, x, causal=True, **more):
        q, k, v = self.project(x, {"values by k": "qkk", "keys by q": "qqv"}.get(self.fault, "qkv"))
        if self.rotary:
            pairs = self.rotary == "pairs"
            q = turn(q, pairs) if self.fault != "k alone" else q
            k = turn(k, pairs != (self.fault == "mixed")) if self.fault != "q alone" else k
            v = turn(v) if self.fault == "v too" else v
        y = core(q, k, v, self.fault, self.causal and causal, divisor=self.divisor, **more)
        return self.layer("o")(y) if "o" in self.path and self.fault != "without o" else y

    def forward(self, x):
        return self.around(self, x)


def linears(kind, source, names, faults, order="qkvo", check=None, **build):
    options = {"causal": build.get("causal", True), **(check or {})}
    add(kind, source, lambda fault: Linears(fault, names, order, **build), faults, **options)


linears("names", "jadore801120/attention-is-all-you-need-pytorch", "w_qs w_ks w_vs fc", "unscaled,by model", bias=False)
linears("names", "bentrevett/pytorch-seq2seq", "fc_q fc_k fc_v fc_o", "by model,by half")
linears("names", "hyunwoongko/transformer", "w_q w_k w_v w_concat", "by d_head,merged")
linears("names", "pbloem/former", "tokeys toqueries tovalues unifyheads", "unscaled,by model", "kqvo", bias=False)
linears("names", "harvardnlp/annotated-transformer", "linears.0 linears.1 linears.2 linears.3", "unscaled,over queries")
linears("names", "SamLynnEvans/Transformer", "q_linear v_linear k_linear out", "by model,multiplied", "qvko")
linears("names", "codertimo/BERT-pytorch", "linear_layers.0 linear_layers.1 linear_layers.2 output_linear", "by model",
        causal=False)
linears("names", "huggingface/transformers, BERT", "query key value dense", "by model,scaled twice", causal=False)
linears("names", "huggingface/transformers, DistilBERT", "q_lin k_lin v_lin out_lin", "unscaled,root after",
        causal=False)
linears("names", "facebookresearch/fairseq", "k_proj v_proj q_proj out_proj", "scaled twice,mask after", "kvqo")
linears("names", "rasbt/LLMs-from-scratch", "W_query W_key W_value out_proj", "loose,by model")
linears("names", "lucidrains/vit-pytorch", "to_q to_k to_v to_out.0", "root after,by heads", bias=False)
linears("names", "labmlai/annotated_deep_learning_paper_implementations",
        "query.linear key.linear value.linear output", "unscaled,no mask")
linears("names", "thuml/Autoformer", "query_projection key_projection value_projection out_projection", "by half")
linears("names", "aqlaboratory/openfold", "linear_q linear_k linear_v linear_o", "keys by q,values by k", bias=False)
linears("names", "keras-team/keras-io", "query_dense key_dense value_dense combine_heads", "unscaled,without o")
linears("names", "d2l-ai/d2l-en", "W_q W_k W_v W_o", "by heads,over queries", bias=False)
linears("names", "unnamed layers", "a b c d", "root after,by model")
LLAMA = "q_proj k_proj v_proj o_proj"
RELATIVE = {"positions": "relative"}
linears("rotary, grouped keys", "meta-llama/llama", "wq wk wv wo", "unscaled,by model,root after", bias=False,
        rotary="pairs", check=RELATIVE)
linears("rotary, grouped keys", "huggingface/transformers, LLaMA", LLAMA, "by d_head,k alone,mixed,v too,q alone",
        bias=False, rotary="halves", check=RELATIVE)
linears("rotary, grouped keys", "huggingface/transformers, Qwen2", LLAMA, "by model,unscaled,tiled", rotary="halves",
        kv_heads=2, check=RELATIVE)
linears("rotary, grouped keys", "huggingface/transformers, Mistral", LLAMA, "tiled,by half", kv_heads=2, bias=False)
linears("rotary, grouped keys", "multi-query", "to_q to_k to_v to_out", "unscaled", kv_heads=1, bias=False)
linears("guessed options", "no positions= of a rotary attention", LLAMA, "by model", bias=False, rotary="halves")
linears("guessed options", "nor heads=", LLAMA, "by model", bias=False, rotary="halves", check={"heads": None})
linears("guessed options", "no causal=", "q k v out", "unscaled", check={"causal": False})
linears("guessed options", "no heads=", "q k v out", "by model", check={"heads": None})
linears("declared scales", "microsoft/mup", LLAMA, "unscaled", check={"scale": 1 / D}, divisor=D)
linears("declared scales", "google-research/text-to-text-transfer-transformer", "q k v o", "by model", bias=False,
        check={"scale": 1}, divisor=1)


class Fused(nn.Module):
    """One layer for q, k and v. layout: "thirds", "heads" (q, k, v of each head together), "kqv"."""

    def __init__(self, fault, names, layout="thirds", in_out=False, kv_heads=HEADS, causal=True, convolutions=False):
        super().__init__()
        self.fault, self.layout, self.names, self.in_out = fault, layout, names.split(), in_out
        self.kv, self.causal, self.convolutions = kv_heads * D, causal, convolutions
        for name, out in zip(self.names, (WIDTH + 2 * self.kv, WIDTH)):
            put(self, name, nn.Conv1d(WIDTH, out, 1) if convolutions else nn.Linear(WIDTH, out))
            if in_out:  # Conv1D of GPT-2
                layer = self.get_submodule(name)
                layer.weight = nn.Parameter(layer.weight.detach().T.clone())

    def linear(self, name, x):
        layer = self.get_submodule(name)
        if self.convolutions:
            return layer(x.mT).mT
        return x @ layer.weight + layer.bias if self.in_out else layer(x)

    def forward(self, x):
        t = self.linear(self.names[0], x)
        if self.layout == "heads":
            q, k, v = t.unflatten(-1, (HEADS, 3 * D)).transpose(1, 2).chunk(3, -1)
        else:
            q, k, v = map(split, t.split((WIDTH, self.kv, self.kv), -1))
        q, k, v = (k, q, v) if self.layout == "kqv" else (q, k, v)
        return self.linear(self.names[1], core(q, k, v, self.fault, self.causal))


def fused(source, names, faults, kind="fused", **build):
    add(kind, source, lambda fault: Fused(fault, names, **build), faults, causal=build.get("causal", True))


fused("karpathy/nanoGPT", "c_attn c_proj", "unscaled,merged")
fused("huggingface/transformers, GPT-2", "c_attn c_proj", "by model", in_out=True)
fused("c_attn split as k, q, v", "c_attn c_proj", "by model", layout="kqv")
fused("huggingface/pytorch-image-models", "qkv proj", "by model,by d_head", causal=False)
fused("EleutherAI/gpt-neox", "query_key_value dense", "unscaled,by model", layout="heads")
fused("phlippe/uvadlc_notebooks", "qkv_proj o_proj", "by model", layout="heads")
fused("mosaicml/llm-foundry", "Wqkv out_proj", "root after")
fused("huggingface/transformers, Phi-3", "qkv_proj o_proj", "tiled,unscaled", kv_heads=2)
fused("qkv_linear", "qkv_linear out_linear", "unscaled")


def one_for_two(m, x):
    return m.layer("o")(core(*m.project(x, "q"), *map(split, m.to_kv(x).chunk(2, -1)), m.fault))


linears("fused", "lucidrains/x-transformers", "to_q to_out", "by model", "qo", bias=False, around=one_for_two,
        change=lambda m: setattr(m, "to_kv", nn.Linear(WIDTH, 2 * WIDTH, bias=False)))
fused("1 x 1 convolutions", "qkv proj", "unscaled", kind="layouts", convolutions=True)


class Blocks(nn.Module):
    """A weight (heads, d_model, d_head) for each role, as in TransformerLens."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        for role in "QKV":
            setattr(self, f"W_{role}", nn.Parameter(torch.randn(HEADS, WIDTH, D) / 7))
            setattr(self, f"b_{role}", nn.Parameter(torch.randn(HEADS, D) / 7))
        self.W_O, self.b_O = nn.Parameter(torch.randn(HEADS, D, WIDTH) / 7), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        q, k, v = (torch.einsum("btc,hcd->bhtd", x, getattr(self, f"W_{r}")) + getattr(self, f"b_{r}")[:, None]
                   for r in "QKV")
        return core(q, k, v, self.fault) @ self.W_O.flatten(0, 1) + self.b_O


class Head(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.key, self.query, self.value = (nn.Linear(WIDTH, D, bias=False) for _ in range(3))

    def forward(self, x):
        return core(*(layer(x)[:, None] for layer in (self.query, self.key, self.value)), self.fault)


class PerHead(nn.Module):
    """karpathy/ng-video-lecture: a module per head, and dropout."""

    def __init__(self, fault):
        super().__init__()
        heads = [Head(fault) for _ in range(1 if fault == "same head" else HEADS)]
        self.heads = nn.ModuleList(heads * (HEADS // len(heads)))
        self.proj, self.dropout = nn.Linear(WIDTH, WIDTH), nn.Dropout(0.2)

    def forward(self, x):
        return self.dropout(self.proj(torch.cat([head(x) for head in self.heads], -1)))


def share(m):
    """Layers (d_head, d_head), which all heads share."""
    for role in "qkv":
        put(m, m.path[role], nn.Linear(D, D, bias=False))


linears("layouts", "aladdinpersson/Machine-Learning-Collection", "queries keys values fc_out",
        "-by model,shared by heads", change=share,
        around=lambda m, x: m.layer("o")(core(*(m.layer(role)(split(x)) for role in "qkv"), m.fault)))
add("layouts", "TransformerLensOrg/TransformerLens", Blocks, "unscaled,by model")
add("layouts", "karpathy/ng-video-lecture", PerHead, "by model,same head")


# ---- one tensor in two roles, unused weights, positions, batches, padding, caches ----


def tie(m):
    m.W_k = m.W_q if m.fault == "tied keys" else m.W_k
    m.W_v = m.W_k if m.fault == "tied values" else m.W_v


def add_unused(m):
    """A layer (heads, d_head) with d_head = heads, which looks like biases of heads."""
    m.gate = nn.Linear(HEADS, HEADS, bias=False)


def other_mask(m, x):
    """A float mask that depends on the batch."""
    return m.attend(x, bias=(len(x) if m.fault else 1) * torch.arange(x.size(1)))


def alibi(m, x):
    at = torch.arange(x.size(1))
    return m.attend(x, bias=(at[None, :] - at[:, None]) * torch.linspace(0.1, 0.5, HEADS)[:, None, None])


def padded(m, x, mask):
    mask = {"one too many": mask | mask.roll(-1, 1), "inverted": ~mask}.get(m.fault, mask)
    bias = x.new_zeros(mask.shape).masked_fill(mask, -1e5)[:, None, None]
    return m.attend(x, m.fault != "drops the causal mask", bias=bias)


def step(m, x, position):
    q, *kv = m.project(x)
    m.kept = [*m.kept, kv] if position > 0 or m.fault == "never cleared" and "kept" in vars(m) else [kv]
    k, v = (torch.cat(parts, 2) for parts in zip(*m.kept))
    return m.layer("o")(core(q, k, v, causal=False))


linears("parameters", "one tensor in two roles", "W_q W_k W_v W_o", "-tied keys,tied values", bias=False, change=tie)
linears("parameters", "a layer that is not used", "W_q W_k W_v W_o", "-unused (4, 4)", bias=False, change=add_unused)
OTHER = "batch, padding, cache"
linears(OTHER, "a float mask", "q k v o", "of the batch", around=other_mask, check={"positions": "absolute"})
linears(OTHER, "key_padding_mask", "q k v o", "one too many,inverted,drops the causal mask", check={"padded": padded})
linears(OTHER, "a cache", "q k v o", "never cleared", check={"step": step})
linears("rotary, grouped keys", "ofirpress/attention_with_linear_biases", "Wq Wk Wv out_proj", "", around=alibi,
        check=RELATIVE)


# ---- formulas that differ by design: right, but unknown ----


class Other(Linears):
    """Attention that is meant to be different; `forward` of the kind."""

    def __init__(self, fault, kind, names="to_q to_k to_v to_out", **build):
        super().__init__(fault, names, **build)
        self.kind = kind
        if kind == "gate":
            self.gate = nn.Linear(WIDTH, WIDTH)
        if kind in ("cosine", "xca"):
            self.temperature = nn.Parameter(torch.full((HEADS, 1, 1), 3.0))
        if kind == "qk norm":
            self.q_norm, self.k_norm = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, x):
        q, k, v = self.project(x)
        n, o = x.size(1), self.layer("o")
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        if self.kind == "cosine":
            q, k = F.normalize(q, dim=-1) * self.temperature * math.sqrt(D), F.normalize(k, dim=-1)
        if self.kind == "qk norm":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = (turn(q), turn(k)) if self.rotary else (q, k)
        if self.kind == "xca":
            q, k = (F.normalize(t, dim=-2) for t in (q, k))
            return o(((q.mT @ k * self.temperature).softmax(-1) @ v.mT).mT.transpose(1, 2).flatten(2))
        if self.kind == "linear":
            q, k = F.elu(q) + 1, F.elu(k) + 1
            y = (q @ (k.mT @ v)) / (q @ k.sum(-2, keepdim=True).mT + 1e-9)
            return o(y.transpose(1, 2).flatten(2))
        s = q @ k.mT / (1 if self.fault == "unscaled" else math.sqrt(D))
        s = 5 * (s / 5).tanh() if self.kind == "softcap" else s
        s = s.masked_fill(future, -math.inf) if self.causal else s
        more = {"by hand": 1e-9, "softmax1": 1}.get(self.kind, 0)
        e = s.exp()
        p = e / (e.sum(-2 if self.fault == "over queries" else -1, keepdim=True) + more)
        y = (p @ v).transpose(1, 2).flatten(2)
        return o(y * self.gate(x).sigmoid() if self.kind == "gate" else y)


def other(kind, source, faults="", check=None, **build):
    options = {"causal": build.get("causal", True), **(check or {})}
    add("other formulas", source, lambda fault: Other(fault, kind, **build), faults, **options)


other("cosine", "microsoft/Swin-Transformer, V2", "over queries", causal=False)
other("qk norm", "allenai/OLMo", "over queries")
other("qk norm", "QwenLM/Qwen3, no positions=", rotary="halves")
other("softcap", "google-deepmind/gemma, soft cap")
other("by hand", "an epsilon of 1e-9 in the normaliser")
other("softmax1", "softmax with a 1 in the normaliser", check={"extra_keys": True})
other("gate", "google-deepmind/alphafold, gated", "over queries,unscaled", {"block": True})
other("xca", "facebookresearch/xcit", check={"block": True}, causal=False)
other("linear", "idiap/fast-transformers", causal=False)


# ---- blocks, language models ----


class Block(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), attention, nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


def own_block(m, x):
    """Residual and norm inside the attention class."""
    return m.layer_norm(m.attend(x) + x), None


class Gpt(nn.Module):
    """A language model over 11 symbols; `fault` is that of its last layer, or of the model."""

    def __init__(self, fault, attention=lambda fault: Fused(fault, "c_attn c_proj"), positions=True):
        super().__init__()
        self.fault, self.positions = fault, positions
        self.wte = nn.Embedding(11, WIDTH)
        if positions:
            self.wpe = nn.Embedding(32, WIDTH)
        self.h = nn.ModuleList([Block(attention("")), Block(attention(fault))])
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 11, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + (self.wpe(torch.arange(ids.size(1))) if self.positions else 0)
        if self.fault == "mean of all":
            x = x - 0.1 * x.mean(1, keepdim=True)
        for block in self.h:
            x = block(x)
        if self.fault == "norm over tokens":
            x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
        if self.fault == "next token":
            x = torch.cat([x[:, 1:], x[:, -1:]], 1)
        return {"logits": self.lm_head(self.ln_f(x))}


INSIDE = {"block": True}
IDS = {"ids": 11, "longest": 32, "positions": "absolute", "layers": 2, "block": True}
add("inside a model", "karpathy/nanoGPT, a block", lambda f: Block(Fused(f, "c_attn c_proj")), "unscaled,by model", **INSIDE)
add("inside a model", "huggingface/transformers, LLaMA, a layer",
    lambda f: Block(Linears(f, LLAMA, rotary="halves", bias=False)), "by model,unscaled", **INSIDE, **RELATIVE)
linears("inside a model", "jadore801120, MultiHeadAttention", "w_qs w_ks w_vs fc", "unscaled,by model", check=INSIDE,
        around=own_block, change=lambda m: setattr(m, "layer_norm", nn.LayerNorm(WIDTH)))
add("inside a model", "harvardnlp/annotated-transformer, a layer",
    lambda f: Block(Linears(f, "linears.0 linears.1 linears.2 linears.3")), "by half,over queries", **INSIDE)
add("language models", "karpathy/nanoGPT", Gpt, "unscaled,no mask,mean of all,norm over tokens,next token", **IDS)
add("language models", "karpathy/ng-video-lecture", lambda f: Gpt(f, PerHead), "unscaled,by model", **IDS)
add("language models", "LLaMA, whole", lambda f: Gpt(f, lambda f: Linears(f, LLAMA, rotary="halves", bias=False), False),
    "by model,by d_head,loose", **{**IDS, "positions": "relative"})


# ---- precision, guesses, what is passed as it is ----


def make_small(m, std=0.01):
    for p in m.parameters():
        nn.init.normal_(p, 0, std)


def cast_to(dtype):
    return lambda m, x: m.layer("o")(core(*(t.to(dtype) for t in m.project(x)), m.fault).to(x.dtype))


def autocast(m, x):
    with torch.autocast("cpu", torch.bfloat16):
        return m.attend(x.float())


linears("precision", "weights of 0.01", "W_q W_k W_v W_o", "unscaled,by model", change=make_small)
linears("precision", "weights of 0.001", "W_q W_k W_v W_o", "unscaled", change=lambda m: make_small(m, 0.001))
linears("precision", "bf16 inside", "W_q W_k W_v W_o", "no mask,unscaled", around=cast_to(torch.bfloat16))
linears("precision", "f16 inside", "W_q W_k W_v W_o", "no mask,by model", around=cast_to(torch.float16))
linears("precision", "autocast inside", "q k v o", "no mask", around=autocast)
linears("guessed options", "a list returned", "q k v o", "by model", around=lambda m, x: [m.attend(x)])
linears("guessed options", "(T, d) without unbatched=", "q k v o", "by model",
        around=lambda m, x: m.attend(x.expand(1, -1, -1))[0])
add("guessed options", "torch.jit",
    lambda f: torch.jit.trace(Linears(f, "q k v o", causal=False), torch.randn(2, 8, WIDTH), check_trace=False), "",
    causal=False)
for given in ({"batch_first": True}, {"batch_first": False}, {"add_zero_attn": True}):
    add("guessed options", f"nn.MultiheadAttention as it is, {given}",
        lambda f, given=given: nn.MultiheadAttention(WIDTH, HEADS, **given), "", causal=False)


# ---- the table ----


def verdict_at(index):
    """"WRONG", "passed", or the error, of a form; and the report."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    _, _, fault, make, options = FORMS[index]
    m = make(fault)
    options = {name: functools.partial(value, m) if callable(value) else value for name, value in options.items()}
    try:
        report = attention_check(m, show=False, **options)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:90]}", ""
    return "passed" if report.passed else "WRONG", str(report)


def main():
    kinds = {}
    with multiprocessing.get_context("fork").Pool(2) as pool:
        verdicts = pool.map(verdict_at, range(len(FORMS)), chunksize=4)
    for (kind, source, fault, _, _), (verdict, report) in zip(FORMS, verdicts):
        count = kinds.setdefault(kind, [0, 0, 0, 0])
        is_right = verdict == ("WRONG" if fault else "passed")
        count[0 if fault else 2] += 1
        count[1 if fault else 3] += is_right if fault else not is_right
        if not is_right:
            print(f"{kind}; {source}; {fault or 'right'}: {verdict}\n{report}")
    for kind, (wrong, found, right, alarms) in kinds.items():
        print(f"| {kind} | {found} of {wrong} | {alarms} of {right} |")
    wrong, found, right, alarms = map(sum, zip(*kinds.values()))
    print(f"| all | {found} of {wrong} | {alarms} of {right} |")
    return found < wrong or alarms > 0


if __name__ == "__main__":
    sys.exit(main())
