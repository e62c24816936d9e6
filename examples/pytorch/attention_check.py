"""Is my attention right? Checks an attention module as a black box, and names the mistake.

    from attention_check import attention_check

    attention_check(model, d_model=64, heads=4, causal=True)          # model(x): (B, T, 64) -> (B, T, ...)
    attention_check(lambda x: model(x, x, x)[0], d_model=64, heads=4, module=model)

Most mistakes in attention leave shapes and losses plausible. The function is therefore checked against what holds for
every attention, whatever its weights:

    repeat      the same input twice gives the same output, and it is finite
    batch       another sequence of the batch changes nothing, nor does the place in the batch
    reach       the norms of dy_i/dx_j: each allowed pair has an effect, no blocked pair has
    values      no blocked pair has an effect that gradients do not see (detach, argmax)
    order       f(Px) = P f(x) for a permutation P; without mask and positions. With positions, the order of the
                tokens before it changes the last output
    equal       equal tokens: f(x, x, x) = f(x), as the weights of a row sum to 1; in a single layer without positions
                also: dy_i/dx_j is the same for all allowed j
    length      T = 1, 2, ... up to the longest; a causal function gives a prefix the same outputs
    padding     tokens that the mask blocks change nothing, the others do
    parameters  each receives a gradient and is registered
    cache       one token at a time gives what all at once give
    formula     y is softmax(q k^T / sqrt(d_head)) v W_o^T of the module's matrices, whatever their names. If not, known
                mistakes and pairs of them are tried, and those that reproduce y are named. One token proves W_v and
                W_o, two tokens W_q, W_k and the scale, under relative positions too. Inside a model (block, layers, ids)
                each attention is examined by hooks

The report is printed and returned: report.passed, report.checks["reach"].verdict, report.mistake. Parameters,
gradients, training flags, attributes of the modules and the random generators are the same afterwards, to the bit.

One file, which needs torch alone. The same check for C is heed_attention_check; both give the same verdicts.
"""
import argparse
import contextlib
import copy
import importlib.util
import inspect
import itertools
import math
import random
import re
import sys
import textwrap
from dataclasses import dataclass, field, replace
import torch
from torch import nn

TOKENS = 8  # tokens of the inputs, if `longest` is not less
LEAST_EFFECT = 1e-9  # in f64, effects up to this are none; far above rounding
ROUNDING = (1e-12, 1e-10, "f64"), (1e-6, 1e-4, "f32"), (1e-3, 1e-2, "f16"), (1, 5e-2, "bf16")  # by their epsilon
SCALES = (1, 0.3, 0.1, 0.01)  # a saturated softmax or a dead ReLU hides effects: inputs times these show them


# ---- the report ----


@dataclass
class Check:
    """The result of one check."""

    verdict: str  # "passed", "failed", "skipped" (does not apply) or "unknown" (cannot tell); the text says why
    text: str
    worst: float = 0.0  # the largest relative deviation from what should hold


def judged(worst, most, text_if_wrong, text_if_right):
    is_wrong = is_more(worst, most)
    return Check("failed" if is_wrong else "passed", text_if_wrong if is_wrong else text_if_right, worst)


@dataclass(repr=False)
class Report:
    """What attention_check found. print(report) prints the page again."""

    checks: dict = field(default_factory=dict)  # Check by name
    mistake: str = ""  # the likely mistake and the remedy; "" if unknown
    assumed: list = field(default_factory=list)  # options that were not given and are guessed
    reach: torch.Tensor = None  # (T, T): |dy_i/dx_j| of query i and key j, relative to the largest
    expected: list = None  # T strings: '#' an effect, '.' none, '?' either

    @property
    def passed(self):
        return not self.count("failed")

    def count(self, verdict):
        return sum(check.verdict == verdict for check in self.checks.values())

    def summary(self):
        if not self.passed:
            return f"WRONG: {self.count('passed')} checks passed, {self.count('failed')} failed"
        unknown = [name for name, check in self.checks.items() if check.verdict == "unknown" and name != "formula"]
        formula = self.checks.get("formula")
        if formula is not None and formula.verdict != "passed":
            unknown.append(f"the scale and the projections ({formula.text})")
        return (f"passed: {self.count('passed')} checks"
                + ("; not checked: " + ", ".join(unknown).replace(", the scale", " and the scale") if unknown else ""))

    def __repr__(self):
        return f"<attention check {self.summary()}>"

    def __str__(self):
        words = {"skipped": "-", "passed": "ok", "failed": "WRONG", "unknown": "?"}

        def wrapped(label, text):
            return textwrap.fill(text, 80, initial_indent=f"  {label:18}", subsequent_indent=" " * 20,
                                 break_long_words=False, break_on_hyphens=False)

        lines = ["attention check", ""]
        lines += [wrapped("assumed", "; ".join(self.assumed)), ""] if self.assumed else []
        for name, check in self.checks.items():
            lines.append(wrapped(f"{name:11}{words[check.verdict]}", check.text))
        if self.reach is not None:
            lines += self.picture()
        if self.mistake:
            lines += ["", wrapped("likely mistake", self.mistake)]
        return "\n".join([*lines, "", textwrap.fill(self.summary(), 80, break_long_words=False)])

    def picture(self):
        """The reach: a row for each query, a column for each key, wrong cells marked."""
        lines = ["", "  effect of token (column) on output (row):", ""]
        lines.append("      " + " ".join(str(j) for j in range(len(self.reach))))
        marks = ""
        for i, (effects, expected) in enumerate(zip(self.reach.tolist(), self.expected)):
            row = ""
            for effect, should in zip(effects, expected):
                has = not effect <= 1e-8  # true for NaN
                if has and should == ".":
                    row += " !"
                elif not has:
                    row += " x" if should == "#" else " ."
                else:
                    row += " " + "-+*#"[sum(effect > least for least in (0.05, 0.2, 0.5))]
            lines.append(f"  {i:2} {row}")
            marks += row
        lines += ["", "  as expected: . no effect, - to # an effect"]
        if "!" in marks:
            lines.append("  wrong:       ! an effect that should not be")
        if "x" in marks:
            lines.append("  wrong:       x no effect where one should be")
        return lines


# ---- what is checked ----


class Case:
    """The function with its options, its inputs, and its outputs for them."""

    def __init__(self, **options):
        self.__dict__.update(options)  # those of attention_check
        check_options(self)
        self.tokens = len(self.block_mask) if self.block_mask is not None else min(self.longest, TOKENS)
        parameters = [] if self.module is None else [*self.module.parameters()]
        self.device = parameters[0].device if parameters else torch.device("cpu")
        is_f64 = self.module is not None and not self.f32 and self.device.type != "mps"  # which has no f64
        self.dtype = torch.float64 if is_f64 else torch.float32
        self.report, self.ties, self.pairs = Report(), True, True

    def with_options(self, **options):
        """A case that differs in these options, with a report of its own."""
        other = copy.copy(self)
        other.__dict__.update(options, report=Report())
        return other

    def begin(self):
        """Draws the inputs and calls f for the first time."""
        self.generator = torch.Generator().manual_seed(self.seed)
        shape = (1 if self.unbatched else 2, self.tokens, self.d_model)
        self.x, self.other = self.random(shape), self.random(shape)  # `other`: what tokens are replaced by
        if self.ids:
            self.x = torch.randint(self.ids, shape[:2], generator=self.generator).to(self.device)
            self.other = (self.x + 1) % self.ids
        self.y = self.outputs(self.x)
        saved = {self.dtype}  # f may cast, for its softmax for example: its rounding is that of the widest
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.add(t.dtype) or t, lambda t: t):
            self.call_with_leaf(self.x)
        self.eps = max(torch.finfo(dtype).eps for dtype in saved if dtype.is_floating_point)
        # Relative differences up to this are rounding; of the formula and of equal tokens, `tolerance`: an epsilon in
        # the normaliser, a root in f32.
        self.rounding, self.precision = next(found for eps, *found in ROUNDING if self.eps <= eps)
        self.tolerance = 1e-5 if self.rounding < 1e-5 else min(10 * self.rounding, 0.1)
        self.least_effect = max(LEAST_EFFECT, self.rounding / 10)
        self.size = max(self.y.abs().max().item(), 1e-300)
        self.weights = self.random(self.y.shape)  # of sums over y whose gradients are taken
        allowed = torch.ones(self.tokens, self.tokens, dtype=torch.bool)
        allowed = allowed.tril() if self.causal else allowed
        self.allowed = allowed if self.block_mask is None else ~self.block_mask.cpu()

    def random(self, shape):
        return torch.randn(shape, dtype=torch.float64, generator=self.generator).to(self.dtype).to(self.device)

    def call(self, x, f=None, *more):
        """f(x) with a batch, (B, T, width), from generators that are always in the same state. f gets copies, which it
        may change in place."""
        (torch.manual_seed if self.device.type != "cpu" else torch.default_generator.manual_seed)(self.seed)
        random.seed(self.seed)
        copies = [t.clone() if torch.is_tensor(t) else t for t in (x, *more)]
        y = returned = (f or self.f)(*[t.squeeze(0) if self.unbatched and torch.is_tensor(t) else t for t in copies])
        while not torch.is_tensor(y):  # (outputs, weights), [outputs], {"logits": outputs}
            parts = list(y.values()) if hasattr(y, "values") else y if isinstance(y, (tuple, list)) else []
            if not parts:
                raise TypeError(f"attention_check: f returned {type(returned).__name__}; expected a tensor")
            y = parts[0]
        y = y.unsqueeze(0) if self.unbatched else y
        if y.dim() != 3 or y.shape[:2] != x.shape[:2] or y.shape[2] == 0 or not y.is_floating_point():
            raise ValueError(f"attention_check: f gave {tuple(y.shape)} {y.dtype} for x {tuple(x.shape)}; expected "
                             f"floats ({x.shape[0]}, {x.shape[1]}, any width)")
        return y

    def outputs(self, x, f=None, *more):
        """f(x) as f64 on the CPU, without a graph."""
        with torch.no_grad():
            return self.call(x, f, *more).detach().cpu().double()

    def call_with_leaf(self, x):
        """A copy of x that requires a gradient, and f of it."""
        leaf = x.detach().clone().requires_grad_(x.is_floating_point())
        return leaf, self.call(leaf)

    def scaled(self, scale, x=None):
        """x times the scale; token ids as they are."""
        x = self.x if x is None else x
        return x if self.ids else scale * x

    def repeated(self, count):
        """The first `count` tokens of x; beyond T, the same tokens again."""
        return self.x[:, torch.arange(count) % self.tokens]

    def right_scale(self, d_head):
        return self.scale or 1 / math.sqrt(d_head)

    def order_matters(self):
        """Does the order of the tokens before it change the last output?"""
        order = [*range(self.tokens - 2, -1, -1), self.tokens - 1]
        return any(self.differences(self.outputs(x[:, order]), self.outputs(x))[:, -1].max() > self.rounding
                   for x in map(self.scaled, SCALES[:1 if self.ids else None]))

    def differences(self, a, b):
        """For each row of two outputs, the largest difference relative to the largest element of y; NaN if any is."""
        return (a - b).abs().amax(-1) / self.size

    def unit(self, largest):
        """What gradients are relative to: the largest of them. If all of them are far below y, they may be rounding, and
        their quotients would be arbitrary."""
        return max(largest, 0.01 * self.size)


def is_more(worst, than):
    return not worst <= than  # true for NaN


# ---- repeat, batch ----


def check_repeat(c):
    worst = c.differences(c.outputs(c.x), c.y).max().item()
    if not c.y.isfinite().all():
        return Check("failed", "y has NaN or infinity: a row that is blocked everywhere, mask values that overflow, or "
                     "-inf filled in after the softmax", math.nan)
    if worst != 0:
        raise ValueError(f"attention_check: f gives other outputs for the same input (by {worst:.2g}), although the "
                         "generator is reset before each call: it keeps state, such as a cache, between calls; reset "
                         "it at the beginning of f")
    # Does it draw random numbers? Dropout that no model.eval() reaches does.
    worst = c.differences(c.with_options(seed=c.seed + 12345).outputs(c.x), c.y).max().item()
    if worst != 0 and c.module is None:
        raise ValueError("attention_check: f draws random numbers: call model.eval(), or pass module=, so that the "
                         "check does")
    return judged(worst, 0.0, "f draws random numbers in eval mode: dropout that does not read self.training "
                  "(F.dropout, dropout_p of scaled_dot_product_attention), or a module that is not registered",
                  "the same input gives the same output"
                  + f" (computed in {c.precision})" * (c.dtype == torch.float64 and c.rounding > 1e-10))


def check_batch(c):
    if c.unbatched:
        return Check("skipped", "no batch (unbatched)")
    y = c.outputs(torch.cat([c.x[:1], c.other[1:]]))
    worst = c.differences(y[0], c.y[0]).max().item()
    moved = c.differences(c.outputs(c.x.flip(0))[0], c.y[1]).max().item()
    try:
        alone = c.differences(c.outputs(c.x[:1])[0], c.y[0]).max().item()
    except Exception:  # a batch of a fixed size
        alone = 0.0
    for off, text in ((worst, "another sequence of the batch changes this one: a softmax or transpose over the batch dim "
                       "(nn.MultiheadAttention needs batch_first=True), or a reshape that moves elements between sequences"),
                      (alone, "a sequence alone gives other outputs than in a batch: a mask or factor that depends on the "
                       "batch")):
        if is_more(off, c.rounding):
            return Check("failed", text, off)
    return judged(moved, c.rounding, "a sequence gives other outputs at another place in the batch: positions or a mask "
                  "along the batch dim", "another sequence of the batch changes nothing")


# ---- reach: by gradients, and by values ----


def row_gradients(c, x):
    """The gradient of each row of y, weighted at random, with respect to x: (rows, B, T, d_model)."""
    leaf, y = c.call_with_leaf(x)
    if c.ids or not y.requires_grad:
        return torch.zeros(c.tokens, *x.shape[:2], 1, dtype=torch.float64)
    losses = (y * c.weights).sum((0, 2))
    rows = [torch.autograd.grad(loss, leaf, retain_graph=True, materialize_grads=True)[0] for loss in losses]
    return torch.stack(rows).cpu().double()


def value_effects(c):
    """(T, T): how much row i changes if token j is replaced. Among small inputs, large tokens of either sign replace it
    too: they change a maximum over all tokens, and what is saturated for larger inputs."""
    effects = torch.zeros(c.tokens, c.tokens, dtype=torch.float64)
    for size, sign in ((1, 1), (0.1, 1), (0.1, -1))[:1 if c.ids else None]:
        before = c.outputs(c.scaled(size))
        for j in range(c.tokens):
            x = c.scaled(size).clone()
            x[:, j] = c.scaled(sign, c.other)[:, j]
            effects[:, j] = torch.maximum(effects[:, j], c.differences(c.outputs(x), before).amax(0))
    return effects


def leak(c, effects, where):
    """A failed check if a blocked token has an effect, or None."""
    leaks = (c.must_not & ~(effects <= min(10 * c.rounding, 0.05))).nonzero().tolist()
    if not leaks:
        return None
    i, j = leaks[0]
    later = ", all of them later tokens" if all(j > i for i, j in leaks) else ""
    return Check("failed", f"{where}row {i} sees token {j}, which is blocked ({len(leaks)} such pairs{later})",
                 effects[c.must_not].max().item())


def check_reach(c):
    # What should reach what: the mask, applied `layers` times. A query affects its own row even if its key is blocked.
    own = torch.eye(c.tokens, dtype=torch.bool)
    c.must = torch.linalg.matrix_power(c.allowed.double(), c.layers) > 0
    c.must_not = torch.linalg.matrix_power((c.allowed | own).double(), c.layers) == 0
    c.report.expected = ["".join("#" if must else "." if must_not else "?" for must, must_not in zip(*rows))
                         for rows in zip(c.must, c.must_not)]
    reach, largest = torch.zeros(c.tokens, c.tokens, dtype=torch.float64), 0.0
    for scale in SCALES:
        norms = row_gradients(c, c.scaled(scale)).square().sum((1, 3)).sqrt()
        largest = max(norms.max().item(), largest)
        reach = torch.maximum(reach, norms / c.unit(largest))
        if (reach[c.must] > c.least_effect).all():
            break
    c.report.reach, c.effects = reach, value_effects(c)
    has_gradient = c.ids or is_more(largest / c.unit(largest), c.least_effect)
    if not has_gradient and not c.y.any():
        return Check("unknown", "y is 0 for all inputs: cannot tell before a step, if a projection starts at 0; with "
                     "module=, parameters that are 0 get values during the check")
    if not has_gradient:
        return Check("failed", "no gradient reaches x: detach, .data, or torch.no_grad cuts the graph")
    hidden = c.must & ~(reach > c.least_effect)
    c.report.reach = reach = torch.where(hidden, c.effects, reach)
    dead = (c.must & ~(reach > c.least_effect)).nonzero().tolist()  # values have no effect either
    found = leak(c, reach, "")
    if found is None and dead:
        i, j = dead[0]
        return Check("failed", f"row {i} does not see token {j}, which is allowed ({len(dead)} such pairs)")
    return found or Check("passed", "every allowed token has an effect, no blocked one has")


def check_values(c):
    """Leaks only: a saturated softmax, which hides pairs, is not scaled down here."""
    return leak(c, c.effects, "replacing tokens: ") or Check("passed", "replacing a blocked token changes nothing")


# ---- order, equal ----


def check_order(c):
    if c.positions and c.block_mask is None and c.tokens > 2:
        if c.order_matters():
            return Check("passed", "the order of the tokens before it changes the last output, as positions should")
        verdict = "unknown" if c.module is None else "failed"  # without a module: a table of zeros, which is trained
        return Check(verdict, "the order of the tokens before it does not change the last output: positions have no "
                     "effect on keys (along the batch or the heads instead of the tokens, on queries alone, or not added)")
    if c.causal or c.block_mask is not None or c.positions or c.tokens < 2:
        return Check("skipped", "needs two tokens and no mask, or three and positions")
    order = [*range(1, c.tokens, 2), *range(0, c.tokens, 2)]  # odd tokens, then even ones: not symmetric
    worst = c.differences(c.outputs(c.x[:, order]), c.y[:, order]).max().item()
    return judged(worst, c.rounding, "tokens in another order give other outputs: heads are split or "
                  "merged by a view or reshape that mixes tokens, or there are positions (positions=) or a mask "
                  "(causal=True)", "tokens in another order give the same outputs in that order")


def check_equal(c):
    if c.extra_keys or c.positions == "absolute" or c.tokens < 2:
        return Check("skipped", "needs two tokens, no absolute positions and no extra keys")
    one = c.x[:, :1]
    same = torch.cat([one] * c.tokens, 1)
    y = c.outputs(same)[0, c.allowed.any(1)]  # a row without keys has no weights
    if len(y) == 0:
        return Check("skipped", "no row has a key")
    try:
        alone = c.outputs(one)[0, 0]
    except Exception:  # a mask of T tokens does not fit one token: then rows are compared with each other
        alone = y[0]
    worst = c.differences(y, alone).max().item()
    if is_more(worst, c.tolerance):
        see = "see reach; or " if c.report.checks["reach"].verdict == "failed" else ""
        return Check("failed", f"equal tokens do not give what one of them gives (off by {worst:.2g}): {see}the weights of "
                     "a row do not sum to 1 (softmax over another dim, a mask after it, none, a factor of T, or positions "
                     "in v), or y is more than attention (a residual, a gate: set block)", worst)
    right = "equal tokens give what one of them gives" + f" (to {worst:.1g})" * is_more(worst, c.rounding)
    if c.block or c.layers > 1 or c.positions:
        return Check("passed", right + " (shares of gradients: skipped, not a single layer of attention alone)", worst)
    rows = [g[allowed] for g, allowed in zip(row_gradients(c, same)[:, 0], c.allowed) if allowed.any()]
    off = torch.cat([shares - shares[0] for shares in rows]).abs().max().item()
    uneven = off / c.unit(torch.stack([shares[0] for shares in rows]).abs().max().item())
    return judged(uneven, 10 * max(c.rounding, 1e-9), "equal tokens do not have equal "
                  "shares of a gradient: the weights of a row do not sum to 1 (softmax over another dim), or y is more "
                  "than attention (a residual, a gate: set block)", right + ", and have equal shares")


# ---- length, padding ----


def check_length(c):
    if c.block_mask is not None:
        return Check("skipped", "the mask has one length")
    worst = 0.0
    for t in [*range(1, min(c.longest, 2 * TOKENS) + 1), *[c.longest] * (c.longest > 2 * TOKENS)]:
        try:
            y = c.outputs(c.repeated(t))
        except Exception as error:
            return Check("failed", f"T = {t} fails (if f has a mask of one length, set block_mask): {error!r:.150}")
        if c.causal:
            worst = max(c.differences(y[:, :c.tokens], c.y[:, :t]).max().item(), worst)  # NaN stays
        if is_more(worst, c.rounding):
            return Check("failed", f"the first rows of T = {t} differ from those of T = {c.tokens}: outputs depend on "
                         "the length (a scale, a mask aligned to the end, positions counted from the end)", worst)
    return Check("passed", f"T from 1 to {c.longest}" + "; a prefix has the same outputs" * c.causal, worst)


def check_padding(c):
    if c.padded is None or c.tokens < 2:
        return Check("skipped", "no padded=")
    # Sequence b has T - 1 - b tokens; the rest is padding.
    lengths = torch.tensor([max(c.tokens - 1 - b, 1) for b in range(len(c.x))])
    at = torch.arange(c.tokens)
    mask = at >= lengths[:, None]  # (B, T), true blocks
    y = c.outputs(c.x, c.padded, mask.to(c.device))

    def effect(changed):  # of other tokens where `changed` says so, on rows that are not padding: (B)
        changed = changed.to(c.device)
        x = torch.where(changed if c.ids else changed[..., None], c.other, c.x)
        return c.differences(c.outputs(x, c.padded, mask.to(c.device)), y).masked_fill(mask, 0).amax(1)

    leak = effect(mask).max().item()
    unseen = ~torch.stack([effect((at == j).expand_as(mask)) > c.least_effect for j in at], 1) & ~mask
    if unseen[:, 0].all():
        return Check("failed", "tokens that are not padding have no effect: true and false are exchanged")
    if is_more(leak, c.rounding):
        return Check("failed", "values at padding change other rows: the mask is added as 0 and 1, applied to "
                     "queries, or not applied", leak)
    if unseen.any():
        return Check("failed", f"token {unseen.any(0).nonzero()[0].item()}, which is not padding, has no effect: one token "
                     "too many is masked")
    worst = 0.0
    for b, length in enumerate(lengths.tolist() if c.block_mask is None else []):
        alone = c.outputs(c.x[:, :length].contiguous())[b]
        worst = max(c.differences(y[b, :length], alone).max().item(), worst)
    return judged(worst, c.rounding, "rows differ from those without padding: the causal mask is dropped, "
                  "or positions count the padding", "padding changes nothing, other tokens do")


# ---- parameters ----


def leaves(y):
    """The tensors that the graph of y ends at."""
    found, seen, todo = [], set(), [y.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [following for following, _ in node.next_functions]
            found += [node.variable] if hasattr(node, "variable") else []
    return found


def largest_slopes(c, parameters):
    """The largest element of a loss's gradient with respect to each. A softmax that x saturates hides it: smaller inputs
    show it."""
    largest = torch.zeros(len(parameters))
    for scale in SCALES:
        loss = (c.call(c.scaled(scale)) * c.weights).sum()
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        largest = torch.maximum(largest.to(loss), torch.stack([g.abs().max() for g in gradients]))  # NaN stays
        if (largest > c.rounding * c.size).all():
            break
    return largest.tolist()


def is_bias(c, name, p):
    """A number for each feature, or for each feature of a head: (d), (1, 1, d), (heads, 1, d_head)."""
    sizes = [size for size in p.shape if size > 1]
    is_layer = name.endswith("weight") and p.dim() == 2
    return len(sizes[1:] if sizes[:1] == [c.heads] and not is_layer else sizes) < 2


def check_parameters(c):
    if c.module is None or c.tokens < 3:
        return Check("skipped", "no module=" if c.module is None else
                     "needs three tokens: with one, q and k learn nothing")
    leaf, y = c.call_with_leaf(c.x)
    if not y.requires_grad:
        return Check("failed", "y has no graph: detach, .data, or torch.no_grad cuts it")
    known = [leaf, *c.module.parameters()]
    for stray in leaves(y):
        if not any(stray is t for t in known):
            return Check("failed", f"a tensor {tuple(stray.shape)} that requires a gradient is not registered in the "
                         "module (nn.Parameter as an attribute, nn.ModuleList for lists): no optimiser trains it, no "
                         "file saves it")
    trained = {name: p for name, p in c.module.named_parameters() if p.requires_grad and p.numel() > 0}
    slopes = largest_slopes(c, [*trained.values()]) if trained else []
    least = min(c.rounding * c.size, 16 * c.eps * max(slopes, default=0.0))
    for (name, p), largest in zip(trained.items(), slopes):
        if math.isnan(largest):
            return Check("failed", f"the gradient of {name} has NaN", largest)
        if largest > least:
            continue
        before, p.data = p.data, p.data + p.data.abs() + 0.1
        effect = c.differences(c.outputs(c.x), c.y).max().item()
        p.data = before
        if is_more(effect, c.rounding):
            return Check("failed", f"{name} changes y but receives no gradient: detach, .data or .item() cuts the "
                         "graph", largest)
        if not is_bias(c, name, p):  # a bias without effect is right: softmax cancels that of keys
            return Check("failed", f"{name} has neither a gradient nor an effect: it is not used", largest)
    return Check("passed", f"each of {len(slopes)} receives a gradient")


# ---- cache ----


def check_cache(c):
    if c.step is None or not c.causal:
        return Check("skipped", "no step=" if c.step is None else "a cache needs causal=True")

    def differences(x):  # of each token
        steps = [c.outputs(x[:, i:i + 1].contiguous(), c.step, i) for i in range(c.tokens)]
        return c.differences(torch.cat(steps, 1), c.outputs(x)).amax(0)

    off = differences(c.x)
    wrong = (~(off <= c.rounding)).nonzero().flatten().tolist()
    if wrong:
        why = ("a token must see itself: append its key and value before attending; or the cache of the sequence before is "
               "not cleared" if wrong[0] == 0 else "positions are off, the mask is aligned top-left, or old keys are lost")
        return Check("failed", f"token {wrong[0]} with a cache differs: {why}", off.max().item())
    return judged(differences(c.other).max().item(), c.rounding, "the second sequence differs: the cache of the one before "
                  "is not cleared", "one token at a time gives the same as all at once")


# ---- formula: the matrices of a module ----

ROLES = {"q": "q qs query queries", "k": "k ks key keys", "v": "v vs value values", "qkv": "in qkv cattn attn",
         "o": "o out output c concat dense proj toout"}


@dataclass
class Layer:
    """A matrix (out, in) with its bias, and the role that its name says."""

    weight: torch.Tensor
    bias: torch.Tensor
    role: str = None
    parameter: object = None
    one_head: bool = False  # its rows are those of one head, repeated

    def is_square(self):
        return self.weight.shape[0] == self.weight.shape[1]

    def both_ways(self):
        """And transposed if it is square: x @ W instead of x @ W.T."""
        return [self, replace(self, weight=self.weight.T)] if self.is_square() else [self]


def plain_name(name):
    """The parts of a parameter's name without numbers, "weight" and "bias": heads.0.W_q.weight -> heads, W_q."""
    parts = [part for part in name.split(".") if not part.isdigit() and part not in ("weight", "bias")]
    return parts or [""]


def role_of(name):
    """The role of a parameter, from the last part of its name: W_q, in_proj_weight, to_q, query_layer, linear_q; or from
    that of the module: query.linear."""
    for part in reversed(plain_name(name)[-2:]):
        part = re.sub("[^a-z]|weight|bias", "", part.lower())
        short = re.sub("projection|proj|linear|layer|lin|fc|to|^w(?=.)", "", part)
        role = next((role for role, names in ROLES.items() if {part, short} & {*names.split()}), None)
        if role or short:
            return role
    return None


def matrix_of(p, c):
    """A parameter as (out, in). Those with 3 dims have the heads first, or (d_model, heads, d_head), or are convolutions."""
    p = p.detach().cpu().double()
    p = p.flatten(1) if p.dim() > 2 and p[0, 0].numel() == 1 else p
    if p.dim() == 3 and c.heads in p.shape[:2] and c.d_model in p.shape:
        return (p.transpose(0, 1) if p.shape[0] == c.d_model else p).transpose(1, 2).flatten(0, 1) \
            if p.shape[2] != c.d_model else p.flatten(0, 1).T
    return p if p.dim() == 2 else None


def layers_of(c):
    """The matrices of the module in order of registration. Those of separate heads are joined, those (d_head, d_head) that
    all heads share are repeated."""
    everything = dict(c.module.named_parameters(remove_duplicate=False))
    groups, layers = {}, []
    for name in everything:
        groups.setdefault(".".join(plain_name(name)) + name[-4:], []).append(name)
    for names in groups.values():
        is_split = len(names) == c.heads > 1 and everything[names[0]].shape[:1] < (c.d_model,)
        for same in [names] if is_split else [[name] for name in names]:
            last = same[0].split(".")[-1]
            weight = [matrix_of(everything[name], c) for name in same]
            bias = [everything.get(name[:-len(last)] + last.replace("weight", "bias").replace("W_", "b_")) for name in same]
            if last.endswith("bias") or any(m is None or m.numel() == 0 for m in weight):
                continue
            no_bias = any(b is None or b is everything[name] for b, name in zip(bias, same))
            bias = None if no_bias else torch.cat([b.detach().cpu().double().flatten() for b in bias])
            weight, one_head = torch.cat(weight), is_split and len({id(everything[name]) for name in same}) == 1
            if bias is not None and len(weight) != len(bias) == weight.shape[1] or bias is None and (
                    weight.shape[0] == c.d_model and weight.shape[1] == 3 * c.d_model):
                weight = weight.T  # (in, out), as GPT-2's
            if weight.shape == (c.d_model // c.heads,) * 2 and c.heads > 1:
                weight, one_head = torch.block_diag(*[weight] * c.heads), True
                bias = None if bias is None else bias.repeat(c.heads)
            layers.append(Layer(weight, bias, role_of(same[0]), everything[same[0]], one_head))
    return layers


def parts_of(layer, c):
    """The ways to read a matrix of q, k and v together: thirds, per head, or with fewer kv heads."""
    rows, width = len(layer.weight), c.d_model
    head = max(width // c.heads, 1)

    def cut(indices):
        return [replace(layer, weight=layer.weight[i], bias=layer.bias if layer.bias is None else layer.bias[i])
                for i in indices]
    index = torch.arange(rows)
    if rows % 3 == 0 and rows > width:
        yield cut(index.chunk(3))
        if rows % (3 * c.heads) == 0 and c.heads > 1:
            yield cut(index.view(c.heads, 3, -1).transpose(0, 1).flatten(1))
    if rows > width and (rows - width) % (2 * head) == 0 and rows != 3 * width:
        yield cut(index.split([width, (rows - width) // 2, (rows - width) // 2]))


def readings(c):
    """The lists of matrices that may be W_q, W_k and W_v, each with those that may be W_o; those in the order of their
    names first."""
    layers = [layer for layer in layers_of(c) if layer.weight.shape[1] == c.d_model or layer.role == "o" or
              layer.weight.shape[0] == c.y.shape[2]]
    inputs = [layer for layer in layers if layer.weight.shape[1] == c.d_model]
    found = []
    named = [next((layer for layer in inputs if layer.role == role), None) for role in "qkv"]
    if all(named):
        found.append((named + [layer for layer in inputs if not any(layer is n for n in named)],
                      [layer for layer in layers if layer.role == "o"] +
                      [layer for layer in layers if layer.role is None], True))
    for layer in sorted(inputs, key=lambda layer: layer.role != "qkv"):
        others = [other for other in layers if other is not layer]
        halves = [other for other in inputs if len(layer.weight) == 2 * len(other.weight) and other.role == "q"]
        found += [(cut, others, False) for cut in parts_of(layer, c)]
        if halves and not all(named):
            kv = [Layer(w, None, parameter=layer.parameter) for w in layer.weight.chunk(2)]
            found.append(([halves[0], *kv], [other for other in others if other is not halves[0]], False))
    if len(inputs) >= 3 and not all(named):
        found.append((inputs, layers, False))
    return found


@dataclass
class Weights:
    layer: dict  # by role
    head_dim: int
    kv_heads: int
    one_head: bool  # q, k and v of all heads are the same parameters, as of [Head()] * 4
    named: bool  # the names say which is which
    projected: dict = field(default_factory=dict)  # by role and heads


def weights_as(c, q, k, v, o, named=False):
    """None if the shapes do not fit."""
    width, kv_width = len(q.weight), len(k.weight)
    head_dim = width // c.heads
    if width % c.heads or head_dim == 0 or kv_width % head_dim or len(v.weight) != kv_width or kv_width == 0:
        return None
    if any(layer.weight.shape[1] != c.d_model for layer in (q, k, v)) or c.heads % (kv_width // head_dim):
        return None
    if {width, c.y.shape[2]} != ({width} if o is None else {*o.weight.shape}):
        return None
    if o is not None and o.weight.shape[1] != width:
        o = replace(o, weight=o.weight.T)
    layers = {"q": q, "k": k, "v": v} | ({} if o is None else {"o": o})
    one_head = all(layer.one_head for layer in (q, k, v))
    return Weights(layers, head_dim, kv_width // head_dim, one_head, named)


# ---- formula: one token proves W_v and W_o, two tokens W_q, W_k and the scale ----


def expand_heads(t, heads, kv_heads, tiled):  # (..., kv_heads * d) -> (..., heads, d)
    t = t.unflatten(-1, (kv_heads, -1))
    indices = torch.arange(heads)
    return t[..., indices % kv_heads if tiled else indices // (heads // kv_heads), :]


def prove_values(c, reading):
    """(v, o, factor, tiled): y of one token is factor * x W_v^T W_o^T. In differences of two inputs biases cancel."""
    inputs, outputs, _ = reading
    x = c.x[:, :1].cpu().double() - c.other[:, :1].cpu().double()
    y = (c.outputs(c.x[:, :1].contiguous()) - c.outputs(c.other[:, :1].contiguous())).flatten(0, 1)
    x = x.flatten(0, 1)
    tried = [v for layer in [*inputs[2:], *inputs[:2]] for v in layer.both_ways()]
    for v in tried:
        for o in [*(o for layer in outputs if layer.parameter is not v.parameter for o in layer.both_ways()), None]:
            width = y.shape[1] if o is None else o.weight.shape[1]
            if o is not None and len(o.weight) != y.shape[1] or width % c.heads or len(v.weight) % (width // c.heads):
                continue
            kv_heads = len(v.weight) // (width // c.heads)
            if kv_heads == 0 or c.heads % kv_heads:
                continue
            for tiled in (False, True)[:1 + (1 < kv_heads < c.heads)]:
                merged = expand_heads(nn.functional.linear(x, v.weight), c.heads, kv_heads, tiled).flatten(1)
                ours = merged if o is None else merged @ o.weight.T
                factor = ((ours * y).sum() / ours.square().sum()).item()
                off = (factor * ours - y).abs().max().item()
                if off <= c.tolerance * y.abs().max().item() and abs(factor) > 1e-9:
                    return v, o, factor, tiled
    return None


def logits_of(c, v, o, factor, tiled, first, scale):
    """Of two tokens, x_0 = `first`, the second x_1: (x_1, log of the odds of its weight in its own row, per head), from y
    alone; None if no weights give y. Each head's weight has as coefficients what its values add to y."""
    shape = (1 if c.unbatched else 2, 1, c.d_model)
    generator, logits, seconds = torch.Generator().manual_seed(c.seed + 99), [], []
    first = first.expand(shape)
    for size in (scale, 0.7 * scale, 0.5 * scale):
        second = torch.randn(shape, generator=generator, dtype=torch.float64) * size
        x = torch.cat([first, second], 1).to(c.dtype).to(c.device)
        y = c.outputs(x)[:, 1] - c.outputs(x[:, :1].contiguous())[:, 0]
        kv_heads = max(len(v.weight) * c.heads // (y.shape[1] if o is None else o.weight.shape[1]), 1)
        change = expand_heads(nn.functional.linear((second - first)[:, 0], v.weight), c.heads, kv_heads, tiled)
        blocks = torch.eye(c.y.shape[2], dtype=torch.float64) if o is None else o.weight
        blocks = blocks.unflatten(1, (c.heads, -1))  # (out, heads, d_head)
        coefficients = factor * torch.einsum("ohd,bhd->boh", blocks, change)
        share = torch.linalg.lstsq(coefficients, y[..., None]).solution
        off = (coefficients @ share - y[..., None]).abs().max().item()
        if is_more(off, c.tolerance * max(y.abs().max().item(), 1e-300)) or not ((share > 0) & (share < 1)).all():
            return None
        logits.append(share.squeeze(-1).logit())
        seconds.append(second[:, 0])
    return torch.cat(seconds), torch.cat(logits)


def prove(c, reading):
    """(weights, the number that q k^T is multiplied by, that of y, whether kv heads are tiled) or None. Between draws of
    the second token, the logit of its weight changes by scale * q_1 . (k_1 - k_0), to which positions add a constant only.
    With k_0 = 0 this holds for rotary positions too."""
    inputs, _, named = reading
    try:
        values = prove_values(c, reading)
    except Exception:  # a mask of another length
        return None
    if values is None or c.tokens < 2:
        return None
    v, o, factor, tiled = values
    drawn, precise = {}, 1e-5 if c.rounding < 1e-5 else 2e-2
    ways = inputs + [way for layer in inputs for way in layer.both_ways()[1:]]
    pairs = sorted(itertools.product(range(len(ways)), repeat=2), key=lambda at: (
        (at[0] >= len(inputs)) + (at[1] >= len(inputs)), at not in ((0, 1), (1, 0)), at[0] == at[1], at))
    for i, j in pairs:
        q, k = ways[i], ways[j]
        weights = weights_as(c, q, k, v, o, named)
        if weights is None or (i == j and len(pairs) > 1 and not c.ties and q.parameter is not v.parameter):
            continue
        first, key = c.x[0, :1].cpu().double() * (not c.positions), None
        if c.positions and k.bias is not None:
            first, key = torch.linalg.lstsq(k.weight, -k.bias[:, None]).solution.T, j
        if key not in drawn:
            for scale in (1, 0.3, 0.1, 5, 0.03, 30):  # a softmax that saturates, or nearly even weights, tell nothing
                found = logits_of(c, v, o, factor, tiled, first, scale)
                if found is not None and 1e-2 < (found[1] - found[1].mean(0)).abs().max() and found[1].abs().max() < 12:
                    break
            drawn[key] = found
        if drawn[key] is None:
            continue
        second, logits = drawn[key]
        queries = nn.functional.linear(second, q.weight, q.bias).unflatten(-1, (c.heads, -1))
        keys = nn.functional.linear(second - first, k.weight)
        scores = (queries * expand_heads(keys, c.heads, weights.kv_heads, tiled)).sum(-1)
        scores, logits = scores - scores.mean(0), logits - logits.mean(0)
        scale = ((scores * logits).sum() / scores.square().sum()).item()
        if not is_more((logits - scale * scores).abs().max().item(), precise * logits.abs().max().item()):
            return weights, scale, factor, tiled
    return None


# ---- formula: known mistakes ----


@dataclass
class Mistake:
    part: str  # of attend()
    choice: str
    text: str  # "y equals attention ..."
    remedy: str = None


LAST_DIM = "apply it to the last dim of (queries, keys), so that the weights of a row sum to 1"
DIAGONAL = "block above the diagonal only (triu with diagonal=1)"
FILL = "add 0 and -inf, or fill with -inf"
ALIKE = "turn q and k alike, and nothing else"
MISTAKES = [
    Mistake("scale", "none", "with scores that are not scaled"),
    Mistake("scale", "model", "scaled by sqrt(d_model)"),
    Mistake("scale", "width", "with scores divided by d_head itself"),
    Mistake("scale", "d_model", "with scores divided by d_model itself"),
    Mistake("scale", "multiplied", "with scores multiplied by sqrt(d_head)"),
    Mistake("scale", "heads", "scaled by the root of the number of heads"),
    Mistake("scale", "tokens", "scaled by the root of the number of tokens"),
    Mistake("roles", "kqv", "with W_q and W_k exchanged (the same as transposed scores)",
            "multiply q by the transposed k"),
    Mistake("roles", "vkq", "with W_q and W_v exchanged", "check the order of q, k and v"),
    Mistake("roles", "qvk", "with W_k and W_v exchanged", "check the order of q, k and v"),
    Mistake("roles", "qqv", "with keys computed by W_q", "compute them by W_k"),
    Mistake("roles", "kkv", "with queries computed by W_k", "compute them by W_q"),
    Mistake("roles", "qkk", "with values computed by W_k", "compute them by W_v"),
    Mistake("roles", "qkq", "with values computed by W_q", "compute them by W_v"),
    Mistake("roles", "qkx", "with x itself as values", "multiply x by W_v"),
    Mistake("softmax", "queries", "with the softmax over the queries", LAST_DIM),
    Mistake("softmax", "heads", "with the softmax over the heads", LAST_DIM),
    Mistake("softmax", "batch", "with the softmax over the batch", LAST_DIM),
    Mistake("softmax", "none", "without a softmax", "apply it to the last dim of the scores"),
    Mistake("softmax", "twice", "with the softmax applied twice", "apply it once"),
    Mistake("mask", "none", "without the mask", "fill blocked scores with -inf before the softmax"),
    Mistake("mask", "inverted", "with true and false of the mask exchanged",
            "masked_fill and nn.MultiheadAttention block where the mask is True, scaled_dot_product_attention keeps"),
    Mistake("mask", "transposed", "with the mask transposed, so that it blocks earlier tokens",
            "rows of the mask are queries and columns are keys"),
    Mistake("mask", "strict", "with a mask that blocks a token's own key too", DIAGONAL),
    Mistake("mask", "loose", "with a mask shifted by one, so that each row sees the next token",
            "block from the diagonal + 1 on (triu with diagonal=1)"),
    Mistake("mask", "after", "with the mask applied after the softmax",
            "apply it before, so that the weights of a row sum to 1"),
    Mistake("mask", "keep added", "with the mask added as 0 and 1 (1 keeps)", FILL),
    Mistake("mask", "block added", "with the mask added as 0 and 1 (1 blocks)", FILL),
    Mistake("mask", "zero", "with blocked scores set to 0", "a score of 0 has weight e^0 = 1: use -inf"),
    Mistake("heads", "split by view", "with heads split by a reshape alone",
            "view as (B, T, heads, d_head), then transpose(1, 2)"),
    Mistake("heads", "merged by view", "with heads merged without transposing back",
            "transpose (B, heads, T, d_head) to (B, T, heads, d_head) before the reshape"),
    Mistake("heads", "both by view", "with heads split and merged by a reshape alone",
            "view as (B, T, heads, d_head), then transpose(1, 2); transpose back before merging"),
    Mistake("heads", "one", "with a single head", "split q, k and v into heads"),
    Mistake("heads", "first", "with the parameters of one head for all heads",
            "each head has rows of W_q, W_k and W_v of its own ([Head()] * 4 repeats one module)"),
    Mistake("heads", "mean", "with the weights averaged over the heads",
            "each head multiplies its own weights by its values"),
    Mistake("heads", "tiled", "with kv heads tiled instead of repeated",
            "each kv head serves neighbouring heads (repeat_interleave)"),
    Mistake("apply", "transposed", "with the weights transposed before they are multiplied by v",
            "multiply the weights (queries, keys) by v (keys, d_head)"),
    Mistake("apply", "divided", "with the weights divided by sqrt(d_head) after the softmax",
            "divide the scores, before the softmax"),
    Mistake("turns", "k", "with rotary positions on keys alone", ALIKE),
    Mistake("turns", "q", "with rotary positions on queries alone", ALIKE),
    Mistake("turns", "mixed", "with rotary positions of pairs for q and halves for k (or the reverse)", ALIKE),
    Mistake("turns", "qkv", "with rotary positions on values too", ALIKE),
    Mistake("output", "none", "without W_o", "multiply the merged heads by W_o"),
    Mistake("output", "transposed", "with W_o transposed", "nn.Linear multiplies by the transpose"),
    Mistake("output", "x added", "with x added", "if this residual is intended, set block=True"),
]


def divisor(c, d_head, scale):
    """The number that scores are divided by: known ones by name, others as a factor."""
    if isinstance(scale, float):
        return 1 / scale
    return {
        None: 1 / c.right_scale(d_head), "model": math.sqrt(c.d_model), "none": 1, "width": d_head,
        "d_model": c.d_model, "multiplied": 1 / math.sqrt(d_head), "heads": math.sqrt(c.heads),
        "tokens": math.sqrt(c.tokens),
    }[scale]


def mask_of(c, mask):
    """The mask (T, T) of a formula, true blocks; None: no mask."""
    if mask == "none" or (not c.causal and c.block_mask is None):
        return None
    blocked = ~c.allowed
    if c.causal and mask in ("strict", "loose"):
        blocked = torch.ones_like(blocked).triu(0 if mask == "strict" else 2)
    return ~blocked if mask == "inverted" else blocked.T if mask == "transposed" else blocked


def safe_softmax(scores, dim):
    return torch.softmax(scores, dim).nan_to_num(0.0)  # 0 where all are blocked


def weights_of(scores, mask, choice, over):
    """The attention weights of scores (B, heads, T, T)."""
    after = choice == "after" or (over == "none" and choice not in ("keep added", "block added", "zero"))
    if choice in ("keep added", "block added"):
        scores = scores + (mask if choice == "block added" else ~mask)
    elif mask is not None and not after:
        scores = scores.masked_fill(mask, 0.0 if choice == "zero" else -math.inf)
    if over != "none":
        scores = safe_softmax(scores, {"queries": -2, "heads": 1, "batch": 0}.get(over, -1))
    percents = safe_softmax(scores, -1) if over == "twice" else scores
    return percents.masked_fill(mask, 0.0) if mask is not None and after else percents


def turned(t, pairs):
    """Rotary positions of (B, heads, T, d_head), over pairs or halves of the features."""
    d = t.shape[-1]
    angle = torch.arange(t.shape[-2])[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    a, b = (t[..., ::2], t[..., 1::2]) if pairs else t.chunk(2, -1)
    a, b = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack([a, b], -1).flatten(-2) if pairs else torch.cat([a, b], -1)


def project(c, w, role, heads):
    """x W^T + b of each head, (B, heads, T, d_head), computed once."""
    if (role, heads) not in w.projected:
        t = c.x.cpu().double()
        t = t if role == "x" else nn.functional.linear(t, w.layer[role].weight, w.layer[role].bias)
        count = 1 if heads == "one" else t.shape[2] // w.head_dim
        if heads in ("split by view", "both by view"):
            t = t.reshape(len(t), count, c.tokens, -1)
        else:
            t = t.unflatten(2, (count, -1)).transpose(1, 2)
        at = torch.arange(1 if heads == "one" else c.heads)
        t = t[:, 0 * at if heads == "first" else at % count if heads == "tiled" else at * count // len(at)]
        w.projected[role, heads] = t
    return w.projected[role, heads]


def attend(c, w, columns, scale=None, roles="qkv", softmax=None, mask=None, heads=None, apply=None, output=None,
           turns="", pairs=False, factor=1.0):
    """These columns of softmax(q k^T / sqrt(d_head)) v W_o^T with the given changes, which can be made."""

    q, k, v = (project(c, w, role, heads) for role in roles)
    if turns:
        q = turned(q, pairs) if turns != "k" else q
        k = turned(k, pairs != (turns == "mixed")) if turns != "q" else k
        v = turned(v, pairs) if turns == "qkv" else v
    scores = q @ k.transpose(-2, -1) / divisor(c, q.shape[-1], scale)
    percents = weights_of(scores, mask_of(c, mask), mask, softmax)
    percents = percents.mean(1, keepdim=True) if heads == "mean" else percents
    percents = percents.transpose(-2, -1) if apply == "transposed" else percents
    y = factor * (percents / math.sqrt(w.head_dim) if apply == "divided" else percents) @ v
    y = y if heads in ("merged by view", "both by view") else y.transpose(1, 2)
    y = y.reshape(len(y), c.tokens, -1)
    if "o" in w.layer and output != "none":
        w_o, bias = w.layer["o"].weight, w.layer["o"].bias
        w_o = w_o.T if output == "transposed" else w_o
        y = nn.functional.linear(y, w_o[columns], None if bias is None else bias[columns])
    else:
        y = y[..., columns]
    return y + c.x.cpu().double()[..., columns] if output == "x added" else y


def deviation(c, w, *mistakes):
    """How far y is from the formula with these mistakes, relative to y; infinity if this is more than the tolerance. Rows
    that their mask blocks everywhere are not compared: implementations differ there. At least half must be left."""
    changes = {mistake.part: mistake.choice for mistake in mistakes}
    mask = mask_of(c, changes.get("mask"))
    rows = torch.ones(c.tokens, dtype=torch.bool) if mask is None else ~mask.all(1)
    if 2 * rows.sum() < c.tokens or not c.y[:, rows].isfinite().all():
        return math.inf
    least = math.inf
    for pairs in (False, True)[:1 + ("turns" in changes)]:
        for columns in (slice(0, 16), slice(None)):  # most differ in the first ones
            ours, theirs = attend(c, w, columns, pairs=pairs, **changes), c.y[:, rows]
            off = ((ours[:, rows] - theirs[..., columns]).abs().max() / theirs.abs().max()).item()
            if not off <= c.tolerance:
                off = math.inf
                break
        least = min(least, off)
    return least


def can_be_made(c, w, mistake):
    """Can the mistake be made here, and does it differ from the formula?"""
    part, choice = mistake.part, mistake.choice
    if part == "mask":
        return c.causal or (c.block_mask is not None and choice not in ("strict", "loose"))
    if part == "turns":
        return c.positions == "relative" and w.head_dim % 2 == 0
    if (part, choice) == ("heads", "tiled"):
        return 1 < w.kv_heads < c.heads
    if (choice == "one" or part == "roles") and w.kv_heads != c.heads:
        return False
    if part == "heads" or (part, choice) in (("scale", "heads"), ("softmax", "heads")):
        return c.heads > 1
    if part == "output":
        return c.y.shape == c.x.shape if choice == "x added" else "o" in w.layer and w.layer["o"].is_square()
    if (part, choice) == ("scale", "tokens") and "length" in c.report.checks:
        return c.report.checks["length"].verdict != "passed"
    if part == "scale":
        return abs(divisor(c, w.head_dim, choice) * c.right_scale(w.head_dim) - 1) > 1e-9
    if part == "roles":
        return w.head_dim * c.heads == c.d_model if choice == "qkx" else w.named or choice not in ("kqv", "vkq", "qvk")
    return (part, choice) != ("softmax", "batch") or len(c.x) > 1


def explain(c, w, mistakes):
    """"with W_q and W_k exchanged; multiply q by the transposed k" """
    texts, remedies = [m.text for m in mistakes], [m.remedy for m in mistakes]
    for i, (part, choice) in enumerate((m.part, m.choice) for m in mistakes):
        if part == "scale":
            used = divisor(c, w.head_dim, choice)
            texts[i] += "" if choice == "none" or isinstance(choice, float) else f" = {max(used, 1 / used):.4g}"
            remedies[i] = (f"a head is {w.head_dim} wide, so divide by sqrt({w.head_dim}) = {math.sqrt(w.head_dim):.4g}"
                           if c.scale is None else f"scale = {c.scale:.4g} is given")
    return " and ".join(texts) + "; " + "; ".join(remedies)


def mistakes_of(c, w, scale, factor, tiled):
    """The mistakes that a proof shows: the scale, what y is multiplied by, heads."""
    near = 1e-4 if c.rounding < 1e-5 else 2e-2
    found = [m for m in MISTAKES if m.choice == "tiled" and tiled or m.choice == "first" and w.one_head]
    if abs(scale / c.right_scale(w.head_dim) - 1) > near:
        used = [(math.sqrt(2) if m.choice == "tokens" else divisor(c, w.head_dim, m.choice), m) for m in MISTAKES
                if m.part == "scale"]
        found[:0] = [m for by, m in used if abs(scale * by - 1) < near][:1] or [
            Mistake("scale", scale, f"with scores multiplied by {scale:.4g}")]
    if abs(factor * math.sqrt(w.head_dim) - 1) < near < abs(factor - 1):
        found += [m for m in MISTAKES if m.choice == "divided"]
    elif abs(factor - 1) > near:
        found.append(Mistake("factor", factor, f"with the weights multiplied by {factor:.4g}",
                             "the weights of a row must sum to 1"))
    return found


def passed_formula(c, w, text):
    """Unless one tensor has two roles. The parts of one matrix are different."""
    for a, b in itertools.combinations(w.layer, 2):
        one, other = w.layer[a], w.layer[b]
        if one.parameter is other.parameter and torch.equal(one.weight, other.weight):
            c.report.mistake = (f"y equals attention with one parameter as W_{a} and W_{b}; each role has a parameter of "
                                "its own")
            return Check("failed", "a known mistake gives the same y")
    return Check("passed", text)


def named_mistakes(c, w, known=(), formula_off=math.inf):
    """One or two mistakes, or the first pair, that give y together with the known ones. If the formula gives y too, but
    for formula_off: the mistake that gives it more exactly, as small weights or a low precision hide mistakes."""
    possible = [m for m in MISTAKES if can_be_made(c, w, m) and m.part not in {k.part for k in known} and
                (m.part == "turns" or not c.positions)]
    tried = [(deviation(c, w, *known, m), (*known, m)) for m in possible]
    least, nearest = min(tried, key=lambda one: one[0], default=(math.inf, None))
    if formula_off < math.inf:
        return [nearest] if least < formula_off / 3 else []
    near = max(10 * least, c.rounding)
    found = [mistakes for off, mistakes in tried if off <= near and off < math.inf][:1 if w.one_head else 2]
    if not found and not known and c.pairs:
        pairs = itertools.combinations(possible, 2)
        found = [pair for pair in pairs if pair[0].part != pair[1].part and deviation(c, w, *pair) < math.inf][:1]
    return found


def formula_of(c):
    """The verdict on y = softmax(q k^T / sqrt(d_head)) v W_o^T; names the mistakes in the report."""
    candidates = readings(c)
    if not candidates:
        return Check("skipped", "no matrices that could be W_q, W_k and W_v are found")
    ordered = []
    for inputs, outputs, named in candidates:
        ways = [[None] * 2 if layer is None else layer.both_ways() for layer in (*inputs[:3], *(outputs[:1] or [None]))]
        ordered += filter(None, [weights_as(c, *roles, named) for roles in zip(*ways)])
    text = "y is softmax(q k^T / sqrt(d_head)) v W_o^T"

    def failed(w, found):
        c.report.mistake = "y equals attention " + ". Or ".join(explain(c, w, mistakes) for mistakes in found)
        return Check("failed", "a known mistake gives the same y")
    for w in ordered if not c.positions else []:
        off = math.inf if w.one_head else deviation(c, w)
        found = named_mistakes(c, w, formula_off=off) if w.named or off < math.inf else []
        if found:
            return failed(w, found)
        if off < math.inf:
            return passed_formula(c, w, text + f" (to {off:.1g})" * (off > 10 * c.rounding))
    proof = next(filter(None, (prove(c, reading) for reading in candidates)), None)
    if proof is None:
        for w in ordered:
            found = [] if w.named and not c.positions else named_mistakes(c, w)
            if found:
                return failed(w, found)
        return Check("unknown", f"{text.replace('is', 'is not', 1)}, and no known mistake gives it" if not c.positions else
                     "the projections and the scale are not found in the outputs of two tokens")
    w, known = proof[0], mistakes_of(c, *proof)
    plain = [m for m in known if m.choice != "first"]
    found = [] if c.positions or deviation(c, w, *plain) < math.inf else named_mistakes(c, w, plain)
    if found or known:  # if neither gives y, what more than two tokens do is unknown
        return failed(w, found or [known])
    if c.positions or deviation(c, w) < math.inf:
        return passed_formula(c, w, text if not c.positions else
                              "W_v, W_o and the scale are right (two tokens), whatever the positions")
    return Check("unknown", f"W_v, W_o and the scale are right for two tokens; of more, {text.replace('is', 'is not', 1)}")


# ---- formula inside a model, by hooks ----


def tap(c, inputs, output, gates=()):
    """A function of x (B, T, d_model) that runs f with x in place of what the modules `inputs` get, and returns what
    `output` gives. Gates are open: sigmoid or tanh of what they give is 1."""
    def f(x):
        taken = []

        def tokens_first(t):
            return t.shape[:2] == (x.shape[1], x.shape[0]) != x.shape[:2]

        def replaced(t):
            if not torch.is_tensor(t) or not t.is_floating_point() or t.numel() != x.numel() or t.shape[-1] != x.shape[-1]:
                return t
            return (x.transpose(0, 1) if tokens_first(t) else x).reshape(t.shape)

        def replace_all(m, args, kwargs):
            return tuple(map(replaced, args)), {name: replaced(t) for name, t in kwargs.items()}

        with contextlib.ExitStack() as hooks:
            for m in inputs:
                hooks.enter_context(m.register_forward_pre_hook(replace_all, with_kwargs=True))
            for m in gates:
                hooks.enter_context(m.register_forward_hook(lambda m, args, y: torch.full_like(y, 50.0)))
            hooks.enter_context(output.register_forward_hook(lambda m, args, y: taken.append(y)))
            c.call(c.repeated(x.shape[1])[:len(x)])
        y = taken[0][0] if isinstance(taken[0], tuple) else taken[0]
        return y.transpose(0, 1) if tokens_first(y) else y.reshape(*x.shape[:2], -1)
    return f


def taps(c, owner):
    """The functions that may be the attention of a module: between the layers that get the same input first, which may
    include a gate, and the next layer; and the module itself."""
    calls, layers = [], [m for m in owner.modules() if isinstance(m, nn.Linear) or type(m).__name__ == "Conv1D"]
    with contextlib.ExitStack() as hooks:
        for m in layers:
            hooks.enter_context(m.register_forward_hook(lambda m, args, y: calls.append((m, args[0].clone()))))
        c.call(c.x)
    for at, (m, x) in enumerate(calls):
        group = [other for other, given in calls[at:at + 4] if torch.equal(given, x)]
        after = calls[at + len(group):]
        if (len(group) > 2 or len(group) == 1 and m.weight.numel() > c.d_model ** 2) and after:
            yield tap(c, group[:3], after[0][0], group[3:])
            break
    yield tap(c, [owner], owner)


def check_parts(c, *examined):
    """Each attention inside a model, with the inputs that it gets; not those whose outputs are examined."""
    found, owners = {}, []  # mistakes by name, "" if there is none; names
    for name, owner in reversed([*c.module.named_modules()]):  # the smallest that own matrices for W_q, W_k and W_v
        part = c.with_options(module=owner, y=c.y.new_empty(1, 1, c.d_model))
        has_inner = any(other.startswith(name + "." * bool(name)) for other in owners)
        if has_inner or len([*owner.parameters()]) < 3 or not readings(part):  # a layer alone has two
            continue
        owners.append(name)
        for f in taps(c, owner):
            part = c.with_options(f=f, module=owner, block=False, layers=1, padded=None, step=None, unbatched=False, ids=None,
                                  positions="relative" if c.positions == "relative" else None, ties=False)
            try:
                part.begin()
                part.heads = 1 if part.y.shape[2] * c.heads == c.d_model else c.heads  # a module per head
                is_known = any(torch.equal(part.y, y) for y in examined)
                examined += (part.y,)
                verdict = "unknown" if is_known else formula_of(part).verdict
            except Exception:  # the module is not called, or with other shapes
                continue
            if verdict in ("passed", "failed"):
                found = {name or "the module": part.report.mistake, **found}
                break
    wrong = [name for name, mistake in found.items() if mistake]
    names = ", ".join((wrong or [*found])[:4]) + ", ..." * (len(wrong or found) > 4)
    if not found:
        return Check("unknown", "no attention of known formula is found inside")
    if wrong:
        c.report.mistake = found[wrong[0]]
        return Check("failed", f"{len(wrong)} of {len(found)} parts: {names}: a known mistake gives the same y")
    return Check("passed", f"{len(found)} parts ({names}): y is softmax(q k^T / sqrt(d_head)) v W_o^T")


def check_formula(c):
    if c.module is None or c.extra_keys:
        return Check("skipped", "no module=" if c.module is None else "needs a softmax over the tokens alone")
    if c.block or c.layers > 1 or c.ids or c.positions == "absolute":
        return check_parts(c)
    check = formula_of(c)
    inside = check_parts(c, c.y) if check.verdict in ("unknown", "skipped") else check
    return inside if inside.verdict == "failed" else check


# ---- options that are not given ----


def guess(c):
    """Options that the outputs show."""
    if not c.y.isfinite().all() or c.tokens < 3 or c.block_mask is not None:
        return
    if not c.causal:
        effects, later = value_effects(c), torch.ones(c.tokens, c.tokens, dtype=torch.bool).triu(1)
        if not effects[later].any() and (effects[~later] > c.least_effect).all():
            c.causal, c.allowed = True, ~later
            c.report.assumed.append("causal: exactly the later tokens have no effect")
    if c.module is None or c.block or c.layers > 1 or c.ids or c.extra_keys:
        return
    counts = [c.heads] if c.heads else [h for h in range(1, min(c.d_model, 64) + 1) if c.d_model % h == 0]
    kinds = [c.positions] if c.positions or not c.order_matters() else [None, "relative"]
    options = itertools.product(kinds, counts) if len(kinds) + len(counts) > 2 else []
    found = next(((kind, heads) for kind, heads in options if formula_of(
        c.with_options(positions=kind, heads=heads, pairs=False)).verdict in ("passed", "failed")), None)
    same = c.outputs(c.x[:, :1].expand_as(c.x))  # mistakes with heads change equal tokens
    if not found and len(kinds) > 1 and not is_more(c.differences(same, same[:, :1]).max(), c.tolerance):
        found = "relative", c.heads
    positions, heads = found or (c.positions, c.heads)
    if heads not in (None, 1, c.heads):
        c.report.assumed.append(f"heads={heads}: so y is the formula, or one with a known mistake")
    if positions != c.positions:
        c.report.assumed.append("positions='relative': the order of earlier tokens matters")
    c.positions, c.heads = positions, heads


# ---- all checks ----

CHECKS = {
    "repeat": check_repeat, "batch": check_batch, "reach": check_reach, "values": check_values, "order": check_order,
    "equal": check_equal, "length": check_length, "padding": check_padding, "parameters": check_parameters,
    "cache": check_cache, "formula": check_formula,
}


@contextlib.contextmanager
def borrowed(module, dtype):
    """Sets the module to eval and gives its tensors other memory, of this dtype; puts everything back afterwards.

    Parameters that are zero get values: what must hold must hold for any, and an output projection that starts at zero
    hides all mistakes."""
    modes = [(m, m.training) for m in module.modules()]
    attributes = [(d, dict(d)) for m in module.modules() if not isinstance(m, torch.jit.ScriptModule)
                  for d in (vars(m), m._parameters, m._buffers)]
    tensors = [(t, t.data, t.grad if t.is_leaf else None) for t in (*module.parameters(), *module.buffers())]
    try:
        module.eval()
        for t, data, grad in tensors:
            t.grad = None
            t.data = data.to(dtype, copy=True) if t.is_floating_point() else data.clone()
            if t.requires_grad and t.numel() > 0 and not data.any():
                t.data.normal_(0, 0.3)
        yield
    finally:
        for d, before in attributes:
            d.clear()
            d.update(before)
        for m, mode in modes:
            if m.training != mode:
                m.training = mode
        for t, data, grad in tensors:
            t.grad = None
            t.data = data
            t.grad = grad


def check_options(c):
    if not callable(c.f):
        raise TypeError("attention_check: no function to check")
    if min(c.d_model, 1 if c.heads is None else c.heads, c.layers, c.longest) < 1:
        raise ValueError(f"attention_check: d_model is {c.d_model}, heads {c.heads}, layers {c.layers}, longest "
                         f"{c.longest}; all must be positive")
    if c.positions not in (None, "relative", "absolute"):
        raise ValueError(f"attention_check: positions is {c.positions!r}; expected None, 'relative' or 'absolute'")
    mask = c.block_mask
    if mask is not None and (mask.dtype != torch.bool or mask.dim() != 2 or len(set(mask.shape)) != 1 or
                             not 1 <= len(mask) <= TOKENS):
        raise ValueError(f"attention_check: block_mask {tuple(mask.shape)} {mask.dtype} must be bool (T, T) with T "
                         f"from 1 to {TOKENS}")
    if mask is not None and c.causal:
        raise ValueError("attention_check: give causal or block_mask, not both")


def as_function(mha, causal):
    """nn.MultiheadAttention as a function of x alone."""
    def f(x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1) if causal else None
        x = x if mha.batch_first else x.transpose(0, 1)
        y = mha(x, x, x, attn_mask=mask, need_weights=False)[0]
        return y if mha.batch_first else y.transpose(0, 1)
    return f


def run(options, assumed=()):
    """All checks of a case; the module is unchanged afterwards."""
    c = Case(**options)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.random.fork_rng())
        stack.callback(random.setstate, random.getstate())
        if c.module is not None:
            stack.enter_context(borrowed(c.module, c.dtype))
        c.begin()
        c.report.assumed += assumed
        guess(c)
        c.heads = c.heads or 1
        for name, check in CHECKS.items():
            repeat = c.report.checks.get("repeat")
            is_finite = c.y.isfinite().all()
            if repeat is None or repeat.verdict == "passed" or (name == "formula" and not is_finite):
                c.report.checks[name] = check(c)
            else:
                c.report.checks[name] = Check("skipped", "needs finite outputs without randomness")
    return c.report


def attention_check(f, d_model, *, heads=None, causal=False, block_mask=None, positions=None, longest=TOKENS,
                    unbatched=False, layers=1, block=False, extra_keys=False, module=None, f32=False, padded=None,
                    step=None, seed=1, scale=None, ids=None, show=True):
    """Checks f: x (B, T, d_model) -> (B, T, any width), or a tuple, list or dict that begins with it. Takes less than two
    seconds. Options that the outputs show are guessed, and the report says so.

    f           an nn.Module, one of its methods, or a function; then `module` has its parameters
    heads       number of heads; None: 1, or what makes y the formula
    causal      token i sees tokens 0 to i
    block_mask  or: bool (T, T), T <= 8, true blocks; f applies the same one
    positions   None; "relative": outputs depend on distances (ALiBi, rotary); "absolute": on the index of a token
    longest     the most tokens that f accepts
    unbatched   x is (T, d_model)
    layers      layers of attention
    block       f is more than attention: a residual, norms, a gate, a feed-forward network
    extra_keys  bias_k, add_zero_attn, sinks: weights of the tokens sum to less than 1
    f32         do not cast the module to f64; without it, a function that fails in f64 is tried again in f32
    padded      f with a key_padding_mask, bool (B, T), true blocks: padded(x, key_padding_mask)
    step        f of one token, x (B, 1, d_model), with a cache that is cleared at position 0: step(x, position)
    seed        of the inputs
    scale       the number that scores are multiplied by, if it is not 1 / sqrt(d_head)
    ids         the size of the vocabulary: x is token ids (B, T), and d_model the width inside
    show        print the report
    """
    options = {name: value for name, value in locals().items() if name != "show"}
    owner = f if isinstance(f, nn.Module) else getattr(f, "__self__", None)
    if module is None and isinstance(owner, nn.Module):
        module = options["module"] = owner
    if isinstance(f, nn.MultiheadAttention):
        options.update(heads=heads or f.num_heads, f=as_function(f, causal),
                       extra_keys=extra_keys or f.add_zero_attn or f.bias_k is not None)
    flat = {} if unbatched or ids else {"unbatched": "f takes (T, d_model) only"}
    cast = {} if f32 or module is None else {"f32": "f fails in f64"}
    first = None
    for more in ({}, flat, cast, {**cast, **flat}):
        try:
            report = run({**options, **dict.fromkeys(more, True)}, [f"{name}: {why}" for name, why in more.items()])
            break
        except Exception as error:
            first = first or error
    else:
        raise first
    if show:
        print(report)
    return report


def main(arguments=None):
    """python -m attention_check FILE.py:CLASS --d-model 64 --heads 4 --causal; the exit status is 1 if it is wrong."""
    parser = argparse.ArgumentParser(prog="attention_check", description="Is my attention right? Names the mistake.")
    parser.add_argument("what", metavar="FILE.py:CLASS", help="an nn.Module; is called as CLASS(*numbers)")
    parser.add_argument("numbers", nargs="*", type=int, help="arguments of CLASS; by default d_model and heads, as it takes")
    for option, given in inspect.signature(attention_check).parameters.items():
        kind = {"scale": float, "positions": str}.get(option, int)
        if isinstance(given.default, bool) and option != "show":
            parser.add_argument("--" + option.replace("_", "-"), action="store_true")
        elif option not in ("f", "block_mask", "module", "padded", "step", "show"):
            parser.add_argument("--" + option.replace("_", "-"), type=kind, required=option == "d_model")
    options = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value not in (None, False)}
    path, _, name = options.pop("what").rpartition(":")
    numbers = options.pop("numbers", [])
    spec = importlib.util.spec_from_file_location("checked", path)
    if spec is None or spec.loader is None:
        parser.error(f"{path or name!r} is no Python file; expected FILE.py:CLASS")
    file = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(spec.origin).rpartition("/")[0])
    spec.loader.exec_module(file)
    owner = getattr(file, name)
    wanted = [p for p in inspect.signature(owner).parameters.values() if p.default is p.empty]
    module = owner(*(numbers or [options["d_model"], options.get("heads", 1)][:len(wanted)]))
    return 0 if attention_check(module, **options).passed else 1


if __name__ == "__main__":
    sys.exit(main())
