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
    formula     parameters called W_q, W_k, W_v, W_o, or as in torch: y is softmax(q k^T / sqrt(d_head)) v W_o^T. If
                not, known mistakes and pairs of them are tried, and those that reproduce y are named
    derivative  gradients agree with difference quotients

The report is printed and returned: report.passed, report.checks["reach"].verdict, report.mistake. Parameters,
gradients, training flags, attributes of the modules and the random generators are the same afterwards, to the bit.

One file, which needs torch alone. The same check for C is heed_attention_check; both give the same verdicts.
"""
import contextlib
import math
import textwrap
from dataclasses import dataclass, field
import torch
from torch import nn

TOKENS = 8  # tokens of the inputs, if `longest` is not less
LEAST_EFFECT = 1e-9  # in f64, effects up to this are none; far above rounding
SCALES = (1, 0.3, 0.1, 0.01)  # a saturated softmax or a dead ReLU hides effects: inputs times these show them


# ---- the report ----


@dataclass
class Check:
    """The result of one check."""

    verdict: str  # "passed", "failed", "skipped" (does not apply) or "unknown" (cannot tell); the text says why
    text: str
    worst: float = 0.0  # the largest relative deviation from what should hold


def judged(wrong, worst, text_if_wrong, text_if_right):
    return Check("failed" if wrong else "passed", text_if_wrong if wrong else text_if_right, float(worst))


def skipped(why):
    return Check("skipped", why)


@dataclass(repr=False)
class Report:
    """What attention_check found. print(report) prints the page again."""

    checks: dict = field(default_factory=dict)  # Check by name
    mistake: str = ""  # the likely mistake and the remedy; "" if unknown
    reach: torch.Tensor = None  # (T, T): |dy_i/dx_j| of query i and key j, relative to the largest
    expected: list = None  # T strings: '#' an effect, '.' none, '?' either

    @property
    def passed(self):
        return not self.count("failed")

    def count(self, verdict):
        return sum(check.verdict == verdict for check in self.checks.values())

    def summary(self):
        verdict = "passed" if self.passed else "WRONG"
        return f"{verdict}: {self.count('passed')} checks passed, {self.count('failed')} failed"

    def __repr__(self):
        return f"<attention check {self.summary()}>"

    def __str__(self):
        words = {"skipped": "-", "passed": "ok", "failed": "WRONG", "unknown": "?"}

        def wrapped(label, text):
            return textwrap.fill(text, 80, initial_indent=f"  {label:18}", subsequent_indent=" " * 20,
                                 break_long_words=False, break_on_hyphens=False)

        lines = ["attention check", ""]
        for name, check in self.checks.items():
            lines.append(wrapped(f"{name:11}{words[check.verdict]}", check.text))
        if self.reach is not None:
            lines += self.picture()
        if self.mistake:
            lines += ["", wrapped("likely mistake", self.mistake)]
        return "\n".join([*lines, "", self.summary()])

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
        self.report = Report()

    def begin(self):
        """Draws the inputs and calls f for the first time."""
        self.generator = torch.Generator().manual_seed(self.seed)
        shape = (1 if self.unbatched else 2, self.tokens, self.d_model)
        self.x = self.random(shape)
        self.other = self.random(shape)  # what tokens are replaced by
        self.y = self.outputs(self.x)
        self.rounding = 1e-4 if self.computes_in_f32() else 1e-10  # relative differences up to this are rounding
        self.least_effect = max(LEAST_EFFECT, self.rounding / 10)
        self.scale = max(self.y.abs().max().item(), 1e-300)
        self.weights = self.random(self.y.shape)  # of sums over y whose gradients are taken
        block_mask = self.block_mask
        if block_mask is None:
            ones = torch.ones(self.tokens, self.tokens, dtype=torch.bool)
            block_mask = ones.triu(1) if self.causal else ~ones
        self.allowed = ~block_mask.cpu()

    def computes_in_f32(self):
        """Does f cast to f32, for its softmax for example? Then its rounding is that of f32."""
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.dtype) or t, lambda t: t):
            self.call_with_leaf(self.x)
        return self.dtype == torch.float32 or any(t.is_floating_point and t != torch.float64 for t in saved)

    def random(self, shape):
        return torch.randn(shape, dtype=torch.float64, generator=self.generator).to(self.dtype).to(self.device)

    def call(self, x, f=None, *more):
        """f(x) with a batch, (B, T, width), from generators that are always in the same state. f gets copies, which it
        may change in place."""
        torch.manual_seed(self.seed)
        copies = [t.clone() if torch.is_tensor(t) else t for t in (x, *more)]
        y = (f or self.f)(*[t.squeeze(0) if self.unbatched and torch.is_tensor(t) else t for t in copies])
        y = y[0] if isinstance(y, tuple) else y  # (outputs, weights)
        if not torch.is_tensor(y):
            raise TypeError(f"attention_check: f returned {type(y).__name__}; expected a tensor")
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
        leaf = x.detach().clone().requires_grad_()
        return leaf, self.call(leaf)

    def differences(self, a, b):
        """For each row of two outputs, the largest difference relative to the largest element of y; NaN if any is."""
        return (a - b).abs().amax(-1) / self.scale

    def unit(self, largest):
        """What gradients are relative to: the largest of them. If all of them are far below y, they may be rounding, and
        their quotients would be arbitrary."""
        return max(largest, 0.01 * self.scale)


def is_more(worst, than):
    return not worst <= than  # true for NaN


# ---- repeat, batch ----


def check_repeat(c):
    worst = c.differences(c.outputs(c.x), c.y).max().item()
    if not c.y.isfinite().all():
        return Check("failed", "y has NaN or infinity: a row that is blocked everywhere, or mask values that overflow",
                     math.nan)
    if worst != 0:
        raise ValueError(f"attention_check: f gives other outputs for the same input (by {worst:.2g}), although the "
                         "generator is reset before each call: it keeps state, such as a cache, between calls; reset "
                         "it at the beginning of f")
    # Does it draw random numbers? Dropout that no model.eval() reaches does.
    seed, c.seed = c.seed, c.seed + 12345
    worst = c.differences(c.outputs(c.x), c.y).max().item()
    c.seed = seed
    if worst != 0 and c.module is None:
        raise ValueError("attention_check: f draws random numbers: call model.eval(), or pass module=, so that the "
                         "check does")
    return judged(worst != 0, worst, "f draws random numbers in eval mode: dropout that does not read self.training "
                  "(F.dropout, dropout_p of scaled_dot_product_attention), or a module that is not registered",
                  "the same input gives the same output"
                  + " (computed in f32)" * (c.dtype == torch.float64 and c.rounding > 1e-10))


def check_batch(c):
    if c.unbatched:
        return skipped("no batch (unbatched)")
    y = c.outputs(torch.cat([c.x[:1], c.other[1:]]))
    worst = c.differences(y[0], c.y[0]).max().item()
    moved = c.differences(c.outputs(c.x.flip(0))[0], c.y[1]).max().item()
    if not is_more(worst, c.rounding):
        return judged(is_more(moved, c.rounding), moved, "a sequence gives other outputs at another place in the "
                      "batch: positions or a mask along the batch dim", "another sequence of the batch changes nothing")
    return Check("failed", "another sequence of the batch changes this one: a softmax or transpose over the batch dim "
                 "(nn.MultiheadAttention needs batch_first=True), or a reshape that moves elements between sequences",
                 worst)


# ---- reach: by gradients, and by values ----


def expect_reach(c):
    """What should reach what: the mask, applied `layers` times. A query affects its own row even if its key is
    blocked."""
    least = c.allowed.double()
    most = (c.allowed | torch.eye(c.tokens, dtype=torch.bool)).double()
    c.must = torch.linalg.matrix_power(least, c.layers) > 0
    c.must_not = torch.linalg.matrix_power(most, c.layers) == 0
    c.report.expected = ["".join("#" if must else "." if must_not else "?" for must, must_not in zip(*rows))
                         for rows in zip(c.must, c.must_not)]


def row_gradients(c, x):
    """The gradient of each row of y, weighted at random, with respect to x: (rows, B, T, d_model)."""
    leaf, y = c.call_with_leaf(x)
    rows = []
    for i in range(c.tokens):
        g = None
        if y.requires_grad:
            loss = (y[:, i] * c.weights[:, i]).sum()
            g, = torch.autograd.grad(loss, leaf, retain_graph=True, allow_unused=True)
        rows.append(torch.zeros_like(leaf) if g is None else g)
    return torch.stack(rows).detach().cpu().double()


def value_effects(c):
    """(T, T): how much row i changes if token j is replaced. Among small inputs, large tokens of either sign replace it
    too: they change a maximum over all tokens, and what is saturated for larger inputs."""
    effects = torch.zeros(c.tokens, c.tokens, dtype=torch.float64)
    for size, sign in ((1, 1), (0.1, 1), (0.1, -1)):
        before = c.outputs(size * c.x)
        for j in range(c.tokens):
            x = size * c.x
            x[:, j] = sign * c.other[:, j]
            effects[:, j] = torch.maximum(effects[:, j], c.differences(c.outputs(x), before).amax(0))
    return effects


def leak(c, effects, where):
    """A failed check if a blocked token has an effect, or None."""
    leaks = (c.must_not & ~(effects <= 10 * c.rounding)).nonzero().tolist()
    if not leaks:
        return None
    i, j = leaks[0]
    later = ", all of them later tokens" if all(j > i for i, j in leaks) else ""
    return Check("failed", f"{where}row {i} sees token {j}, which is blocked ({len(leaks)} such pairs{later})",
                 effects[c.must_not].max().item())


def check_reach(c):
    expect_reach(c)
    reach, largest = torch.zeros(c.tokens, c.tokens, dtype=torch.float64), 0.0
    for scale in SCALES:
        norms = row_gradients(c, c.x * scale).square().sum((1, 3)).sqrt()
        largest = max(norms.max().item(), largest)
        reach = torch.maximum(reach, norms / c.unit(largest))
        if (reach[c.must] > c.least_effect).all():
            break
    c.report.reach, c.effects = reach, value_effects(c)
    has_gradient = is_more(largest / c.unit(largest), c.least_effect)
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


def check_positions(c):
    """With positions, the last output depends on the order of the tokens before it."""
    order = [*range(c.tokens - 2, -1, -1), c.tokens - 1]
    for x in (scale * c.x for scale in SCALES):
        if c.differences(c.outputs(x[:, order]), c.outputs(x))[:, -1].max() > c.rounding:
            return Check("passed", "the order of the tokens before it changes the last output, as positions should")
    verdict = "unknown" if c.module is None else "failed"  # without a module: a table of zeros, which is trained
    return Check(verdict, "the order of the tokens before it does not change the last output: positions have no effect "
                 "(along the batch or the heads instead of the tokens, or not added)")


def check_order(c):
    if c.positions and c.block_mask is None and c.tokens > 2:
        return check_positions(c)
    if c.causal or c.block_mask is not None or c.positions or c.tokens < 2:
        return skipped("needs two tokens and no mask, or three and positions")
    order = [*range(1, c.tokens, 2), *range(0, c.tokens, 2)]  # odd tokens, then even ones: not symmetric
    worst = c.differences(c.outputs(c.x[:, order]), c.y[:, order]).max().item()
    return judged(is_more(worst, c.rounding), worst, "tokens in another order give other outputs: heads are split or "
                  "merged by a view or reshape that mixes tokens, or there are positions (positions=) or a mask "
                  "(causal=True)", "tokens in another order give the same outputs in that order")


def check_equal(c):
    if c.extra_keys or c.positions == "absolute" or c.tokens < 2:
        return skipped("needs two tokens, no absolute positions and no extra keys")
    one = c.x[:, :1]
    same = one.expand(-1, c.tokens, -1).contiguous()
    y = c.outputs(same)[0, c.allowed.any(1)]  # a row without keys has no weights
    if len(y) == 0:
        return skipped("no row has a key")
    try:
        alone = c.outputs(one)[0, 0]
    except Exception:  # a mask of T tokens does not fit one token: then rows are compared with each other
        alone = y[0]
    worst = c.differences(y, alone).max().item()
    if is_more(worst, c.rounding):
        see = "see reach; or " if c.report.checks["reach"].verdict == "failed" else ""
        return Check("failed", f"equal tokens do not give what one of them gives: {see}the weights of a row do not sum "
                     "to 1 (softmax over another dim, a mask after it, none, or a factor of T)", worst)
    if c.block or c.layers > 1 or c.positions:
        return Check("passed", "equal tokens give what one of them gives (shares of gradients: skipped, not a single "
                     "layer of attention alone)", worst)
    off, largest = 0.0, 0.0
    for gradients, allowed in zip(row_gradients(c, same)[:, 0], c.allowed):
        shares = gradients[allowed]  # (allowed keys, d_model)
        if len(shares) > 0:
            off = max((shares - shares[0]).abs().max().item(), off)
            largest = max(shares[0].abs().max().item(), largest)
    uneven = off / c.unit(largest)
    return judged(is_more(uneven, 10 * max(c.rounding, 1e-9)), max(worst, uneven), "equal tokens do not have equal "
                  "shares of a gradient: the weights of a row do not sum to 1 (softmax over another dim), or x is "
                  "added to y (a residual: block=True)", "equal tokens give what one of them gives, and have equal "
                  "shares")


# ---- length, padding ----


def check_length(c):
    if c.block_mask is not None:
        return skipped("the mask has one length")
    worst = 0.0
    for t in [*range(1, min(c.longest, 2 * TOKENS) + 1), *[c.longest] * (c.longest > 2 * TOKENS)]:
        x = c.x.repeat(1, -(-t // c.tokens), 1)[:, :t]  # beyond T, the same tokens again
        try:
            y = c.outputs(x.contiguous())
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            return Check("failed", f"T = {t} fails: {first[:150]}")
        if c.causal:
            rows = min(t, c.tokens)
            worst = max(c.differences(y[:, :rows], c.y[:, :rows]).max().item(), worst)  # NaN stays
        if is_more(worst, c.rounding):
            return Check("failed", f"the first rows of T = {t} differ from those of T = {c.tokens}: outputs depend on "
                         "the length (a scale, a mask aligned to the end, positions counted from the end)", worst)
    return Check("passed", f"T from 1 to {c.longest}" + "; a prefix has the same outputs" * c.causal, worst)


def check_padding(c):
    if c.padded is None or c.tokens < 2:
        return skipped("no padded=")
    # Sequence b has T - 1 - b tokens; the rest is padding.
    lengths = torch.tensor([max(c.tokens - 1 - b, 1) for b in range(len(c.x))])
    mask = torch.arange(c.tokens) >= lengths[:, None]  # (B, T), true blocks
    given = mask.to(c.device)
    other_first = torch.cat([c.other[:, :1], c.x[:, 1:]], dim=1)
    y = c.outputs(c.x, c.padded, given)
    leak = c.differences(c.outputs(torch.where(given[..., None], c.other, c.x), c.padded, given), y)[~mask].max().item()
    effect = c.differences(c.outputs(other_first, c.padded, given), y)[~mask].max().item()
    if is_more(leak, c.rounding):
        return Check("failed", "values at padding change other rows: the mask is added as 0 and 1, applied to "
                     "queries, or not applied", leak)
    return judged(not effect > c.least_effect, leak, "tokens that are not padding have no effect: true and false are "
                  "exchanged", "padding changes nothing, other tokens do")


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


def has_effect(c, parameter):
    before = parameter.data
    parameter.data = before + before.abs() + 0.1
    y = c.outputs(c.x)
    parameter.data = before
    return is_more(c.differences(y, c.y).max().item(), c.rounding)


def largest_slope(c, p):
    """The largest element of a loss's gradient with respect to p. A softmax that x saturates hides it: smaller inputs
    show it."""
    largest = 0.0
    for scale in SCALES:
        y = c.call(scale * c.x)
        g = None
        if y.requires_grad:
            g, = torch.autograd.grad((y * c.weights).sum(), p, allow_unused=True)
        if g is not None and is_more(g.abs().max().item(), largest):
            largest = g.abs().max().item()
        if is_more(largest, c.rounding * c.scale):
            break
    return largest


def is_bias(c, p):
    """A number for each feature, or for each feature of a head: (d), (1, 1, d), (heads, 1, d_head)."""
    sizes = [size for size in p.shape if size > 1]
    return len(sizes[1:] if sizes[:1] == [c.heads] else sizes) < 2


def check_parameters(c):
    if c.module is None or c.tokens < 3:
        return skipped("no module=" if c.module is None else "needs three tokens: with one, q and k learn nothing")
    leaf, y = c.call_with_leaf(c.x)
    if not y.requires_grad:
        return Check("failed", "y has no graph: detach, .data, or torch.no_grad cuts it")
    known = [leaf, *c.module.parameters()]
    for stray in leaves(y):
        if not any(stray is t for t in known):
            return Check("failed", f"a tensor {tuple(stray.shape)} that requires a gradient is not registered in the "
                         "module (nn.Parameter as an attribute, nn.ModuleList for lists): no optimiser trains it, no "
                         "file saves it")
    trained = 0
    for name, p in c.module.named_parameters():
        if not p.requires_grad or p.numel() == 0:
            continue
        largest = largest_slope(c, p)
        trained += 1
        if math.isnan(largest):
            return Check("failed", f"the gradient of {name} has NaN", largest)
        if largest > c.rounding * c.scale:
            continue
        if has_effect(c, p):
            return Check("failed", f"{name} changes y but receives no gradient: detach, .data or .item() cuts the "
                         "graph", largest)
        if not is_bias(c, p):  # a bias without effect is right: softmax cancels that of keys
            return Check("failed", f"{name} has neither a gradient nor an effect: it is not used", largest)
    return Check("passed", f"each of {trained} receives a gradient")


# ---- cache, derivative ----


def check_cache(c):
    if c.step is None or not c.causal:
        return skipped("no step=" if c.step is None else "a cache needs causal=True")
    worst, first = 0.0, None
    for i in range(c.tokens):
        y = c.outputs(c.x[:, i:i + 1].contiguous(), c.step, i)
        off = c.differences(y[:, 0], c.y[:, i]).max().item()
        if is_more(off, c.rounding) and first is None:
            first = i
        worst = off if is_more(off, worst) else worst
    if first is None:
        return Check("passed", "one token at a time gives the same as all at once", worst)
    why = ("a token must see itself: append its key and value before attending; or the cache of the sequence before is "
           "not cleared" if first == 0 else "positions are off, the mask is aligned top-left, or old keys are lost")
    return Check("failed", f"token {first} with a cache differs: {why}", worst)


def derivative_error(c, p):
    """Compares the derivative of sum(weights * f) along a random direction of p, a parameter or None for x, with a
    difference quotient."""
    leaf, y = c.call_with_leaf(c.x)
    if not y.requires_grad:
        return math.nan
    target = leaf if p is None else p
    g, = torch.autograd.grad((y * c.weights).sum(), target, allow_unused=True)
    g = torch.zeros_like(target) if g is None else g
    direction = torch.randn(target.shape, dtype=torch.float64, generator=c.generator.manual_seed(c.seed + 7))
    direction = direction.to(target.device)
    eps, before, sums = 1e-6, target.data, []
    for step in (eps, -eps):
        target.data = before + step * direction
        with torch.no_grad():
            sums.append((c.call(leaf) * c.weights).sum().item())
    target.data = before
    analytic, numeric = (g * direction).sum().item(), (sums[0] - sums[1]) / (2 * eps)
    return abs(analytic - numeric) / c.unit(g.norm().item() * direction.norm().item())


def check_derivative(c):
    if not c.derivative or c.rounding > 1e-10:
        return skipped("needs f64 (module=)" if c.derivative else "no derivative=")
    worst, at = 0.0, "x"
    parameters = [(name, p) for name, p in c.module.named_parameters() if p.requires_grad and p.numel() > 0]
    for name, p in [("x", None), *parameters]:
        error = derivative_error(c, p)
        if is_more(error, worst):
            worst, at = error, name
    return judged(is_more(worst, 1e-6), worst, f"the gradient of {at} differs from the difference quotient: check your "
                  "autograd.Function with torch.autograd.gradcheck", f"gradients agree with difference quotients "
                  f"(worst: {at})")


# ---- formula: the parameters, by name ----

ROLES = {
    "q": "wq q qproj query toq queryproj wquery queries",
    "k": "wk k kproj key tok keyproj wkey keys",
    "v": "wv v vproj value tov valueproj wvalue values",
    "o": "wo o oproj outproj proj cproj toout out output",
    "qkv": "inproj qkv wqkv cattn toqkv qkvproj",
}


def role_of(name):
    """The role of a parameter, from the last part of its name without punctuation, "weight" and "bias": W_q.weight,
    q_proj.weight, in_proj_weight."""
    for ending in (".weight", ".bias"):
        name = name[:-len(ending)] if name.endswith(ending) else name
    plain = "".join(letter for letter in name.split(".")[-1].lower() if letter.isalnum())
    for ending in ("weight", "bias"):
        plain = plain[:-len(ending)] if plain.endswith(ending) and plain != ending else plain
    return next((role for role, names in ROLES.items() if plain in names.split()), None)


@dataclass
class Weights:
    weight: dict  # (out, in) by role
    bias: dict  # (out) by role
    head_dim: int
    kv_heads: int
    is_square: bool  # each could be used transposed, as x @ W instead of x @ W.T
    one_head: bool  # q, k and v of all heads are the same parameters, as of [Head()] * 4


def find_weights(module, d_model, heads):
    """None if the module has no W_q, W_k and W_v with shapes that fit."""
    weight, bias, stored_transposed, seen, again = {}, {}, False, set(), set()
    for name, p in module.named_parameters(remove_duplicate=False):
        role, identity, p = role_of(name), id(p), p.detach().cpu().double()
        if role is None or p.dim() not in (1, 2):
            continue
        again |= {role} if (role, identity) in seen else set()
        seen.add((role, identity))
        # A matrix (in, out), as GPT-2's, is transposed if its shape shows it; then so is W_o.
        if p.dim() == 2 and role != "o" and p.shape[0] == d_model != p.shape[1]:
            p, stored_transposed = p.T, True
        kind = weight if p.dim() == 2 else bias
        if role in kind and kind[role].shape[1:] != p.shape[1:]:
            return None
        kind[role] = torch.cat([kind[role], p]) if role in kind else p  # separate heads are joined
    if stored_transposed and "o" in weight:
        weight["o"] = weight["o"].T
    for kind in (weight, bias):
        if "qkv" in kind and len(kind["qkv"]) % 3 == 0:
            kind["q"], kind["k"], kind["v"] = kind["qkv"].chunk(3)
    for role in "qkv":
        if role not in weight or weight[role].shape[1] != d_model or len(weight[role]) == 0:
            return None
        if role in bias and len(bias[role]) != len(weight[role]):
            return None
    width, kv_width = len(weight["q"]), len(weight["k"])
    head_dim = width // heads
    if width % heads or head_dim == 0 or kv_width % head_dim or len(weight["v"]) != kv_width:
        return None
    if kv_width == 0 or heads % (kv_width // head_dim) or ("o" in weight and weight["o"].shape[1] != width):
        return None
    one_head = heads > 1 and ("qkv" in again or again >= {"q", "k", "v"})
    return Weights(weight, bias, head_dim, kv_width // head_dim, width == kv_width == d_model, one_head)


# ---- formula: known mistakes ----


@dataclass
class Mistake:
    part: str  # of attend()
    choice: str
    text: str  # "y equals attention ..."
    remedy: str = None


MISTAKES = [
    Mistake("scale", "none", "with scores that are not scaled"),
    Mistake("scale", "model", "scaled by sqrt(d_model)"),
    Mistake("scale", "width", "with scores divided by d_head itself"),
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
    Mistake("softmax", "queries", "with the softmax over the queries",
            "apply it to the last dim of (queries, keys), so that the weights of a row sum to 1"),
    Mistake("softmax", "heads", "with the softmax over the heads", "apply it to the last dim of (queries, keys)"),
    Mistake("softmax", "batch", "with the softmax over the batch", "apply it to the last dim of (queries, keys)"),
    Mistake("softmax", "none", "without a softmax", "apply it to the last dim of the scores"),
    Mistake("softmax", "twice", "with the softmax applied twice", "apply it once"),
    Mistake("mask", "none", "without the mask", "fill blocked scores with -inf before the softmax"),
    Mistake("mask", "inverted", "with true and false of the mask exchanged",
            "masked_fill and nn.MultiheadAttention block where the mask is True, scaled_dot_product_attention keeps"),
    Mistake("mask", "transposed", "with the mask transposed, so that it blocks earlier tokens",
            "rows of the mask are queries and columns are keys"),
    Mistake("mask", "strict", "with a mask that blocks a token's own key too",
            "block above the diagonal only (triu with diagonal=1)"),
    Mistake("mask", "loose", "with a mask shifted by one, so that each row sees the next token",
            "block from the diagonal + 1 on (triu with diagonal=1)"),
    Mistake("mask", "after", "with the mask applied after the softmax",
            "apply it before, so that the weights of a row sum to 1"),
    Mistake("mask", "keep added", "with the mask added as 0 and 1 (1 keeps)", "add 0 and -inf, or fill with -inf"),
    Mistake("mask", "block added", "with the mask added as 0 and 1 (1 blocks)", "add 0 and -inf, or fill with -inf"),
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
    Mistake("apply", "transposed", "with the weights transposed before they are multiplied by v",
            "multiply the weights (queries, keys) by v (keys, d_head)"),
    Mistake("output", "none", "without W_o", "multiply the merged heads by W_o"),
    Mistake("output", "transposed", "with W_o transposed", "nn.Linear multiplies by the transpose"),
    Mistake("output", "x added", "with x added", "if this residual is intended, set block=True"),
]


def divisor(c, d_head, scale):
    """The number that scores are divided by."""
    return {
        None: math.sqrt(d_head), "model": math.sqrt(c.d_model), "none": 1, "width": d_head,
        "multiplied": 1 / math.sqrt(d_head), "heads": math.sqrt(c.heads), "tokens": math.sqrt(c.tokens),
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
    zero = None  # where weights are set to 0
    if mask is not None:
        if choice == "after" or (choice in (None, "inverted", "transposed", "strict", "loose") and over == "none"):
            zero = mask
        elif choice == "keep added":
            scores = scores + (~mask).double()
        elif choice == "block added":
            scores = scores + mask.double()
        else:
            scores = scores.masked_fill(mask, 0.0 if choice == "zero" else -math.inf)
    if over == "none":
        percents = scores
    else:
        percents = safe_softmax(scores, {"queries": -2, "heads": 1, "batch": 0}.get(over, -1))
        percents = safe_softmax(percents, -1) if over == "twice" else percents
    return percents if zero is None else percents.masked_fill(zero, 0.0)


def attend(c, w, transposed=False, scale=None, roles="qkv", softmax=None, mask=None, heads=None, apply=None,
           output=None):
    """softmax(q k^T / sqrt(d_head)) v W_o^T with the given changes. None if their shapes do not fit."""
    x, width = c.x.cpu().double(), w.head_dim * c.heads
    if (roles != "qkv" or heads == "one") and w.kv_heads != c.heads:
        return None
    if "x" in roles and c.d_model != width:
        return None

    def project(role):
        if role == "x":
            return x
        weight = w.weight[role].T if transposed else w.weight[role]
        return nn.functional.linear(x, weight, w.bias.get(role))

    def split(t):  # (B, T, heads * d_head) -> (B, heads, T, d_head)
        count = 1 if heads == "one" else c.heads if t.shape[2] == width else w.kv_heads
        if heads in ("split by view", "both by view"):
            t = t.reshape(len(x), count, c.tokens, -1)
        else:
            t = t.reshape(len(x), c.tokens, count, -1).transpose(1, 2)
        if heads == "first":
            return t[:, :1].expand(-1, c.heads, -1, -1)
        return t if heads == "one" else t.repeat_interleave(c.heads // count, dim=1)

    q, k, v = (split(project(role)) for role in roles)
    scores = q @ k.transpose(-2, -1) / divisor(c, q.shape[-1], scale)
    percents = weights_of(scores, mask_of(c, mask), mask, softmax)
    percents = percents.mean(1, keepdim=True) if heads == "mean" else percents
    percents = percents.transpose(-2, -1) if apply == "transposed" else percents
    y = percents @ v
    y = y if heads in ("merged by view", "both by view") else y.transpose(1, 2)
    y = y.reshape(len(x), c.tokens, -1)
    if "o" in w.weight and output != "none":
        w_o = w.weight["o"]
        if transposed != (output == "transposed"):
            if w_o.shape[0] != w_o.shape[1]:
                return None
            w_o = w_o.T
        y = nn.functional.linear(y, w_o, w.bias.get("o"))
    if y.shape != c.y.shape or (output == "x added" and y.shape != x.shape):
        return None
    return y + x if output == "x added" else y


def gives_y(c, w, *mistakes):
    """Do these mistakes reproduce y? Rows that their mask blocks everywhere are not compared: implementations differ
    there. At least half of the rows must be left."""
    changes = {mistake.part: mistake.choice for mistake in mistakes}
    mask = mask_of(c, changes.get("mask"))
    rows = torch.ones(c.tokens, dtype=torch.bool) if mask is None else ~mask.all(1)
    theirs = c.y[:, rows]
    if 2 * rows.sum() < c.tokens or not theirs.isfinite().all():
        return False
    for transposed in (False, True)[:1 + w.is_square]:
        ours = attend(c, w, transposed, **changes)
        if ours is not None and (ours[:, rows] - theirs).abs().max() <= 10 * c.rounding * theirs.abs().max():
            return True
    return False


def can_be_made(c, w, mistake):
    """Can the mistake be made here, and does it differ from the formula?"""
    part, choice = mistake.part, mistake.choice
    if part == "mask":
        return c.causal or (c.block_mask is not None and choice not in ("strict", "loose"))
    if part == "heads" or (part, choice) in (("scale", "heads"), ("softmax", "heads")):
        return c.heads > 1
    if part == "output":
        return "o" in w.weight or choice == "x added"
    if (part, choice) == ("scale", "model"):
        return w.head_dim != c.d_model
    return (part, choice) != ("softmax", "batch") or len(c.x) > 1


def explain(c, w, mistakes):
    """"with W_q and W_k exchanged; multiply q by the transposed k" """
    texts, remedies = [], []
    for mistake in mistakes:
        text, remedy = mistake.text, mistake.remedy
        if mistake.part == "scale":
            used = divisor(c, w.head_dim, mistake.choice)
            text += "" if mistake.choice == "none" else f" = {1 / used if used < 1 else used:.4g}"
            remedy = f"a head is {w.head_dim} wide, so divide by sqrt({w.head_dim}) = {math.sqrt(w.head_dim):.4g}"
        texts.append(text)
        remedies.append(remedy)
    return " and ".join(texts) + "; " + "; ".join(remedies)


def check_formula(c):
    if c.module is None or c.block or c.layers > 1 or c.extra_keys or c.positions:
        return skipped("no module=" if c.module is None else "needs a single layer of attention alone")
    w = find_weights(c.module, c.d_model, c.heads)
    if w is None:
        return skipped("no parameters called W_q, W_k, W_v or as in torch")
    if not w.one_head and gives_y(c, w):
        return Check("passed", "y is softmax(q k^T / sqrt(d_head)) v W_o^T")
    possible = [mistake for mistake in MISTAKES if can_be_made(c, w, mistake)]
    found = [(a,) for a in possible if gives_y(c, w, a)][:1 if w.one_head else 2]
    if not found:
        pairs = ((a, b) for i, a in enumerate(possible) for b in possible[i + 1:] if a.part != b.part)
        found = [pair for pair in pairs if gives_y(c, w, *pair)][:1]
    if not found:
        return Check("unknown", "y is not softmax(q k^T / sqrt(d_head)) v W_o^T, and no known mistake gives it")
    c.report.mistake = "y equals attention " + ". Or ".join(explain(c, w, mistakes) for mistakes in found)
    return Check("failed", "a known mistake gives the same y")


# ---- all checks ----

CHECKS = {
    "repeat": check_repeat, "batch": check_batch, "reach": check_reach, "values": check_values, "order": check_order,
    "equal": check_equal, "length": check_length, "padding": check_padding, "parameters": check_parameters,
    "cache": check_cache, "formula": check_formula, "derivative": check_derivative,
}


@contextlib.contextmanager
def borrowed(module, dtype):
    """Sets the module to eval and gives its tensors other memory, of this dtype; puts everything back afterwards.

    Parameters that are zero get values: what must hold must hold for any, and an output projection that starts at zero
    hides all mistakes."""
    attributes = [(d, dict(d)) for m in module.modules() for d in (vars(m), m._parameters, m._buffers)]
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
        for t, data, grad in tensors:
            t.grad = None
            t.data = data
            t.grad = grad


def check_options(c):
    if not callable(c.f):
        raise TypeError("attention_check: no function to check")
    if min(c.d_model, c.heads, c.layers, c.longest) < 1:
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


def attention_check(f, d_model, *, heads=1, causal=False, block_mask=None, positions=None, longest=TOKENS,
                    unbatched=False, layers=1, block=False, extra_keys=False, module=None, f32=False, padded=None,
                    step=None, derivative=False, seed=1, show=True):
    """Checks f: x (B, T, d_model) -> (B, T, any width), or a tuple that begins with it. Takes less than a second.

    f           an nn.Module, one of its methods, or a function; then `module` has its parameters
    heads       number of heads
    causal      token i sees tokens 0 to i
    block_mask  or: bool (T, T), T <= 8, true blocks; f applies the same one
    positions   None; "relative": outputs depend on distances (ALiBi, rotary); "absolute": on the index of a token
    longest     the most tokens that f accepts
    unbatched   x is (T, d_model)
    layers      layers of attention
    block       f is more than attention: a residual, norms, a feed-forward network
    extra_keys  bias_k, add_zero_attn, sinks: weights of the tokens sum to less than 1
    f32         do not cast the module to f64: f creates f32 tensors of its own (casts of x to f32 and back are fine)
    padded      f with a key_padding_mask, bool (B, T), true blocks: padded(x, key_padding_mask)
    step        f of one token, x (B, 1, d_model), with a cache that is cleared at position 0: step(x, position)
    derivative  compare gradients with difference quotients
    seed        of the inputs
    show        print the report
    """
    owner = f if isinstance(f, nn.Module) else getattr(f, "__self__", None)
    if module is None and isinstance(owner, nn.Module):
        module = owner
    c = Case(f=f, d_model=d_model, heads=heads, causal=causal, block_mask=block_mask, positions=positions,
             longest=longest, unbatched=unbatched, layers=layers, block=block, extra_keys=extra_keys, module=module,
             f32=f32, padded=padded, step=step, derivative=derivative, seed=seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.random.fork_rng())
        if c.module is not None:
            stack.enter_context(borrowed(c.module, c.dtype))
        try:
            c.begin()
            for name, check in CHECKS.items():
                repeat = c.report.checks.get("repeat")
                is_finite = c.y.isfinite().all()
                if repeat is None or repeat.verdict == "passed" or (name == "formula" and not is_finite):
                    c.report.checks[name] = check(c)
                else:
                    c.report.checks[name] = skipped("needs finite outputs without randomness")
        except RuntimeError as error:
            if c.dtype == torch.float64 and "dtype" in str(error):
                raise RuntimeError("attention_check: the module is cast to f64: f must create tensors with x.dtype, and "
                                   "all parameters must be registered; or set f32=True") from error
            raise
    if show:
        print(c.report)
    return c.report
