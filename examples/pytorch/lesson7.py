"""Lesson 7 in Python: everything from scratch, with numpy alone. It prints what build/lesson7_from_scratch prints.

    python examples/pytorch/lesson7.py

A tensor, a tape, seven operations with their derivatives, self-attention and Adam; the model built from them learns what
*it* is. Read it from top to bottom. Each operation computes its result and leaves a function on the tape that adds to the
gradients of its inputs.
"""
import sys

import numpy as np

# ---- a tensor, and the tape ----

tape = []  # the functions of all operations so far, in order


class Tensor:
    def __init__(self, value):
        self.value, self.grad = value, np.zeros_like(value)  # grad: d loss / d value


def record(y, backward):
    tape.append(lambda: backward(y.grad))
    return y


def backward(loss):
    loss.grad[...] = 1
    while tape:
        tape.pop()()  # walked backwards, a gradient is complete before it is passed on


# ---- the operations. Gradients add, because a tensor may be used twice ----

def matmul(a, b):
    def backward(dy):
        a.grad += dy @ b.value.T
        b.grad += a.value.T @ dy
    return record(Tensor(a.value @ b.value), backward)


def transpose(a):
    def backward(dy):
        a.grad += dy.T
    return record(Tensor(a.value.T.copy()), backward)


def scale(a, factor):
    def backward(dy):
        a.grad += factor * dy
    return record(Tensor(factor * a.value), backward)


def mask(a):
    """-inf above the diagonal, where word j follows word i."""
    def backward(dy):
        a.grad += np.tril(dy)
    return record(Tensor(np.where(np.tri(len(a.value)) > 0, a.value, -np.inf)), backward)


def shares(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(a):
    y = Tensor(shares(a.value))

    def backward(dy):
        a.grad += y.value * (dy - (y.value * dy).sum(axis=1, keepdims=True))
    return record(y, backward)


def embedding(a, ids):
    def backward(dy):
        np.add.at(a.grad, ids, dy)
    return record(Tensor(a.value[ids]), backward)


def cross_entropy(a, ids):
    """The mean over the rows of -log(p[i, ids[i]]), p = softmax(a)."""
    p, rows = shares(a.value), np.arange(len(ids))

    def backward(dy):
        right = np.zeros_like(p)
        right[rows, ids] = 1
        a.grad += dy * (p - right) / len(ids)
    return record(Tensor(-np.log(p[rows, ids]).mean(keepdims=True)), backward)


# ---- the sentences of lesson 3 ----

FOODS = "pizza bread cake pie cookie potato".split()
VERBS = "tasted smelled looked cooled crumbled steamed".split()  # one for each food
PLACES = "oven kitchen box".split()
VOCABULARY = FOODS + VERBS + PLACES + "the came out of and it".split()


def sentences():
    """(words up to *it*, index of the food, verb to predict, is it for training?) of all 36."""
    for i, place in enumerate(PLACES):
        for j, (food, verb) in enumerate(zip(FOODS, VERBS)):
            for text in (f"the {food} came out of the {place} and it", f"out of the {place} came the {food} and it"):
                yield text.split(), text.split().index(food), verb, (i + j) % len(PLACES) != 0


def ids_of(words):
    return [VOCABULARY.index(word) for word in words]


# ---- the model: which word follows *it*? ----

D_MODEL, WORDS = 32, len(VOCABULARY)


def numbers(seed):
    """Uniform in [-1, 1), drawn with the linear congruential generator of Knuth's MMIX."""
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (seed >> 11) * 2.0**-52 - 1


def parameter(rows, cols, limit, draw):
    return Tensor(limit * np.array([[next(draw) for _ in range(cols)] for _ in range(rows)]))


class Model:
    def __init__(self, seed):
        draw, limit = numbers(seed), 1 / np.sqrt(D_MODEL)  # as in torch.nn.Linear
        self.we = parameter(WORDS, D_MODEL, 0.2, draw)
        self.W_q = parameter(D_MODEL, D_MODEL, limit, draw)
        self.W_k = parameter(D_MODEL, D_MODEL, limit, draw)
        self.W_v = parameter(D_MODEL, D_MODEL, limit, draw)
        self.fc = parameter(WORDS, D_MODEL, limit, draw)
        self.parameters = [self.we, self.W_q, self.W_k, self.W_v, self.fc]

    def self_attention(self, x):
        q, k, v = linear(x, self.W_q), linear(x, self.W_k), linear(x, self.W_v)
        scaled_sims = scale(matmul(q, transpose(k)), 1 / np.sqrt(D_MODEL))
        attention_percent = softmax(mask(scaled_sims))
        return matmul(attention_percent, v), attention_percent

    def forward(self, words):
        """The scores (1, WORDS) of the word after *it*, and how each word divides its attention."""
        attended, attention_percent = self.self_attention(embedding(self.we, ids_of(words)))
        return linear(embedding(attended, [len(words) - 1]), self.fc), attention_percent


def linear(x, weight):
    return matmul(x, transpose(weight))


# ---- Adam (Kingma and Ba, algorithm 1) ----

class Adam:
    def __init__(self, parameters, lr, beta1=0.9, beta2=0.999, eps=1e-8):
        self.parameters, self.lr, self.beta1, self.beta2, self.eps, self.steps = parameters, lr, beta1, beta2, eps, 0
        self.m = [np.zeros_like(t.value) for t in parameters]
        self.v = [np.zeros_like(t.value) for t in parameters]

    def step(self):
        self.steps += 1
        for t, m, v in zip(self.parameters, self.m, self.v):
            m[...] = self.beta1 * m + (1 - self.beta1) * t.grad
            v[...] = self.beta2 * v + (1 - self.beta2) * t.grad**2
            m_hat, v_hat = m / (1 - self.beta1**self.steps), v / (1 - self.beta2**self.steps)
            t.value -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


# ---- training ----

def compute_gradients(model):
    """The gradients of the mean loss of the 24 training sentences; returns that loss."""
    mean = 0
    for t in model.parameters:
        t.grad[...] = 0
    for words, _, verb, training in sentences():
        if training:
            scores, _ = model.forward(words)
            loss = scale(cross_entropy(scores, ids_of([verb])), 1 / 24)
            backward(loss)
            mean += loss.value.item()
    return mean


def show_reading(model):
    """Prints the predictions for the 12 test sentences; True if all are right and look at their food."""
    learnt = True
    for words, food_at, verb, training in sentences():
        if not training:
            scores, attention_percent = model.forward(words)
            tape.clear()
            on_food, guess = attention_percent.value[-1, food_at], VOCABULARY[scores.value.argmax()]
            print(f" {' '.join(words):42} -> {guess:9} {100 * on_food:3.0f}% of *it* on {words[food_at]}")
            learnt = learnt and guess == verb and on_food >= 0.9
    return learnt


STEPS = 60
model = Model(42)
print("The 12 test sentences, before training:\n")
show_reading(model)

print(f"\nTraining on the other 24 sentences: {STEPS} steps of Adam\n")
adam = Adam(model.parameters, lr=0.02)
for step in range(STEPS):
    loss = compute_gradients(model)
    adam.step()
    if step % 10 == 0:
        print(f"before step {step:2}: loss {loss:.4f}")

print("\nThe 12 test sentences, after training:\n")
sys.exit(not show_reading(model))
