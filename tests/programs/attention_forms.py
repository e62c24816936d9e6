"""Attention as public repositories write it, right and with common faults: recall and false alarms of attention_check
by names, layouts, positions and precision.

    build/torch/bin/python -B tests/programs/attention_forms.py     prints the table

Structures and names are those of the source; the code is written again. A fault is made the same way in each.
"""
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
    """The right form and one for each of the faults, separated by commas; "-" before them: there is no right one."""
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
    """A layer each for q, k, v and o, registered in the order of `names`, whose roles are those of `order`."""

    def __init__(self, fault, names, order="qkvo", bias=True, kv_heads=HEADS, rotary="", causal=True, divisor=None):
        super().__init__()
        self.fault, self.rotary, self.causal, self.divisor = fault, rotary, causal, divisor
        for role, name in zip(order, names.split()):
            out = kv_heads * D if role in "kv" else WIDTH
            put(self, name, nn.Linear(WIDTH, out, bias=bias))
        self.path = dict(zip(order, names.split()))

    def layer(self, role):
        return self.get_submodule(self.path[role])

    def forward(self, x, **more):
        roles = {"values by k": "qkk", "keys by q": "qqv"}.get(self.fault, "qkv")
        q, k, v = (split(self.layer(role)(x)) for role in roles)
        if self.rotary:
            pairs = self.rotary == "pairs"
            q = turn(q, pairs) if self.fault != "k alone" else q
            k = turn(k, pairs != (self.fault == "mixed")) if self.fault != "q alone" else k
            v = turn(v) if self.fault == "v too" else v
        y = core(q, k, v, self.fault, self.causal, divisor=self.divisor, **more)
        return self.layer("o")(y) if "o" in self.path and self.fault != "without o" else y


def linears(kind, source, names, faults, order="qkvo", check=None, **build):
    add(kind, source, lambda fault: Linears(fault, names, order, **build), faults, **(check or {}))


linears("names", "jadore801120/attention-is-all-you-need-pytorch", "w_qs w_ks w_vs fc", "unscaled,by model", bias=False)
linears("names", "bentrevett/pytorch-seq2seq", "fc_q fc_k fc_v fc_o", "by model,by half")
linears("names", "hyunwoongko/transformer", "w_q w_k w_v w_concat", "by d_head,merged")
linears("names", "pbloem/former", "tokeys toqueries tovalues unifyheads", "unscaled,by model", "kqvo", bias=False)
linears("names", "harvardnlp/annotated-transformer", "linears.0 linears.1 linears.2 linears.3", "unscaled,over queries")
linears("names", "SamLynnEvans/Transformer", "q_linear v_linear k_linear out", "by model,multiplied", "qvko")
linears("names", "codertimo/BERT-pytorch", "linear_layers.0 linear_layers.1 linear_layers.2 output_linear", "by model",
        check={"causal": False}, causal=False)
linears("names", "huggingface/transformers, BERT", "query key value dense", "by model,scaled twice", causal=False,
        check={"causal": False})
linears("names", "huggingface/transformers, DistilBERT", "q_lin k_lin v_lin out_lin", "unscaled,root after",
        causal=False, check={"causal": False})
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
linears("guessed options", "no causal=", "q k v out", "unscaled", check={"causal": False})
linears("guessed options", "no heads=", "q k v out", "by model", check={"heads": None})
linears("declared scales", "microsoft/mup", LLAMA, "unscaled", check={"scale": 1 / D}, divisor=D)
linears("declared scales", "google-research/text-to-text-transfer-transformer", "q k v o", "by model", bias=False,
        check={"scale": 1}, divisor=1)


class Fused(nn.Module):
    """One layer for q, k and v. layout: "thirds", "heads" (q, k, v of each head together), "kqv"."""

    def __init__(self, fault, names, layout="thirds", in_out=False, kv_heads=HEADS, causal=True):
        super().__init__()
        self.fault, self.layout, self.names, self.in_out = fault, layout, names.split(), in_out
        self.kv, self.causal = kv_heads * D, causal
        for name, out in zip(self.names, (WIDTH + 2 * self.kv, WIDTH)):
            put(self, name, nn.Linear(WIDTH, out))
            if in_out:  # Conv1D of GPT-2
                layer = self.get_submodule(name)
                layer.weight = nn.Parameter(layer.weight.detach().T.clone())

    def linear(self, name, x):
        layer = self.get_submodule(name)
        return x @ layer.weight + layer.bias if self.in_out else layer(x)

    def forward(self, x):
        t = self.linear(self.names[0], x)
        if self.layout == "heads":
            q, k, v = t.unflatten(-1, (HEADS, 3 * D)).transpose(1, 2).chunk(3, -1)
        else:
            q, k, v = map(split, t.split((WIDTH, self.kv, self.kv), -1))
        q, k, v = (k, q, v) if self.layout == "kqv" else (q, k, v)
        return self.linear(self.names[1], core(q, k, v, self.fault, self.causal))


def fused(source, names, faults, check=None, **build):
    add("fused", source, lambda fault: Fused(fault, names, **build), faults, **(check or {}))


fused("karpathy/nanoGPT", "c_attn c_proj", "unscaled,merged")
fused("huggingface/transformers, GPT-2", "c_attn c_proj", "by model", in_out=True)
fused("c_attn split as k, q, v", "c_attn c_proj", "by model", layout="kqv")
fused("huggingface/pytorch-image-models", "qkv proj", "by model,by d_head", causal=False, check={"causal": False})
fused("EleutherAI/gpt-neox", "query_key_value dense", "unscaled,by model", layout="heads")
fused("phlippe/uvadlc_notebooks", "qkv_proj o_proj", "by model", layout="heads")
fused("mosaicml/llm-foundry", "Wqkv out_proj", "root after")
fused("huggingface/transformers, Phi-3", "qkv_proj o_proj", "tiled,unscaled", kv_heads=2)
fused("qkv_linear", "qkv_linear out_linear", "unscaled")


class TwoFused(Linears):
    """lucidrains/x-transformers: one layer for k and v."""

    def __init__(self, fault):
        super().__init__(fault, "to_q to_out", "qo", bias=False)
        self.to_kv = nn.Linear(WIDTH, 2 * WIDTH, bias=False)

    def forward(self, x):
        return self.layer("o")(core(split(self.layer("q")(x)), *map(split, self.to_kv(x).chunk(2, -1)), self.fault))


add("fused", "lucidrains/x-transformers", TwoFused, "by model")


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


class PerHead(nn.Module):
    """karpathy/ng-video-lecture: a module per head, with a mask as a buffer and dropout."""

    def __init__(self, fault):
        super().__init__()
        self.fault, self.heads = fault, nn.ModuleList()
        for _ in range(1 if fault == "same head" else HEADS):
            self.heads.append(nn.ModuleDict({name: nn.Linear(WIDTH, D, bias=False) for name in ("key", "query", "value")}))
        self.proj, self.dropout = nn.Linear(WIDTH, WIDTH), nn.Dropout(0.2)
        self.heads = nn.ModuleList([*self.heads] * (HEADS // len(self.heads)))

    def forward(self, x):
        y = [core(*(head[n](x)[:, None] for n in ("query", "key", "value")), self.fault) for head in self.heads]
        return self.dropout(self.proj(torch.cat(y, -1)))


class SharedByHeads(nn.Module):
    """aladdinpersson/Machine-Learning-Collection: layers (d_head, d_head), which all heads share."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.values, self.keys, self.queries = (nn.Linear(D, D, bias=False) for _ in range(3))
        self.fc_out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (layer(split(x)) for layer in (self.queries, self.keys, self.values))
        return self.fc_out(core(q, k, v, self.fault))


class Convolutions(nn.Module):
    """Vision models."""

    def __init__(self, fault):
        super().__init__()
        self.fault, self.qkv, self.proj = fault, nn.Conv1d(WIDTH, 3 * WIDTH, 1), nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x):
        q, k, v = map(split, self.qkv(x.mT).mT.chunk(3, -1))
        return self.proj(core(q, k, v, self.fault).mT).mT


add("layouts", "1 x 1 convolutions", Convolutions, "unscaled")
add("layouts", "TransformerLensOrg/TransformerLens", Blocks, "unscaled,by model")
add("layouts", "karpathy/ng-video-lecture", PerHead, "by model,same head")
add("layouts", "aladdinpersson/Machine-Learning-Collection", SharedByHeads, "-by model,shared by heads")


# ---- one tensor in two roles, unused weights, positions, batches, padding, caches ----


class Tied(Linears):
    def __init__(self, fault):
        super().__init__(fault, "W_q W_k W_v W_o", bias=False)
        if fault == "tied keys":
            self.W_k = self.W_q
        if fault == "tied values":
            self.W_v = self.W_k


class Unused(Linears):
    """A layer (heads, d_head) with d_head = heads, which looks like biases of heads."""

    def __init__(self, fault):
        super().__init__(fault, "W_q W_k W_v W_o", bias=False)
        if fault:
            self.gate = nn.Linear(HEADS, HEADS, bias=False)


class OtherMask(Linears):
    """A float mask whose rows are those of another sequence."""

    def __init__(self, fault):
        super().__init__("", "q k v o")
        self.wrong = fault

    def forward(self, x):
        return super().forward(x, bias=x.new_ones(len(x), 1, 1, 1) * (len(x) if self.wrong else 1) * torch.arange(len(x[0])))


class Padded(Linears):
    def __init__(self, fault):
        super().__init__("", "q k v o")
        self.wrong = fault

    def padded(self, x, mask):
        if self.wrong == "one too many":
            mask = mask | mask.roll(-1, 1)
        if self.wrong == "inverted":
            mask = ~mask
        self.causal = self.wrong != "drops the causal mask"
        y = self(x, bias=x.new_zeros(mask.shape).masked_fill(mask, -1e5)[:, None, None])
        self.causal = True
        return y


class Cached(Linears):
    def __init__(self, fault):
        super().__init__("", "q k v o")
        self.wrong, self.keys, self.values = fault, [], []

    def step(self, x, position):
        if position == 0 and self.wrong != "never cleared":
            self.keys, self.values = [], []
        q, k, v = (split(self.layer(r)(x)) for r in "qkv")
        self.keys.append(k)
        self.values.append(v)
        return self.layer("o")(core(q, torch.cat(self.keys, 2), torch.cat(self.values, 2), causal=False))


class Alibi(Linears):
    def __init__(self, fault):
        super().__init__(fault, "Wq Wk Wv out_proj")

    def forward(self, x):
        at = torch.arange(x.size(1))
        return super().forward(x, bias=(at[None, :] - at[:, None]) * torch.linspace(0.1, 0.5, HEADS)[:, None, None])


add("parameters", "one tensor in two roles", Tied, "-tied keys,tied values")
add("parameters", "a layer that is not used", Unused, "-unused (4, 4)")
add("batch, padding, cache", "a float mask", OtherMask, "of the batch", positions="absolute")
def with_padding(m):
    return {"padded": m.padded}


def with_step(m):
    return {"step": m.step}


add("batch, padding, cache", "key_padding_mask", Padded, "one too many,inverted,drops the causal mask", more=with_padding)
add("batch, padding, cache", "a cache", Cached, "never cleared", more=with_step)
add("rotary, grouped keys", "ofirpress/attention_with_linear_biases", Alibi, "", **RELATIVE)


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
        q, k, v = (split(self.layer(r)(x)) for r in "qkv")
        n, o = x.size(1), self.layer("o")
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        if self.kind == "cosine":
            q, k = F.normalize(q, dim=-1) * self.temperature * math.sqrt(D), F.normalize(k, dim=-1)
        if self.kind == "qk norm":
            q, k = self.q_norm(q), self.k_norm(k)
        if self.kind == "xca":
            q, k = (F.normalize(t, dim=-2) for t in (q, k))
            return o(((q.mT @ k * self.temperature).softmax(-1) @ v.mT).mT.transpose(1, 2).flatten(2))
        if self.kind == "linear":
            q, k = F.elu(q) + 1, F.elu(k) + 1
            y = (q @ (k.mT @ v)) / (q @ k.sum(-2, keepdim=True).mT + 1e-9)
            return o(y.transpose(1, 2).flatten(2))
        s = q @ k.mT / math.sqrt(D)
        s = 5 * (s / 5).tanh() if self.kind == "softcap" else s
        s = s.masked_fill(future, -math.inf) if self.causal else s
        more = {"by hand": 1e-9, "softmax1": 1}.get(self.kind, 0)
        e = s.exp()
        p = e / (e.sum(-2 if self.fault == "over queries" else -1, keepdim=True) + more)
        y = (p @ v).transpose(1, 2).flatten(2)
        return o(y * self.gate(x).sigmoid() if self.kind == "gate" else y)


def other(kind, source, faults="", check=None, **build):
    add("other formulas", source, lambda fault: Other(fault, kind, **build), faults, **(check or {}))


other("cosine", "microsoft/Swin-Transformer, V2", "over queries", {"causal": False}, causal=False)
other("qk norm", "allenai/OLMo", "over queries")
other("softcap", "google-deepmind/gemma, soft cap")
other("by hand", "an epsilon of 1e-9 in the normaliser")
other("softmax1", "softmax with a 1 in the normaliser", check={"extra_keys": True})
other("gate", "google-deepmind/alphafold, gated", "over queries", {"block": True})
other("xca", "facebookresearch/xcit", check={"causal": False, "block": True}, causal=False)
other("linear", "idiap/fast-transformers", check={"causal": False}, causal=False)


# ---- blocks, language models ----


class Block(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), attention, nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class OwnBlock(Linears):
    """jadore801120: residual and norm inside the attention class."""

    def __init__(self, fault):
        super().__init__(fault, "w_qs w_ks w_vs fc", bias=False)
        self.layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.layer_norm(super().forward(x) + x), None


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
add("inside a model", "jadore801120, MultiHeadAttention", OwnBlock, "unscaled,by model", **INSIDE)
add("inside a model", "harvardnlp/annotated-transformer, a layer",
    lambda f: Block(Linears(f, "linears.0 linears.1 linears.2 linears.3")), "by half,over queries", **INSIDE)
add("language models", "karpathy/nanoGPT", Gpt, "unscaled,no mask,mean of all,norm over tokens,next token", **IDS)
add("language models", "LLaMA, whole", lambda f: Gpt(f, lambda f: Linears(f, LLAMA, rotary="halves", bias=False), False),
    "by model,by d_head,loose", **{**IDS, "positions": "relative"})


# ---- precision, guesses, what is passed as it is ----


class Small(Linears):
    def __init__(self, fault):
        super().__init__(fault, "W_q W_k W_v W_o")
        for p in self.parameters():
            nn.init.normal_(p, 0, 0.01)


class LowPrecision(Linears):
    def __init__(self, fault, dtype):
        super().__init__(fault, "W_q W_k W_v W_o")
        self.low = dtype

    def forward(self, x):
        q, k, v = (split(self.layer(r)(x)).to(self.low) for r in "qkv")
        return self.layer("o")(core(q, k, v, self.fault).to(x.dtype))


class Autocast(Linears):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(x.float())


class ListOut(Linears):
    def forward(self, x):
        return [super().forward(x)]


class Unbatched(Linears):
    def forward(self, x):
        n, _ = x.shape
        return super().forward(x[None])[0]


def scripted(fault):
    return torch.jit.trace(Linears(fault, "q k v o", causal=False), torch.randn(2, 8, WIDTH))


def mha(fault, **options):
    return nn.MultiheadAttention(WIDTH, HEADS, **options)


add("precision", "weights of 0.01", Small, "unscaled,by model")
add("precision", "bf16 inside", lambda f: LowPrecision(f, torch.bfloat16), "no mask,unscaled")
add("precision", "f16 inside", lambda f: LowPrecision(f, torch.float16), "no mask,by model")
add("precision", "autocast inside", lambda f: Autocast(f, "q k v o"), "no mask")
add("guessed options", "torch.jit", scripted, "", causal=False)
add("guessed options", "a list returned", lambda f: ListOut(f, "q k v o"), "by model")
add("guessed options", "(T, d) without unbatched=", lambda f: Unbatched(f, "q k v o"), "by model")
add("guessed options", "nn.MultiheadAttention as it is", lambda f: mha(f, batch_first=True), "", causal=False)
add("guessed options", "nn.MultiheadAttention, tokens first", mha, "", causal=False)


# ---- the table ----


def verdict_of(seed, make, fault, options):
    """"WRONG", "passed", or the error, of a form; and the report."""
    torch.manual_seed(seed)
    m = make(fault)
    options = {**options}
    options.update(options.pop("more", lambda m: {})(m))
    try:
        report = attention_check(m, seed=seed, show=False, **options)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:90]}", ""
    return "passed" if report.passed else "WRONG", str(report)


def verdict_at(index):
    torch.set_num_threads(1)
    return verdict_of(1, *FORMS[index][3:4], FORMS[index][2], FORMS[index][4])


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
