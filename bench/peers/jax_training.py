"""JAX's training steps, with the requests and answers of bench/serve.c.

Each step is a call of a function compiled by jax.jit. With BENCH_LOOP=1 all steps of a chunk are one call
of a compiled loop (fori_loop). Both update the state in place (donated buffers).
"""

import math
import os

from serve import GPTS, THREADS, TRAINED, answer_requests, check_first, check_losses, toys_of

# XLA starts a thread for each processor that it may use, and has no setting for their number.
if hasattr(os, "sched_setaffinity"):  # Linux
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

keys = iter(jax.random.split(jax.random.PRNGKey(0), 1 << 14))
LOOP = os.environ.get("BENCH_LOOP") == "1"

# ---- steps: a state is a dict of parameters, loss and the optimiser's state ----


def sgd(state, gradients, lr):
    parameters = jax.tree.map(lambda p, g: p - lr * g, state["parameters"], gradients)
    return {**state, "parameters": parameters}


def adam(state, gradients, lr, decay):
    """Adam, or AdamW if decay is not 0; decay(p) is the weight decay of a parameter."""
    beta1, beta2 = 0.9, 0.999
    count = state["count"] + 1
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state["v"], gradients)

    def update(p, m, v):
        step = m / (1 - beta1**count) / (jnp.sqrt(v / (1 - beta2**count)) + 1e-8)
        return p * (1 - lr * decay(p)) - lr * step

    parameters = jax.tree.map(update, state["parameters"], m, v)
    return {**state, "parameters": parameters, "m": m, "v": v, "count": count}


def training(parameters, loss, update, first=None):
    """The state, the step and the loss before it, if known."""
    state = {"parameters": parameters, "loss": jnp.float32(0), "count": jnp.float32(0)}
    for moment in "mv":
        state[moment] = jax.tree.map(jnp.zeros_like, parameters)

    def step(state):
        value, gradients = jax.value_and_grad(loss)(state["parameters"])
        return {**update(state, gradients), "loss": value}

    return state, step, first


# ---- models ----


def normal(*shape):
    return 0.02 * jax.random.normal(next(keys), shape)


def linear(inputs, outputs):
    return {"weight": normal(inputs, outputs), "bias": jnp.zeros(outputs)}


def apply(layer, x):
    return x @ layer["weight"] + layer["bias"]


def random_ids(count, *shape):
    return jax.random.randint(next(keys), shape, 0, count)


def cross_entropy(logits, targets):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


def causal_softmax(scores):
    length = scores.shape[-1]
    return jax.nn.softmax(jnp.where(jnp.tri(length, dtype=bool), scores, -jnp.inf), -1)


def small_softmax(scores):
    """causal_softmax; for small models faster than jax.nn.softmax."""
    scores = jnp.where(jnp.tri(scores.shape[-1], dtype=bool), scores, -jnp.inf)
    exps = jnp.exp(scores - lax.stop_gradient(scores.max(-1, keepdims=True)))
    return exps / exps.sum(-1, keepdims=True)


def toy_loss(p, ids, targets):
    position = jnp.arange(5.0)
    x = p["we.weight"][ids] + jnp.stack((jnp.sin(position), jnp.cos(position)), 1)
    q, k, v = (x @ p[f"attention.W_{part}.weight"] for part in "qkv")
    y = small_softmax(q @ k.T / math.sqrt(2)) @ v + x
    return cross_entropy(y @ p["fc.weight"] + p["fc.bias"], targets)


def small_loss(heads):
    """The loss of a model of build/toys: attention only. Targets below 0 are not scored."""

    def norm(p, name, x):
        return layer_norm({part: p[f"{name}.{part}"] for part in ("weight", "bias")}, x)

    def loss(p, ids, targets):
        rows, tokens = ids.shape
        x = p["wte.weight"][ids] + p["wpe.weight"]
        for i in range(sum(name.endswith("qkv.weight") for name in p)):
            parts = jnp.split(norm(p, f"blocks.{i}.norm_1", x) @ p[f"blocks.{i}.qkv.weight"], 3, -1)
            q, k, v = (part.reshape(rows, tokens, heads, -1).swapaxes(1, 2) for part in parts)
            y = small_softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) @ v
            x = x + y.swapaxes(1, 2).reshape(x.shape) @ p[f"blocks.{i}.W_o.weight"]
        logits = norm(p, "norm", x[:, -targets.shape[1] :]) @ p["unembed.weight"]
        right = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.maximum(targets, 0)[..., None], -1)[..., 0]
        return -jnp.sum(jnp.where(targets >= 0, right, 0)) / jnp.sum(targets >= 0)

    return loss


def toys_model(name):
    """All seeds' parameters, inputs and targets, and the loss of one. Weights of Linear are (in, out) here."""
    toys = toys_of(name)
    parameters = {}
    for key, array in toys.parameters.items():
        table = key in ("we.weight", "wte.weight", "wpe.weight") or array.ndim < 3
        parameters[key] = jnp.array(array if table else array.swapaxes(1, 2))
    loss = toy_loss if "we.weight" in parameters else small_loss(toys.heads)
    return toys, parameters, jnp.array(toys.inputs), jnp.array(toys.targets), loss


def one_of(tree, seed):
    return jax.tree.map(lambda array: array[seed], tree)


def one_toy(name):
    toys, parameters, ids, targets, loss = toys_model(name)
    ids, targets = ids[0], targets[0]
    return one_of(parameters, 0), lambda p: loss(p, ids, targets), toys.losses[0]


def attention_layers(width):
    return {"qkv": linear(width, 3 * width), "proj": linear(width, width)}


def attend(p, x, heads):
    b, t, c = x.shape
    q, k, v = (
        part.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3)
        for part in jnp.split(apply(p["qkv"], x), 3, -1)
    )
    scores = q @ k.swapaxes(-1, -2) * (c // heads) ** -0.5
    return apply(p["proj"], (causal_softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, t, c))


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["weight"] + p["bias"]


def norm_layer(width):
    return {"weight": jnp.ones(width), "bias": jnp.zeros(width)}


def block_layers(width):
    layers = {"ln_1": norm_layer(width), "ln_2": norm_layer(width), "attn": attention_layers(width)}
    return layers | {"fc": linear(width, 4 * width), "proj": linear(4 * width, width)}


def gpt(name):
    size, untied = GPTS[name], name == "w4.untied"
    ids, targets = random_ids(size.vocabulary, 2, size.batch, size.context)
    parameters = {
        "wte": normal(size.vocabulary, size.width),
        "wpe": normal(size.context, size.width),
        "blocks": [block_layers(size.width) for _ in range(size.layers)],
        "ln_f": norm_layer(size.width),
    }
    if untied:
        parameters["head"] = normal(size.vocabulary, size.width)

    def loss(p):
        x = p["wte"][ids] + p["wpe"]
        for block in p["blocks"]:
            x = x + attend(block["attn"], layer_norm(block["ln_1"], x), size.heads)
            hidden = apply(block["fc"], layer_norm(block["ln_2"], x))
            x = x + apply(block["proj"], jax.nn.gelu(hidden, approximate=not untied))
        return cross_entropy(layer_norm(p["ln_f"], x) @ p["head" if untied else "wte"].T, targets)

    return parameters, loss


# ---- workloads ----


def with_sgd(model):
    return training(*model[:2], lambda state, gradients: sgd(state, gradients, 1e-3), first=(*model, None)[2])


def with_adam(model, decay=0.0):
    update = lambda state, gradients: adam(state, gradients, 1e-3, lambda p: decay)  # noqa: E731
    return training(*model[:2], update, first=(*model, None)[2])


WORKLOADS = {
    "w1.adam": lambda: with_adam(one_toy("w1.adam")),
    "w1.sgd": lambda: with_sgd(one_toy("w1.sgd")),
    **{name: lambda name=name: with_adam(gpt(name), 0.01) for name in GPTS if name != "gpt.readme"},
}


def runner(state, step, first, steps=1):
    """run(calls): calls * steps steps."""
    step = jax.jit(step, donate_argnums=0)
    losses = []
    for _ in range(TRAINED + 1):
        state = step(state)
        losses.append(float(state["loss"]))
    check_losses(losses)
    if first is not None:
        check_first(losses[0], first)
    loop = jax.jit(lambda n, s: lax.fori_loop(0, n, lambda _, s: step(s), s), donate_argnums=1)

    def run(calls):
        nonlocal state
        if LOOP:
            state = loop(calls * steps, state)
        for _ in range(0 if LOOP else calls * steps):
            state = step(state)
        jax.block_until_ready(state)

    return run


def seeds(name):
    """All seeds in one step, with vmap."""
    toys, parameters, ids, targets, loss = toys_model(name)

    def losses(p):
        return jax.vmap(loss)(p, ids, targets).sum()

    run = runner(*with_adam((parameters, losses, toys.losses.sum())), toys.steps)
    return "", run, len(toys.losses) * toys.steps


def prepare(name):
    if name.startswith("seeds."):
        return seeds(name)
    if name.startswith("toys."):
        return "", runner(*with_adam(one_toy(name)))
    return ("", runner(*WORKLOADS[name]())) if name in WORKLOADS else None


answer_requests(prepare)
