"""Optimisers, modules, generators and files: short scripts that run in both libraries, with random settings.

A script is a function of its settings `s` that calls Heed (`heed.call`), runs lines of Python (`py`), and yields pairs
that must agree: (name, Heed's array, PyTorch's, tolerance). The tolerance is in ulp of the array's largest element; 0
requires equal bits. Each setting has a list of values, the simplest first; shrinking moves settings towards these.
"""
import os
import random
import tempfile

import numpy
import torch

from bind import DTYPES, NUMPY, Parts
from compare import Failure

TORCH = {"f32": "torch.float32", "f64": "torch.float64", "i64": "torch.int64", "bool": "torch.bool"}


class Python:
    """Runs lines of Python and keeps them."""

    def __init__(self):
        self.lines, self.names = [], {}
        self("import numpy, torch, torch.nn as nn, torch.nn.functional as F")

    def __call__(self, line):
        self.lines.append(line)
        exec(line, self.names)

    def array(self, expression):
        value = eval(expression, self.names)
        return value.numpy(force=True).copy() if isinstance(value, torch.Tensor) else value


def both(heed, py, name, array):
    """A tensor in both libraries."""
    values = repr(array.reshape(-1).tolist()).replace("inf", "torch.inf").replace("nan", "torch.nan")
    dtype = TORCH[next(d for d in DTYPES if NUMPY[d] == array.dtype.type)]
    py(f"{name} = torch.tensor({values}, dtype={dtype}).reshape({array.shape})")
    return heed.tensor(array)


def normal(s, *shape):
    return numpy.asarray(s["random"].standard_normal(shape)).astype(NUMPY[s.get("dtype", "f32")])


# ---- optimisers ----

def optimisers(s, heed, py):
    tensors, list_of = [], lambda some: {"count": len(some), "tensors": some, "names": None}
    for i in range(s["tensors"]):
        shape = (s["size"],) * (i % 3)
        tensors.append(heed.call("set_requires_grad", both(heed, py, f"p{i}", normal(s, *shape)), True))
        py(f"p{i}.requires_grad_()")
    lr, decay, eps, beta = s["lr"], s["weight_decay"], s["eps"], s["beta"]
    everything = "[" + ", ".join(f"p{i}" for i in range(len(tensors))) + "]"
    if s["optimiser"] == "SGD":
        o = heed.call("sgd_new", list_of(tensors), lr)
        heed.set(o, "heed_optimizer", {"momentum": s["momentum"], "weight_decay": decay})
        py(f"o = torch.optim.SGD({everything}, lr={lr}, momentum={s['momentum']}, weight_decay={decay})")
    else:
        options = {"betas": [beta, 0.99], "eps": eps, "decay_matrices_only": s["matrices"]}
        if s["optimiser"] == "Adam":
            o = heed.call("adam_new", list_of(tensors), lr)
            heed.set(o, "heed_optimizer", {**options, "weight_decay": decay})
        else:
            o = heed.call("adamw_new", list_of(tensors), lr, decay, options)
        groups = f"[dict(params=[p]) | (dict(weight_decay=0) if {s['matrices']} and p.ndim < 2 else {{}}) for p in {everything}]"
        py(f"o = torch.optim.{s['optimiser']}({groups}, lr={lr}, betas=({beta}, 0.99), eps={eps}, weight_decay={decay})")
    for step in range(s["steps"]):
        for i, t in enumerate(tensors):
            if s["skip"] and i == step + 1:
                continue  # keeps its gradient, or has none
            gradient = normal(s, *heed.shape(t)) * NUMPY[s["dtype"]](s["gradient"])
            if s["optimiser"] == "Adam":  # Adam enlarges errors where weight_decay * p cancels the gradient
                gradient = numpy.copysign(gradient, heed.array(t))
            heed.call("set_grad", t, both(heed, py, "g", gradient))
            py(f"p{i}.grad = g.clone()")
        if s["clip"]:
            norm = heed.call("clip_grad_norm", list_of(tensors), 0.7)
            py(f"norm = nn.utils.clip_grad_norm_({everything}, 0.7)")
            yield "norm", numpy.asarray(norm).astype(py.array("norm").dtype), py.array("norm"), 16 + s["size"]
        heed.call("optimizer_step", o)
        py("o.step()")
        for i, t in enumerate(tensors):
            yield f"p{i} after step {step + 1}", heed.array(t), py.array(f"p{i}"), 8 * (step + 1), 1
        if s["new_lr"]:
            heed.set(o, "heed_optimizer", {"lr": lr / 2})
            py(f"for group in o.param_groups: group['lr'] = {lr / 2}")
    heed.call("optimizer_free", o)


# ---- generators ----

def generators(s, heed, py):
    heed.call("manual_seed", s["seed"])
    py(f"torch.manual_seed({s['seed']})")
    shape, dtype, n = tuple(s["shape"]), s["dtype"], max(1, s["size"])
    for draw in s["draws"]:
        ulp = 0
        if draw in ("rand", "randn"):
            t = heed.call(draw, shape, dtype)
            py(f"t = torch.{draw}({shape}, dtype={TORCH[dtype]})")
        elif draw == "randint":
            t = heed.call("randint", -3, s["high"], shape)
            py(f"t = torch.randint(-3, {s['high']}, {shape})")
        elif draw == "randperm":
            t = heed.call("randperm", n)
            py(f"t = torch.randperm({n})")
        elif draw == "multinomial":
            weights = numpy.abs(normal(s, 2, n + 1)) + NUMPY[dtype](0.01)
            t = heed.call("multinomial", both(heed, py, "p", weights), max(1, n // 2))
            py(f"t = torch.multinomial(p, {max(1, n // 2)})")
        elif draw == "dropout":
            x = both(heed, py, "x", numpy.ones(shape or (1,), NUMPY[dtype]))
            if s["transposed"]:
                x = heed.call("transpose", x, 0, -1)
                py("x = x.transpose(0, -1)")
            t = heed.call("dropout", x, s["p"], True)
            py(f"t = F.dropout(x, {s['p']}, True)")
            ulp = 1
        else:
            t = heed.call("zeros", shape, dtype)
            py(f"t = torch.zeros({shape}, dtype={TORCH[dtype]})")
            arguments = {"uniform_into": (-0.3, 1.7), "normal_into": (0.5, 2.0)}[draw]
            heed.call(draw, t, *arguments)
            py(f"t.{draw.replace('_into', '_')}({', '.join(map(str, arguments))})")
        yield draw, heed.array(t), py.array("t"), ulp


# ---- modules ----

SELF_ATTENTION = '''class SelfAttention(nn.Module):
    def __init__(self, d, row_dim, col_dim):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.row_dim, self.col_dim = row_dim, col_dim
    def forward(self, x, mask=None):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        sims = q @ k.transpose(self.row_dim, self.col_dim) / k.size(self.col_dim) ** 0.5
        if mask is not None:
            sims = sims.masked_fill(mask, float("-inf"))
        return torch.softmax(sims, self.col_dim) @ v'''


def modules(s, heed, py):
    heed.call("manual_seed", 7)
    py("torch.manual_seed(7)")
    e, n, t, heads = s["heads"] * s["head_size"], s["batch"], s["tokens"], s["heads"]
    ulp = 64 * (t * e) ** 0.5
    kind, bias = s["module"], not s["no_bias"]
    x_shape = (n, t, e) if s["batch_first"] or kind != "MultiheadAttention" else (t, n, e)
    mask = numpy.triu(numpy.ones((t, t), bool), 1) if s["causal"] else None
    padding = s["random"].random((n, t)) < 0.3 if s["padding"] else None
    if padding is not None:
        padding[:, 0] = False  # fully masked queries give zeros in Heed, and NaN or zeros in torch
    if kind == "Linear":
        m = heed.call("linear_new", e, s["wide"], {"no_bias": not bias})
        py(f"m = nn.Linear({e}, {s['wide']}, bias={bias})")
    elif kind == "Embedding":
        m = heed.call("embedding_new", s["wide"] + 1, e)
        py(f"m = nn.Embedding({s['wide'] + 1}, {e})")
    elif kind == "LayerNorm":
        m = heed.call("layer_norm_new", (t, e))
        py(f"m = nn.LayerNorm(({t}, {e}))")
    elif kind == "SelfAttention":
        m = heed.call("self_attention_new", e, 1, 2)
        py(SELF_ATTENTION)
        py(f"m = SelfAttention({e}, 1, 2)")
    else:
        m = heed.call("multihead_attention_new", e, heads, {"no_bias": not bias, "batch_first": s["batch_first"]})
        py(f"m = nn.MultiheadAttention({e}, {heads}, bias={bias}, batch_first={s['batch_first']})")
    if s["dtype"] == "f64":
        heed.call("module_to", m, "f64")
    held = heed.items(heed.call("state_dict", m))
    if s["dtype"] == "f64":
        py("m = m.double()")
    py("m.train()")
    names = py.array("[name for name, _ in m.named_parameters()]")
    parameters = {name: f"dict(m.named_parameters())['{name}']" for name in names}
    yield "names", sorted(held), sorted(parameters), 0
    for name, expression in parameters.items():
        yield name, heed.array(held[name]), py.array(expression), 0
    if kind == "Embedding":
        x = both(heed, py, "x", s["random"].integers(0, s["wide"] + 1, (n, t)))
    else:
        x = heed.call("set_requires_grad", both(heed, py, "x", normal(s, *x_shape)), True)
        py("x.requires_grad_()")
    h_mask = both(heed, py, "mask", mask) if mask is not None else None
    h_padding = both(heed, py, "padding", padding) if padding is not None else None
    py_mask, py_padding = "mask" if mask is not None else None, "padding" if padding is not None else None
    if kind == "SelfAttention":
        y = heed.call("self_attention_forward", m, x, h_mask)
        py(f"y = m(x, {py_mask})")
    elif kind == "MultiheadAttention":
        options = {"attn_mask": h_mask, "key_padding_mask": h_padding, "weights": Parts(1)}
        y, weights = heed.call("multihead_attention_forward", m, x, x, x, options)
        py(f"y, w = m(x, x, x, attn_mask={py_mask}, key_padding_mask={py_padding}, average_attn_weights=False)")
        yield "weights", heed.array(weights), py.array("w"), ulp
    else:
        y = heed.call("forward", m, x)
        py("y = m(x)")
    yield "y", heed.array(y), py.array("y"), ulp
    weights = both(heed, py, "weights", normal(s, *heed.shape(y)))
    heed.call("backward", heed.call("sum", heed.call("mul", y, weights)))
    py("(y * weights).sum().backward()")
    largest = max(1, *(abs(py.array(f"{p}.grad")).max() for p in parameters.values()))
    for name, expression in parameters.items():
        yield f"gradient of {name}", heed.grad(held[name]), py.array(f"{expression}.grad"), 16 * ulp, largest
    if kind != "Embedding":
        yield "gradient of x", heed.grad(x), py.array("x.grad"), 16 * ulp, largest
    heed.call("module_free", m)


# ---- files ----

def files(s, heed, py):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        dtype = s["dtype"]
        values = (s["random"].standard_normal(tuple(s["shape"])) * 5)
        array = numpy.asarray(values).astype(NUMPY[dtype])
        t = both(heed, py, "x", array)
        if s["transposed"] and array.ndim:
            t = heed.call("transpose", t, 0, -1)
            py("x = x.transpose(0, -1)")
        py("import safetensors.torch")
        names = [f"name {i} \u00e9" for i in range(s["count"])]
        heed.call("save_file", {"count": len(names), "tensors": [t] * len(names), "names": names}, path, None)
        py(f"y = safetensors.torch.load_file('{path}')")
        yield "names", names, py.array("sorted(y)"), 0
        for name in names:
            yield "read by torch", heed.array(t), py.array(f"y['{name}']"), 0
        py("x = x.clone().contiguous()")
        py(f"safetensors.torch.save_file({{'x': x}}, '{path}', metadata={{'key': 'value'}})")
        opened = heed.call("safetensors_open", path)
        yield "read by Heed", heed.array(heed.call("safetensors_tensor", opened, "x")), py.array("x"), 0
        heed.call("safetensors_close", opened)


# ---- the kinds and their settings, the simplest value first ----

SHAPES = [(1,), (2,), (), (0,), (3, 2), (2, 7), (4, 4), (15,), (16,), (17,), (3, 5, 2), (33,), (2, 0), (5, 64)]
DRAWS = ["rand", "randn", "randint", "randperm", "multinomial", "dropout", "uniform_into", "normal_into"]
NO_YES = [False, True]
SETTINGS = {
    "optimisers": {"dtype": ["f32", "f64"], "optimiser": ["SGD", "Adam", "AdamW"], "tensors": [1, 2, 4],
                 "size": [1, 2, 3, 8, 17, 64, 129], "lr": [0.1, 1e-3, 1.0], "weight_decay": [0.0, 0.01, 0.3],
                 "eps": [1e-8, 1e-3], "beta": [0.9, 0.5], "momentum": [0.0, 0.9, 0.5], "matrices": NO_YES,
                 "steps": [1, 2, 5], "gradient": [1.0, 1e-3, 100.0], "skip": NO_YES, "clip": NO_YES, "new_lr": NO_YES},
    "generators": {"dtype": ["f32", "f64"], "seed": [1, 0, 42, 2**32 + 5, 2**63 - 1], "shape": SHAPES, "size": [1, 2, 9, 40],
                 "high": [2, 10, 2**27, 2**29, 2**33], "p": [0.5, 0.1, 0.9], "transposed": NO_YES, "draws": DRAWS},
    "modules": {"module": ["Linear", "Embedding", "LayerNorm", "SelfAttention", "MultiheadAttention"],
              "dtype": ["f32", "f64"], "heads": [1, 2, 3], "head_size": [1, 2, 4, 8, 16], "batch": [1, 2, 3],
              "tokens": [1, 2, 5, 17, 33], "wide": [1, 4, 16, 33], "no_bias": NO_YES, "causal": NO_YES,
              "padding": NO_YES, "batch_first": NO_YES},
    "files": {"dtype": ["f32", "f64", "i64", "bool"], "shape": SHAPES, "transposed": NO_YES,
              "count": [1, 2, 0]},
}
KINDS = {"optimisers": optimisers, "generators": generators, "modules": modules, "files": files}


class Script:
    def __init__(self, kind, seed, settings):
        self.script, self.seed, self.settings = kind, seed, settings

    def names(self):
        if self.script == "files":
            return ["safetensors"]
        inner = {"optimisers": "optimiser", "modules": "module"}.get(self.script)
        return [self.settings[inner]] if inner else self.settings["draws"]

    def check(self, heed):
        """The first failure, or None. Keeps both programs."""
        settings = {**self.settings, "random": numpy.random.default_rng(self.seed)}
        py = Python()
        heed.begin()
        heed.trace = []
        try:
            for name, found, expected, ulp, *scale in KINDS[self.script](settings, heed, py):
                text = unlike(found, expected, ulp, *scale)
                if text:
                    return Difference(name, text)
        except Exception as error:  # none is expected, from either library
            return Difference("error", f"{type(error).__name__}: {error}")
        finally:
            self.texts = py.lines, heed.trace
            heed.end()

    def programs(self, heed):
        self.check(heed)
        return self.texts

    def simpler(self):
        for name, values in SETTINGS[self.script].items():
            value = self.settings[name]
            if name == "draws":
                simple = [value[:i] + value[i + 1:] for i in range(len(value) if len(value) > 1 else 0)]
            else:
                simple = values[:values.index(value)]
            for v in simple:
                yield Script(self.script, self.seed, {**self.settings, name: v})


class Difference(Failure):
    def __init__(self, what, text):
        super().__init__(what, None, text)

    def kind(self, script):
        return self.what.split(" ")[0]


def unlike(found, expected, ulp, scale=0.0):
    """Describes the difference, or None. Tolerance: `ulp` of the largest element, or of `scale` if that is larger."""
    if not isinstance(expected, numpy.ndarray):
        return None if found == expected else f"{found} instead of {expected}"
    if found is None or found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found if found is None else (found.dtype, found.shape)} instead of {(expected.dtype, expected.shape)}"
    equal = (found == expected) | (found != found) & (expected != expected)
    if ulp and expected.size:
        with numpy.errstate(all="ignore"):
            largest = max(scale, numpy.abs(expected[numpy.isfinite(expected)]).max(initial=0))
            equal |= numpy.abs(found - expected) <= ulp * numpy.finfo(expected.dtype).eps * largest
    if equal.all():
        return None
    place = tuple(int(i) for i in numpy.argwhere(~equal)[0])
    return f"{int((~equal).sum())} of {equal.size} differ; at {place}: {found[place]!r} instead of {expected[place]!r}"


def draw(seed, kind=None):
    rng = random.Random(f"script {seed}")
    kind = kind or rng.choice(list(KINDS))
    settings = {name: rng.choice(values) for name, values in SETTINGS[kind].items()}
    if kind == "generators":
        settings["draws"] = [rng.choice(DRAWS) for _ in range(rng.randint(1, 4))]
    return Script(kind, seed, settings)
