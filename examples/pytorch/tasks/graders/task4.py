"""Grades task 4: the class SelfAttention."""
import torch
from torch import nn

from graders.common import (NotBegun, attention_check, case, compare, equal, fail, matches, mistakes, returned, right,
                            say, show, unchanged, writes)

NAMES = ("SelfAttention",)
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward"}
WEIGHTS = ("W_q.weight", "W_k.weight", "W_v.weight")


def causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def names_of(x, weights, mask=None):
    """What the formulas read. x (..., T, d), weights by role."""
    T, d = x.shape[-2:]
    names = {f"W_{role}": weight.double() for role, weight in weights.items()}
    names.update(x=x.double(), mask=mask, T=T, d=d)
    return names if mask is not None else {**names, "unasked": causal_mask(T)}


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
        fail("no layer", missing, 0)
    for other in WEIGHTS if len(parameters) == 2 and torch.is_tensor(y) else ():
        weights = {name[2]: parameters.get(other if name == missing else name) for name in WEIGHTS}
        if None not in weights.values() and equal(y, right("forward", "y", **names_of(x, weights))):
            fail("one layer", missing, 2, other)
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
    fail("unknown layer", missing, len(parameters))


def check_parameters(module, d_model):
    if not isinstance(module, nn.Module):
        fail("The class should be an nn.Module: class SelfAttention(nn.Module).")
    parameters = dict(module.named_parameters())
    for name in WEIGHTS:
        if name not in parameters:
            explain_missing(module, d_model, name)
        returned(name, parameters[name], (d_model, d_model))
        if not parameters[name].any():
            fail("zero", name)
    for name in parameters:
        if "bias" in name:
            fail("bias", name)
    if len(parameters) > 3:
        fail("too many", len(parameters))


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
        if mask is None and "None" in str(error):
            error.advice = "The mask is None here: nothing is blocked."
        elif other_dims:
            error.advice = say("granted")
        raise
    if y is None:
        fail("The module has its parameters. forward "
             + ("returns None. Does a return lack?" if writes(module.forward) else "still returns None."))
    unchanged("x", x, x_before)
    if mask is not None:
        unchanged("mask", mask, mask_before)
    returned("y", y, x.shape)
    names = names_of(x, weights, mask)
    expected = right("forward", "y", **names).to(x.dtype)
    if matches("y", y, expected):
        return
    if x.numel() <= 12:
        show("x", x)
        for role, weight in weights.items():
            show(f"W_{role}.weight", weight)
    otherwise = "nan" if y.isnan().any() else "otherwise" if equal(y, module(x, mask)) else "random"
    compare("y", y, expected, mistakes("forward", "y", **names), say(otherwise))


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
    fail("ignored")


def check_attention(SelfAttention, row_dim, col_dim, causal):
    case(f"attention_check, d_model 6, dims {row_dim} and {col_dim}, {'causal' if causal else 'no mask'}")
    module = make(SelfAttention, 6, row_dim, col_dim, torch.float32)
    report = attention_check(lambda x: module(x, causal_mask(x.shape[-2]) if causal else None), 6, causal=causal,
                             unbatched=row_dim == 0, module=module, show=False)
    for result in report.checks.values():
        if result.verdict == "failed":
            fail("check", result.text)


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
