"""JAX's training steps, with the requests and answers of bench/serve.c.

Each step is a call of a function compiled by jax.jit. With BENCH_LOOP=1 all steps of a chunk are one call
of a compiled loop (fori_loop). Both update the state in place (donated buffers).
"""

import math
import os

from serve import GPTS, THREADS, TRAINED, answer_requests, check_losses

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


def adam(state, gradients, lr, decay, betas=(0.9, 0.999)):
    """Adam, or AdamW if decay is not 0; decay(p) is the weight decay of a parameter."""
    beta1, beta2 = betas
    count = state["count"] + 1
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state["v"], gradients)

    def update(p, m, v):
        step = m / (1 - beta1**count) / (jnp.sqrt(v / (1 - beta2**count)) + 1e-8)
        return p * (1 - lr * decay(p)) - lr * step

    parameters = jax.tree.map(update, state["parameters"], m, v)
    return {**state, "parameters": parameters, "m": m, "v": v, "count": count}


def clipped(gradients):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda g: g * jnp.minimum(1, 1 / (norm + 1e-6)), gradients)


def training(parameters, loss, update, clip=False, x=None):
    """The state and the step; loss(parameters), or loss(parameters, x) with the gradient of x."""
    state = {"parameters": parameters, "loss": jnp.float32(0), "count": jnp.float32(0)}
    for moment in "mv":
        state[moment] = jax.tree.map(jnp.zeros_like, parameters)
    if x is not None:
        state["x"], state["x_gradient"] = x, jnp.zeros_like(x)

    def step(state):
        if x is None:
            value, gradients = jax.value_and_grad(loss)(state["parameters"])
        else:
            both = jax.value_and_grad(loss, (0, 1))(state["parameters"], state["x"])
            value, (gradients, state["x_gradient"]) = both
        return {**update(state, clipped(gradients) if clip else gradients), "loss": value}

    return state, step


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


def toy():
    position, ids, targets = jnp.arange(5.0), jnp.arange(5), jnp.array([1, 2, 3, 4, 0])
    encoding = jnp.stack((jnp.sin(position), jnp.cos(position)), 1)
    parameters = {name: jax.random.normal(next(keys), (2, 2)) for name in "qkv"}
    parameters |= {"embedding": jax.random.normal(next(keys), (5, 2)), "fc": linear(2, 5)}

    def loss(p):
        x = p["embedding"][ids] + encoding
        scores = (x @ p["q"]) @ (x @ p["k"]).T / math.sqrt(2)
        return cross_entropy(apply(p["fc"], causal_softmax(scores) @ (x @ p["v"]) + x), targets)

    return parameters, loss


def head():
    x = jax.random.normal(next(keys), (4, 8, 32))
    parameters = {name: 10 * normal(32, 16) for name in "qkv"}

    def loss(p):
        scores = (x @ p["q"]) @ (x @ p["k"]).swapaxes(-1, -2) * 16**-0.5
        return jnp.square(causal_softmax(scores) @ (x @ p["v"])).mean()

    return parameters, loss


def mlp():
    x, targets = jax.random.uniform(next(keys), (64, 784)), random_ids(10, 64)
    parameters = {"fc": linear(784, 64), "out": linear(64, 10)}

    def loss(p):
        return cross_entropy(apply(p["out"], jax.nn.relu(apply(p["fc"], x))), targets)

    return parameters, loss


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
    return training(*model, lambda state, gradients: sgd(state, gradients, 1e-3))


def with_adam(model, decay=0.0):
    return training(*model, lambda state, gradients: adam(state, gradients, 1e-3, lambda p: decay))


def multi_head():
    def loss(p, x):
        return jnp.square(attend(p, x, 4)).mean()

    x = jax.random.normal(next(keys), (16, 64, 128))
    return training(attention_layers(128), loss, lambda s, g: adam(s, g, 1e-4, lambda p: 0.01), x=x)


def gpt_train():
    def update(state, gradients):
        return adam(state, gradients, 1e-3, lambda p: 0.1 if p.ndim > 1 else 0, (0.9, 0.99))

    return training(*gpt("gpt.readme"), update, clip=True)


WORKLOADS = {
    "w1.adam": lambda: with_adam(toy()),
    "w1.sgd": lambda: with_sgd(toy()),
    "w2.sgd": lambda: with_sgd(head()),
    "mlp.sgd": lambda: with_sgd(mlp()),
    "mlp.adam": lambda: with_adam(mlp()),
    "w3": multi_head,
    **{name: lambda name=name: with_adam(gpt(name), 0.01) for name in GPTS},
    "gpt.readme": gpt_train,
}


def prepare(name):
    if name not in WORKLOADS:
        return None
    state, step = WORKLOADS[name]()
    step = jax.jit(step, donate_argnums=0)
    losses = []
    for _ in range(TRAINED + 1):
        state = step(state)
        losses.append(float(state["loss"]))
    check_losses(losses)
    loop = jax.jit(lambda n, s: lax.fori_loop(0, n, lambda _, s: step(s), s), donate_argnums=1)

    def run(calls):
        nonlocal state
        if LOOP:
            state = loop(calls, state)
        for _ in range(0 if LOOP else calls):
            state = step(state)
        jax.block_until_ready(state)

    return "", run


answer_requests(prepare)
