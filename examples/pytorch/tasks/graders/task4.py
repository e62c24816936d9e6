"""Grades task 4: the class SelfAttention."""
import math

import torch
from torch import nn

from graders.common import (NotBegun, attention_check, case, compare, equal, fail, matches, returned, show, unchanged,
                            writes)

TITLE = "the tutorial's class SelfAttention"
HINTS = (
    "An attribute that is a layer is registered, and nn.Linear has an option bias=False. The forward follows the "
    "tutorial: q, k, v; sims; scaled_sims; the mask; attention_percent; their product with v.",
    "No dim is written as a number: tokens are in self.row_dim, features in self.col_dim; of the scores, row_dim has the "
    "queries and col_dim the keys. A score of -inf becomes a weight of 0.",
)
QUESTIONS = (
    "Why are there three matrices? What could the class no longer learn if W_k were W_q?",
    "The class works with its layers in a plain list, too. When would you notice, and how?",
)
NAMES = ("SelfAttention",)
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward"}
WEIGHTS = ("W_q.weight", "W_k.weight", "W_v.weight")


# ---- the formula, and what known mistakes compute ----

MISTAKES = {
    "too high": "Blocked keys get all the weight here: the scores of the other keys, below -14000, are lower than the number that "
                "you block with. It should be below all scores.",
    "no mask": "The mask has no effect: blocked keys get weights, too. A model that writes text would see the words that "
               "it has to predict.",
    "inverted": "You block what the mask allows, and allow what it blocks: here, true blocks. (A row of NaN has no "
                "allowed key left.)",
    "inverted, finite": "You block what the mask allows, and allow what it blocks: here, true blocks.",
    "after": "Blocked weights become 0 after the softmax. They have taken their share by then: the weights that are left "
             "sum to less than 1.",
    "zero scores": "Blocked keys get the score 0. That is a score like any other: exp(0) is 1, and the key gets a weight.",
    "plus infinity": "Blocked keys get the score +INFINITY, and inf - inf, in the softmax, is NaN. The weight of -INFINITY is 0.",
    "added": "The mask is added as 0 and 1. A blocked key's score then grows by 1, and nothing is blocked.",
    "not scaled": "Your scores are not scaled. A score is a sum of d products, so it grows with d; the softmax of large "
                  "scores is nearly one-hot, and its gradient nearly 0.",
    "by root 2": "Your scores are divided by the root of 2 in each case. It was the root of d before; here d is another number.",
    "by tokens": "Your scores are divided by the root of the number of tokens, so the same words get other weights in a "
                 "longer sentence. Over what does a score sum?",
    "by width": "Your scores are divided by d, not by its root: the variance of a sum of d products grows with d, so its "
                "size grows with the root.",
    "multiplied": "Your scores are multiplied by the root of d. They should become smaller.",
    "over queries": "Your softmax runs along row_dim, the queries: the weights of a key sum to 1, those of a query do "
                    "not. A row of y should be a mean of the values.",
    "no softmax": "There is no softmax: your scores are used as weights. They can be negative, and their sum is not 1.",
    "qkk": "Your values are computed by W_k, and W_v has no effect: what a word is found by would be what it passes on.",
    "qkx": "The encodings themselves are your values: W_v has no effect.",
    "vkq": "Queries and values are exchanged: y is a mean of what the words look for.",
    "qvk": "Keys and values are exchanged: y is a mean of what the words are found by.",
    "kqv": "Your scores are transposed: row i belongs to key i. (Or W_q and W_k are exchanged.) A row should have the "
           "scores of one query with all keys.",
    "qqv": "Your keys are computed by W_q, and W_k has no effect: *it* would find *pizza* just as *pizza* finds *it*.",
    "residual": "You add x. That is done around attention, in a block; the class returns what attention finds.",
    "causal": "You block later tokens, though the mask is None. What is blocked says the mask alone.",
    "exchanged": "row_dim and col_dim are exchanged: your softmax runs along row_dim, and row_dim gives the d of the root.",
    "q alone": "y is q so far: no token has looked at another one.",
    "v alone": "y is v so far: no token has looked at another one.",
    "by 2 d": "You divide by d, and then by 2: that is what / d ** 1 / 2 does, because ** comes before /. The root is "
              "d ** (1 / 2).",
    "x W": "You multiply by the weights themselves, x W. A Linear multiplies by their transpose: its weight has the "
           "shape (out, in).",
}
OF_MASKS = [*MISTAKES][:8]


def causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def mask_scores(scores, mask, form):
    if form in ("inverted", "inverted, finite"):
        return scores.masked_fill(~mask, -math.inf if form == "inverted" else -1e9)
    if form == "added":
        return scores + mask.double()
    if form in ("no mask", "after"):
        return scores
    number = {"zero scores": 0, "no softmax": 0, "plus infinity": math.inf, "too high": 1e9}
    return scores.masked_fill(mask, number.get(form, -math.inf))


def attend(x, weights, mask, form="right"):
    """x (..., T, d), f64; weights (d, d) by role. None if the form cannot be computed."""
    if (mask is None and form in OF_MASKS) or (mask is not None and form == "causal"):
        return None
    computed = {role: x @ (w if form == "x W" else w.T) for role, w in weights.items()}
    computed["x"] = x
    q, k, v = (computed[role] for role in (form if set(form) <= set("qkvx") else "qkv"))
    if form in ("q alone", "v alone"):
        return computed[form[0]]
    T, d = x.shape[-2:]
    divisor = {"not scaled": 1, "by root 2": math.sqrt(2), "by tokens": math.sqrt(T), "by width": d, "multiplied": 1 / math.sqrt(d),
               "by 2 d": 2 * d, "exchanged": math.sqrt(T)}
    percents = q @ k.transpose(-2, -1) / divisor.get(form, math.sqrt(d))
    if mask is not None:
        percents = mask_scores(percents, mask, form)
    if form == "causal":
        percents = percents.masked_fill(causal_mask(T), -math.inf)
    if form != "no softmax":
        percents = torch.softmax(percents, {"over queries": -2, "exchanged": -2}.get(form, -1))
    if form == "after":
        percents = percents.masked_fill(mask, 0)
    y = percents @ v
    return x + y if form == "residual" else y


# ---- the module ----


def explain_missing(module, d_model, missing):
    """A layer is not registered. The forward tells why: it fails if there is none."""
    parameters = dict(module.named_parameters())
    begin = f"The module has no parameter {missing} (it has {len(parameters)} in all)."
    x = torch.randn(3, d_model) * 0.5
    try:
        y = module(x, None)
    except Exception:
        y = None
    if not parameters and y is None:
        fail(f"{begin} The constructor's gap is still empty: it makes no layer.")
    for other in WEIGHTS if len(parameters) == 2 and torch.is_tensor(y) else ():
        weights = {name[2]: parameters.get(other if name == missing else name) for name in WEIGHTS}
        if None not in weights.values() and equal(y, attend(x.double(), {role: w.double() for role, w in weights.items()}, None)):
            fail(f"{begin} Your code uses the layer of {other} in its place, so both will always be the same. Each of the three "
                 "needs a layer of its own.")
    name = missing[:3]
    other = next((w[:3] for w in WEIGHTS if w != missing and getattr(module, name, None) is getattr(module, w[:3], module)), None)
    if other:
        fail(f"{begin} {name} and {other} are one layer. Each of the three needs a layer of its own.")
    if name in parameters:
        fail(f"{begin} Your {name} is a Parameter; it should be a layer, nn.Linear, whose weight is {missing}.")
    if not {*parameters} <= {*WEIGHTS}:
        fail(f"{begin} Its parameters are {', '.join(parameters)}: three layers W_q, W_k and W_v are asked for.")
    if not parameters and not equal(y, module(x, None)):
        fail(f"{begin} Your forward makes layers: in each call new ones, of other random numbers, which nobody trains. They "
             "belong into __init__.")
    if y is None and not hasattr(module, name):
        fail(f"{begin} There is no self.{name}. What is assigned without self. is forgotten at the end of __init__.")
    fail(f"{begin} A layer in a plain list or dict can be used, but no optimiser trains it, no file saves it, and no cast "
         "reaches it.")


def check_parameters(module, d_model):
    if not isinstance(module, nn.Module):
        fail("The class should be an nn.Module: class SelfAttention(nn.Module).")
    parameters = dict(module.named_parameters())
    for name in WEIGHTS:
        if name not in parameters:
            explain_missing(module, d_model, name)
        returned(name, parameters[name], (d_model, d_model))
        if not parameters[name].any():
            fail(f"{name} is 0 everywhere. With W_q and W_k at 0, neither ever gets a gradient: the gradient of each is a "
                 "multiple of the other. A new layer begins with random numbers.")
    for name in parameters:
        if "bias" in name:
            fail(f"The module has a parameter {name}. The tutorial's layers have no bias: its weights would not fit this "
                 "class. (A bias of the keys would not even have an effect: it adds the same number to all scores of a "
                 "row.)")
    if len(parameters) > 3:
        fail(f"The module has {len(parameters)} parameters. The class has three: W_q.weight, W_k.weight and W_v.weight.")


def make(SelfAttention, d_model, row_dim, col_dim, dtype=torch.float64):
    module = SelfAttention(d_model, row_dim, col_dim)
    check_parameters(module, d_model)
    return module.to(dtype)


# ---- numbers ----


def check(module, x, mask, other_dims):
    """Runs the learner's forward and compares y."""
    weights = {name[2]: module.get_parameter(name).detach().double() for name in WEIGHTS}
    x_before, mask_before = x.clone(), mask if mask is None else mask.clone()
    try:
        y = module(x, mask)
    except Exception as error:
        if other_dims:
            error.advice = "With row_dim 0 and col_dim 1, it works. Which dim does your code take for granted?"
        raise
    if y is None:
        fail("The module has its parameters. forward "
             + ("returns None. Does a return lack?" if writes(module.forward) else "still returns None."))
    unchanged("x", x, x_before)
    if mask is not None:
        unchanged("mask", mask, mask_before)
    returned("y", y, x.shape)
    right = attend(x.double(), weights, mask).to(x.dtype)
    if matches("y", y, right):
        return
    if x.numel() <= 12:
        show("x", x)
        for role, weight in weights.items():
            show(f"W_{role}.weight", weight)
    compare("y", y, right, [(attend(x.double(), weights, mask, form), why) for form, why in MISTAKES.items()],
            "y has NaN: 0 times inf is NaN (a mask of 0 and 1 multiplied by -inf), and so are inf - inf, and 0 / 0 if each exp of a "
            "row is 0, as exp(-9000) is." if y.isnan().any() else
            "Two calls with the same x give different results. Is something random in your forward, as dropout is?"
            if not equal(y, module(x, mask)) else
            "This is none of the mistakes that the grader knows. Compute one row by hand, and compare q, k, v and the "
            "scores (print shows a tensor).")


def check_given(SelfAttention):
    encodings = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]).double()
    weights = ([[0.5, -0.25], [0.75, 1]], [[1, 0.5], [-0.5, 0.25]], [[2, 1], [0, -1]])
    for row_dim, col_dim, batch, causal in ((0, 1, False, False), (0, 1, False, True), (1, 2, True, False),
                                            (1, 2, True, True), (-2, -1, False, True), (-2, -1, True, False)):
        case(f"SelfAttention(2, {row_dim}, {col_dim}), x {'(2, 3, 2)' if batch else '(3, 2)'}, "
             f"{'a causal' if causal else 'no'} mask")
        module = make(SelfAttention, 2, row_dim, col_dim)
        with torch.no_grad():
            for name, weight in zip(WEIGHTS, weights):
                module.get_parameter(name).copy_(torch.tensor(weight))
        x = torch.stack([encodings, -encodings]) if batch else encodings
        check(module, x, causal_mask(3) if causal else None, row_dim != 0)


def check_random(SelfAttention):
    torch.manual_seed(4)
    for i in range(24):
        T, d, B, dims = 1 + i % 7, 1 + (i * 3 + 2) % 5, 1 + i % 3, 2 + i % 3
        kind = ("no mask", "causal", "a mask of padding")[i // 2 % 3]
        dtype = torch.float32 if i % 4 == 3 else torch.float64
        negative = dims == 4 or i % 2 == 0
        row_dim, col_dim = (-2, -1) if negative else (dims - 2, dims - 1)
        case(f"{'f32' if dtype == torch.float32 else 'f64'}, d_model {d}, x of {dims} dims, {T} tokens, dims {row_dim} and "
             f"{col_dim}, {kind}")
        module = make(SelfAttention, d, row_dim, col_dim, dtype)
        x = torch.randn((2, B, T, d)[4 - dims:], dtype=torch.float64).to(dtype)
        # (1, T) or, for a batch, (B, 1, T): the last tokens are padding, in each sentence others
        lengths = torch.tensor([T, 1, 1 + T // 2])[:B, None, None] if dims > 2 else torch.tensor([[1 + T // 2]])
        padding = torch.arange(T) >= lengths
        check(module, x, {"no mask": None, "causal": causal_mask(T)}.get(kind, padding), row_dim != 0)


def check_low(SelfAttention):
    """Scores below -14000: a number that is low enough for other scores is not for these."""
    case("scores below -14000, a causal mask")
    module = make(SelfAttention, 2, -2, -1)
    with torch.no_grad():
        for name in WEIGHTS:
            module.get_parameter(name).copy_(torch.eye(2) * (-1e4 if name == "W_q.weight" else 1))
    check(module, torch.tensor([[1, 2], [3, 1], [1, 1]]).double(), causal_mask(3), True)


# ---- dims, gradients ----


def check_dims(SelfAttention):
    """A module whose dims x does not have."""
    case("SelfAttention(4, 1, 2), x (3, 4), which has no dim 2")
    module = make(SelfAttention, 4, 1, 2)
    try:
        module(torch.randn(3, 4, dtype=torch.float64), None)
    except Exception:
        return
    fail("Your code returns a result, so it does not use row_dim and col_dim. A module that is told dims and takes others "
         "is silently wrong for somebody.")


def check_attention(SelfAttention, row_dim, col_dim, causal):
    case(f"attention_check, d_model 6, dims {row_dim} and {col_dim}, {'causal' if causal else 'no mask'}")
    module = make(SelfAttention, 6, row_dim, col_dim, torch.float32)
    report = attention_check(lambda x: module(x, causal_mask(x.shape[-2]) if causal else None), 6, causal=causal,
                             unbatched=row_dim == 0, module=module, show=False)
    for result in report.checks.values():
        if result.verdict == "failed":
            fail(f"The numbers of y are right. What the model learns from is not: {result.text}.")


def is_empty(SelfAttention):
    """Neither gap is filled."""
    module = SelfAttention(2, 0, 1)
    try:
        return not [*module.parameters()] and module(torch.ones(1, 2), None) is None
    except Exception:
        return False


def grade(SelfAttention):
    case("SelfAttention(2, 0, 1), x (1, 2)")
    if is_empty(SelfAttention):
        raise NotBegun
    check_given(SelfAttention)
    check_random(SelfAttention)
    check_low(SelfAttention)
    check_dims(SelfAttention)
    for causal in (False, True):
        for row_dim, col_dim in ((0, 1), (1, 2), (-2, -1)):
            check_attention(SelfAttention, row_dim, col_dim, causal)
