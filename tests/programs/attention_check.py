"""examples/pytorch/attention_check.py compared with heed_attention_check, over the catalogue of attentions in
examples/check_attention/attentions.c:

    build/torch/bin/python -B tests/programs/attention_check.py build/check_attention [SEEDS]

Each attention of the catalogue is written here again in PyTorch, under the same name. From the same seed both have the
same weights. For each, the verdicts of all checks and the named mistake must be those of `check_attention --verdicts
SEED`. PyTorch's own layers must pass, and the module must be unchanged afterwards.
"""
import contextlib
import io
import math
import pathlib
import random
import subprocess
import sys
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/pytorch"))
import attention_check as attention_check_module  # noqa: E402
import attention_forms as forms  # noqa: E402
from attention_check import attention_check  # noqa: E402

WIDTH = 64


# ---- the catalogue: the module ----


class Attention(nn.Module):
    """W_q, W_k, W_v and W_o; each entry of the catalogue has another forward."""

    def __init__(self, entry, bias=False, no_output=False, one_key_head=False, other_order=False, zero_output=False,
                 with_block=False, extra=None, fused=False, in_out=False, frozen=False, large=False):
        super().__init__()
        self.entry, self.heads, self.causal = entry, entry.check.get("heads", 1), entry.check.get("causal", False)
        kv = WIDTH // self.heads if one_key_head else WIDTH
        widths = {"qkv": 3 * WIDTH} if fused else {"W_q": WIDTH, "W_k": kv, "W_v": kv}
        if in_out:
            widths, self.c_attn = {}, nn.Linear(3 * WIDTH, WIDTH, bias=False)
        for name in reversed(widths) if other_order else widths:
            setattr(self, name, nn.Linear(WIDTH, widths[name], bias=bias))
        self.W_o = None if no_output else nn.Linear(WIDTH, WIDTH, bias=bias)
        if zero_output:
            nn.init.zeros_(self.W_o.weight)
        if large:
            with torch.no_grad():
                self.W_q.weight *= 100
                self.W_k.weight *= 100
        if frozen:
            self.W_k.weight.requires_grad_(False)
        if with_block:
            self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        if extra == "registered":
            self.extra = nn.Parameter(torch.randn(WIDTH, WIDTH))
        if extra == "bias of keys":
            self.extra = nn.Parameter(torch.randn(self.heads, 1, WIDTH // self.heads))
        if extra == "not registered":
            self.extra = torch.randn(WIDTH, WIDTH).requires_grad_()
        self.keys = self.values = None

    def forward(self, x):
        return self.entry.forward(self, x)

    def project(self, x):
        return self.W_q(x), self.W_k(x), self.W_v(x)

    def split(self, t):  # (B, T, heads * d) -> (B, heads, T, d)
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def output(self, t):
        return t if self.W_o is None else self.W_o(t)


def merge(t):
    return t.transpose(1, 2).flatten(2)


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


def softmax(scores):
    return torch.softmax(scores, -1)


def safe_softmax(scores, dim=-1):
    """0 where all scores are -inf, and a gradient of 0."""
    blocked = (scores == -math.inf).all(dim, keepdim=True)
    return torch.softmax(scores.masked_fill(blocked, 0), dim).masked_fill(blocked, 0)


def ones(t):
    return torch.ones(t.size(-2), t.size(-2), dtype=torch.bool)


def mask_future(scores):
    return scores.masked_fill(ones(scores).triu(1), -math.inf)


def attend(m, x, project=Attention.project, split=Attention.split, heads=lambda q, k, v: (q, k, v), scores=scores_of,
           mask=None, softmax=softmax, merge=merge, output=Attention.output):
    """Attention in seven steps, each of which an entry may replace. mask: of scores; by default of the future, if causal."""
    q, k, v = heads(*(split(m, t) for t in project(m, x)))
    mask = mask or (mask_future if m.causal else lambda scores: scores)
    return output(m, merge(softmax(mask(scores(q, k))) @ v))


class Entry:
    def __init__(self, forward, build, check):
        self.forward, self.build, self.check = forward, build, check

    def module(self, seed):
        torch.manual_seed(seed)
        m = Attention(self, **self.build)
        if self.check.get("layers") == 2:
            m.second = Attention(self, **self.build)
        return m

    def options(self, m):
        """padded and step are functions of the module too."""
        def of_module(f):
            return lambda *args: f(m, *args)
        return {name: of_module(value) if callable(value) else value for name, value in self.check.items()}


CATALOGUE = {}


def add(name, forward=attend, build=None, **check):
    """build: options of Attention; check: options of attention_check."""
    assert name not in CATALOGUE, name
    CATALOGUE[name] = Entry(forward, build or {}, {"heads": 4, **check})


def step_of(**steps):
    return lambda m, x: attend(m, x, **steps)


def causal(name, build=None, **steps):
    """A causal attention of 4 heads with some steps replaced. free: without a mask."""
    add(name, step_of(**steps), build, causal=True)


def free(name, **steps):
    add(name, step_of(**steps))


# ---- wrong: scales ----


def divided_by(divisor):
    return lambda q, k: q @ k.transpose(-2, -1) / divisor


causal("scaled_by_model", scores=divided_by(math.sqrt(WIDTH)))
causal("not_scaled", scores=divided_by(1))
causal("scaled_without_root", scores=divided_by(WIDTH / 4))
causal("multiplied_by_root", scores=divided_by(1 / math.sqrt(WIDTH / 4)))
add("scaled_by_heads", step_of(scores=divided_by(math.sqrt(2))), causal=True, heads=2)
causal("scaled_by_tokens", scores=lambda q, k: divided_by(math.sqrt(q.size(2)))(q, k))


# ---- wrong: heads ----


def merge_by_view(t):
    return t.reshape(t.size(0), t.size(2), -1)


def split_by_view(m, t):
    return t.reshape(t.size(0), m.heads, t.size(1), -1)


causal("merged_by_view", merge=merge_by_view)
free("split_by_view", split=split_by_view)
free("both_by_view", split=split_by_view, merge=merge_by_view)
causal("one_head", split=lambda m, t: t.unsqueeze(1))
causal("one_head_for_all", split=lambda m, t: m.split(t)[:, :1].expand(-1, m.heads, -1, -1))
causal("mean_of_heads", softmax=lambda scores: softmax(scores).mean(1, keepdim=True))


# ---- wrong: softmax ----


def softmax_over(dim):
    return lambda scores: safe_softmax(scores, dim)


free("softmax_over_queries", softmax=softmax_over(-2))
causal("softmax_over_queries_masked", softmax=softmax_over(-2))
free("softmax_over_heads", softmax=softmax_over(1))
free("softmax_over_batch", softmax=softmax_over(0))
free("without_softmax", softmax=lambda scores: scores)
free("softmax_twice", softmax=lambda scores: softmax(softmax(scores)))


# ---- wrong: masks ----


def masked(name, mask_of_ones, value=-math.inf):
    causal(name, softmax=safe_softmax, mask=lambda scores: scores.masked_fill(mask_of_ones(ones(scores)), value))


def added(name, mask_of_ones):
    causal(name, mask=lambda scores: scores + mask_of_ones(ones(scores)).to(scores.dtype))


causal("mask_missing", mask=lambda scores: scores)
masked("mask_inverted", lambda t: t.tril())
causal("mask_inverted_to_nan", mask=lambda scores: scores.masked_fill(ones(scores).tril(), -math.inf))
masked("mask_transposed", lambda t: t.tril(-1))
masked("mask_blocks_self", lambda t: t.triu())
masked("mask_off_by_one", lambda t: t.triu(2))
masked("mask_of_zero_scores", lambda t: t.triu(1), 0)
masked("mask_too_weak", lambda t: t.triu(1), -5)
masked("mask_blocks_all", lambda t: t, -1e9)
causal("mask_after_softmax", mask=lambda scores: scores,
       softmax=lambda scores: softmax(scores).masked_fill(ones(scores).triu(1), 0))
added("keep_mask_added", lambda t: t.tril())
added("block_mask_added", lambda t: t.triu(1))
added("mask_of_ones", lambda t: t)
masked("mask_from_the_end", lambda t: t.triu(1).roll(1, -1), -1e9)
causal("mask_of_eight", mask=lambda scores: scores.masked_fill(torch.ones(8, 8, dtype=torch.bool).triu(1), -1e9))


# ---- wrong: projections ----


def projecting(use):
    return lambda m, x: use(x, *m.project(x))


causal("q_and_k_exchanged", project=projecting(lambda x, q, k, v: (k, q, v)))
causal("k_and_v_exchanged", project=projecting(lambda x, q, k, v: (q, v, k)))
causal("keys_by_w_q", project=projecting(lambda x, q, k, v: (q, q, v)))
causal("values_by_w_k", project=projecting(lambda x, q, k, v: (q, k, k)))
causal("values_are_x", project=projecting(lambda x, q, k, v: (q, k, x)))
causal("values_centred", project=projecting(lambda x, q, k, v: (q, k, v - v.mean(1, keepdim=True))))
causal("w_o_missing", output=lambda m, t: t)
free("weights_transposed", softmax=lambda scores: softmax(scores).transpose(-2, -1))


# ---- wrong: the graph ----


def softmax_derivative(scores):
    """A softmax whose derivative omits the sum."""
    e = scores.exp()
    return e / e.sum(-1, keepdim=True).detach()


causal("weights_detached", softmax=lambda scores: softmax(scores).detach())
add("input_detached", lambda m, x: attend(m, x.detach()), causal=True)
add("nothing_recorded", torch.no_grad()(attend), causal=True)
add("not_registered", lambda m, x: attend(m, x) @ m.extra, {"extra": "not registered"}, causal=True, f32=True)
add("parameter_not_used", build={"extra": "registered"}, causal=True)
add("dropout_always", lambda m, x: F.dropout(attend(m, x), 0.1, training=True), causal=True)
add("softmax_derivative", step_of(softmax=softmax_derivative), causal=True)


# ---- wrong: tokens, batch; two mistakes ----


def batch_reshaped(m, x):
    other = x.reshape(x.size(1), x.size(0), -1).transpose(0, 1)
    return attend(m, other).reshape(x.shape)


def argmax_of_all(m, x):
    loudest = x.detach().sum(-1, keepdim=True).amax(1, keepdim=True)
    return attend(m, x) * (loudest.tanh() + 2)


add("batch_first", lambda m, x: attend(m, x.transpose(0, 1).contiguous()).transpose(0, 1))
add("batch_reshaped", batch_reshaped)
add("argmax_of_all", argmax_of_all, causal=True)
causal("two_mistakes_heads_and_scale", scores=divided_by(math.sqrt(WIDTH)), merge=merge_by_view)
causal("two_mistakes_mask_and_scale", scores=divided_by(1), mask=lambda scores: scores)


# ---- padding: mask is (B, T), true blocks ----


def padded(bias):
    def forward(m, x, mask):
        return attend(m, x, mask=lambda scores: scores + bias(mask, x), softmax=safe_softmax)
    return forward


def blocking(mask, x):
    return torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask, -math.inf)


add("padding_added", padded=padded(lambda mask, x: (~mask[:, None, None, :]).to(x.dtype)))
add("padding_of_queries", padded=padded(lambda mask, x: blocking(mask[:, None, :, None], x)))
add("padding_inverted", padded=padded(lambda mask, x: blocking(~mask[:, None, None, :], x)))
add("padding_ignored", padded=lambda m, x, mask: attend(m, x))


# ---- positions and caches ----


def with_positions(x, start=0):
    """x plus the sines of its positions, the first of which is `start`."""
    half = x.size(-1) // 2
    at = torch.arange(start, start + x.size(1), dtype=x.dtype)[:, None]
    angle = at * torch.exp(torch.arange(half, dtype=x.dtype) * (-math.log(10000) / half))
    return x + torch.cat([angle.sin(), angle.cos()], -1)


def with_absolute_positions(m, x):
    return attend(m, with_positions(x))


def positions_in_place(m, x):
    x += with_positions(torch.zeros_like(x))
    return attend(m, x)


def turn_over_heads(t):
    return forms.turn(t.transpose(1, 2)).transpose(1, 2)


def keep(m, k, v, position):
    m.keys = k if position == 0 else torch.cat([m.keys, k], 2)
    m.values = v if position == 0 else torch.cat([m.values, v], 2)
    return m.keys, m.values


def cached_step(m, x, position):
    return attend(m, x, heads=lambda q, k, v: (q, *keep(m, k, v, position)), mask=lambda scores: scores)


def current_token_missing(m, x, position):
    def heads(q, k, v):
        before = (m.keys, m.values) if position > 0 else keep(m, torch.zeros_like(k), torch.zeros_like(v), 0)
        keep(m, k, v, position)
        return q, *before
    return attend(m, x, heads=heads, mask=lambda scores: scores)


def alibi(q, k):
    at = torch.arange(q.size(2), dtype=q.dtype)
    slopes = torch.arange(1, q.size(1) + 1, dtype=q.dtype).view(-1, 1, 1) * 0.1
    return scores_of(q, k) + slopes * (at[None, :] - at[:, None])


add("sines_over_batch", lambda m, x: attend(m, with_positions(x.transpose(0, 1)).transpose(0, 1)), causal=True,
    positions="absolute")
add("rotary_over_heads", step_of(scores=lambda q, k: scores_of(turn_over_heads(q), turn_over_heads(k))), causal=True,
    positions="relative")
add("current_token_missing", causal=True, step=current_token_missing)
add("positions_off_by_one", with_absolute_positions, causal=True, positions="absolute",
    step=lambda m, x, position: cached_step(m, with_positions(x, position + 1), position))
add("cache_forgets", causal=True, step=lambda m, x, position: cached_step(m, x, 0))


# ---- right, in unusual forms ----


def head_by_head(m, x):
    parts = zip(*(t.chunk(m.heads, -1) for t in m.project(x)))
    return m.output(torch.cat([softmax(mask_future(scores_of(q, k))) @ v for q, k, v in parts], -1))


def sdpa(m, x):
    q, k, v = map(m.split, m.project(x))
    return m.output(merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


def softmax_by_hand(scores):
    """The largest score is subtracted before the mask."""
    e = (scores - scores.amax(-1, keepdim=True)).masked_fill(ones(scores).triu(1), -1e9).exp()
    return e / e.sum(-1, keepdim=True)


def block(m, x):
    y = x + attend(m, m.norm(x))
    return y + m.down(m.up(y).relu())


def key_bias_of_heads(m, x):
    return attend(m, x, heads=lambda q, k, v: (q, k + m.extra, v))


def times_w_o(m, t):
    return t @ m.W_o.weight


add("causal", causal=True, step=cached_step)
add("free", padded=padded(lambda mask, x: blocking(mask[:, None, None, :], x)))
add("single_head", build={"no_output": True}, causal=True, heads=1)
causal("fused", {"fused": True}, project=lambda m, x: m.qkv(x).chunk(3, -1))
causal("in_out", {"in_out": True}, project=lambda m, x: (x @ m.c_attn.weight).chunk(3, -1), output=times_w_o)
add("sdpa", sdpa, causal=True)
add("head_by_head", head_by_head, causal=True)
free("keys_sorted", heads=lambda q, k, v: (q, k.flip(2), v.flip(2)))
causal("biases", {"bias": True})
causal("one_key_head", {"one_key_head": True}, split=lambda m, t: m.split(t) if t.size(-1) == WIDTH else t.unsqueeze(1))
add("alibi", step_of(scores=alibi), causal=True, positions="relative")
add("rotary", step_of(scores=lambda q, k: scores_of(forms.turn(q), forms.turn(k))), causal=True, positions="relative")
add("sines", with_absolute_positions, causal=True, positions="absolute",
    step=lambda m, x, position: cached_step(m, with_positions(x, position), position))
add("positions_in_place", positions_in_place, causal=True, positions="absolute")
causal("softmax_in_f32", softmax=lambda scores: torch.softmax(scores, -1, dtype=torch.float32).to(scores.dtype))
causal("saturated", {"large": True})
add("key_bias_of_heads", key_bias_of_heads, {"extra": "bias of keys"}, causal=True)
causal("by_hand", mask=lambda scores: scores, softmax=softmax_by_hand)
causal("other_order", {"other_order": True})
causal("x_times_w", project=lambda m, x: [x @ layer.weight for layer in (m.W_q, m.W_k, m.W_v)], output=times_w_o)
causal("zero_output", {"zero_output": True})
causal("frozen", {"frozen": True})
add("zero_key", step_of(heads=lambda q, k, v: (q, F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1)))), extra_keys=True)
add("block", block, {"with_block": True}, causal=True, block=True)
add("two_layers", lambda m, x: attend(m.second, attend(m, x)), causal=True, layers=2)


# ---- comparing with C ----

failures = []


def fail(text):
    failures.append(text)
    print(text)


LETTERS = {"skipped": "-", "passed": "o", "failed": "W", "unknown": "?"}


def letters_of(report):
    return "".join(LETTERS[check.verdict] for check in report.checks.values())


def same_letters(ours, of_c):
    """In PyTorch hooks find attention inside a model, and the formula is known where C skips it."""
    at = [*attention_check_module.CHECKS].index("formula")
    return ours == of_c or of_c[at] in "-?" and ours[at] in "o?" and ours[:at] + ours[at + 1:] == of_c[:at] + of_c[at + 1:]


def mistakes_of(sentence):
    """The mistakes without their remedies, which name functions of C or PyTorch."""
    return [part.split(";")[0] for part in sentence.split(". Or ")]


def verdicts_of_c(program, seed):
    """Letters and mistake by name, from lines "name, passed or wrong, letters, mistake", separated by tabs."""
    lines = subprocess.run([program, "--verdicts", str(seed)], check=True, capture_output=True, text=True).stdout
    fields = [line.split("\t") for line in lines.splitlines()]
    return {name: (letters, mistake) for name, _, letters, mistake in fields}


def compare(program, seed):
    in_c = verdicts_of_c(program, seed)
    for name in sorted(in_c.keys() ^ CATALOGUE.keys()):
        fail(f"{name}: only in {'attentions.c' if name in in_c else 'attention_check.py'}")
    for name in [name for name in CATALOGUE if name in in_c]:
        m = CATALOGUE[name].module(seed)
        report = attention_check(m, WIDTH, seed=seed, show=False, **CATALOGUE[name].options(m))
        letters, mistake = in_c[name]
        if not same_letters(letters_of(report), letters):
            fail(f"{name}, seed {seed}: {letters_of(report)}, in C {letters}\n{report}")
        if mistakes_of(report.mistake) != mistakes_of(mistake):
            fail(f"{name}, seed {seed}: {report.mistake!r}, in C {mistake!r}")
    return len(in_c)


# ---- PyTorch's own layers, and other forms that only PyTorch has ----


class KeepsWeights(nn.Module):
    """Stores its last weights as an attribute, counts calls in a buffer, returns a tuple."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, dropout=0.1, batch_first=True)
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("mask", torch.ones(64, 64, dtype=torch.bool).triu(1))
        self.last = None

    def forward(self, x):
        self.calls += 1
        y, self.last = self.attention(x, x, x, attn_mask=self.mask[:x.size(1), :x.size(1)])
        return y, self.last


def check_layers_of_torch(seed):
    def expect(what, f, wrong="", formula="passed", mistake="", **options):
        """Exactly the checks `wrong` fail, the formula has this verdict, and the mistake is named."""
        report = attention_check(f, 64, seed=seed, show=False, **options)
        failed = " ".join(name for name, check in report.checks.items() if check.verdict == "failed")
        if failed != wrong or report.checks["formula"].verdict != formula or mistake not in report.mistake:
            fail(f"{what}, seed {seed}: expected {wrong!r} to fail, formula {formula} {mistake}\n{report}")

    torch.manual_seed(seed)
    mha = nn.MultiheadAttention(64, 4, batch_first=True)
    of_mha = {"heads": 4, "module": mha}
    expect("nn.MultiheadAttention", lambda x: mha(x, x, x), **of_mha,
           padded=lambda x, mask: mha(x, x, x, key_padding_mask=mask))

    def with_mask(x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), dtype=x.dtype)
        return mha(x, x, x, attn_mask=mask, is_causal=True)
    expect("nn.MultiheadAttention, causal", with_mask, **of_mha, causal=True)
    block_mask = torch.rand(6, 6) < 0.5
    block_mask.fill_diagonal_(False)
    block_mask[torch.arange(6), torch.arange(6) - 1] = True
    expect("nn.MultiheadAttention, block_mask", lambda x: mha(x, x, x, attn_mask=block_mask), **of_mha,
           block_mask=block_mask)
    expect("nn.MultiheadAttention, mask inverted", lambda x: mha(x, x, x, attn_mask=~block_mask),
           "reach values formula", "failed", "true and false of the mask exchanged", **of_mha,
           block_mask=block_mask)
    expect("nn.MultiheadAttention, unbatched", lambda x: mha(x, x, x), **of_mha, unbatched=True)
    extra_keys = nn.MultiheadAttention(64, 4, batch_first=True, add_bias_kv=True, add_zero_attn=True)
    expect("nn.MultiheadAttention, bias_kv", lambda x: extra_keys(x, x, x), "", "skipped", heads=4, extra_keys=True,
           module=extra_keys)
    for norm_first in (False, True):
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=norm_first)
        expect("nn.TransformerEncoderLayer", layer, "", "passed", heads=4, block=True,
               padded=lambda x, mask: layer(x, src_key_padding_mask=mask))
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        expect("nn.TransformerEncoder", encoder, "", "passed", heads=4, block=True, layers=2)
    zero = forms.PerHead("")
    for p in zero.proj.parameters():
        nn.init.zeros_(p)
    report = attention_check(lambda x: zero(x), forms.WIDTH, seed=seed, show=False, heads=4, causal=True)
    if not report.passed or report.checks["reach"].verdict != "unknown":
        fail(f"an output of zeros, without a module, seed {seed}\n{report}")
    expect("a tuple", KeepsWeights(), "", "passed", heads=4, block=True, causal=True, longest=64)
    expect("a method", KeepsWeights().forward, heads=4, causal=True)
    expect("a leak of a function", lambda x: F.scaled_dot_product_attention(x, x, x), "reach values length", "skipped",
           causal=True)


# ---- what it leaves behind, what it refuses ----


def bits(m):
    """All that the check must leave unchanged: tensors, gradients, flags, attributes, generators."""
    tensors = [*m.parameters(), *m.buffers()]
    values = [(t.dtype, t.data_ptr(), t.tolist(), None if t.grad is None else t.grad.tolist()) for t in tensors]
    flags = [(layer.training, sorted(vars(layer))) for layer in m.modules()]
    return values, flags, m.last, torch.get_rng_state().tolist(), random.getstate()


def check_is_unchanged():
    torch.manual_seed(7)
    m = KeepsWeights()
    m.attention.out_proj.eval()
    y, _ = m(torch.randn(2, 5, 64))
    y.square().sum().backward(retain_graph=True)
    loss = m(torch.randn(2, 5, 64))[0].square().sum()
    before = bits(m)
    with torch.no_grad():
        attention_check(m, 64, heads=4, causal=True, show=False)
    with contextlib.suppress(ValueError):
        attention_check(lambda x: m(x)[0].sum(), 64, module=m, show=False)
    if bits(m) != before:
        fail("the check changed the module or a generator")
    loss.backward()  # a graph from before the check is whole
    alone = attention_check(m, 64, heads=4, causal=True, show=False, seed=3)
    if str(alone) != str(attention_check(m, 64, heads=4, causal=True, show=False, seed=3)):
        fail("two checks of the same module differ")


def check_is_refused():
    def refuse(words, f, error=ValueError, d_model=64, **options):
        try:
            attention_check(f, d_model, show=False, **options)
            fail(f"not refused: {words}")
        except error as refusal:
            if words not in str(refusal):
                fail(f"expected {words!r}: {refusal}")

    linear, calls = nn.Linear(64, 64), []
    refuse("no function", None, TypeError)
    refuse("d_model is 0", linear, d_model=0)
    refuse("positions is 'sines'", linear, positions="sines")
    for mask in (torch.zeros(3, 3), *(torch.zeros(shape, dtype=torch.bool) for shape in ((9, 9), (0, 0), (3,), (2, 3)))):
        refuse("must be bool (T, T)", linear, block_mask=mask)
    refuse("not both", linear, block_mask=torch.zeros(3, 3, dtype=torch.bool), causal=True)
    refuse("f returned NoneType", lambda x: None, TypeError)
    refuse("f gave (2, 64)", lambda x: x[:, 0])
    refuse("expected floats (2, 8, any width)", lambda x: x.long())
    refuse("f draws random numbers: call model.eval()", lambda x: F.dropout(x, 0.5))
    refuse("keeps state", lambda x: x + (calls.append(1) or len(calls)))
    report = attention_check(lambda x: linear(x) @ torch.ones(64, 64), 64, show=False, module=linear)
    if report.assumed != ["f32: f fails in f64"]:
        fail(f"a function of f32 alone: {report.assumed}")


def main():
    program, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(1)
    for seed in range(1, seeds + 1):
        count = compare(program, seed)
        check_layers_of_torch(seed)
    check_is_unchanged()
    check_is_refused()
    print(f"attention_check: {count} attentions, {seeds} seeds, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
