"""Grades task 10: five classes, and their symptoms."""
import contextlib
import io
import math
import os

import torch
from torch import nn
import torch.nn.functional as F

from graders.common import NotBegun, attention_check, case, describe, equal, fail, is_near, mistakes, say

NAMES = ("OneHead", "NextWord", "MultiHead", "Padded", "PreviousWord")
FORBIDDEN = {}


def call(name, module, x, is_word):
    """The learner's y, and the weights for the map or None."""
    y = module(x, is_word) if name == "Padded" else module(x)
    return y if isinstance(y, tuple) and len(y) == 2 else (y, None)


# ---- the right classes and the given ones ----


def mask_of(name, right, length, is_word):
    """true blocks; or None"""
    if name == "Padded":  # (B, 1, 1, T), of all heads and queries
        return (~is_word if right else is_word)[:, None, None]
    ones = torch.ones(length, length, dtype=torch.bool)
    return None if name == "OneHead" else ones.triu(1 if right or name != "NextWord" else 2)


def computed(name, right, m, x, is_word):
    """y of a right class or of the given one."""
    heads = m.heads if name == "MultiHead" else 1
    q, k, v = (layer(x).unflatten(2, (heads, -1)).transpose(1, 2) for layer in (m.W_q, m.W_k, m.W_v))
    weights = q @ k.transpose(2, 3) / math.sqrt(k.size(3))
    mask = mask_of(name, right, x.size(1), is_word)
    weights = weights if mask is None else weights.masked_fill(mask, -math.inf)
    weights = torch.softmax(weights, 3 if right or name != "OneHead" else 2)
    weights = weights if right or name != "PreviousWord" else weights.detach()
    y = weights @ v
    return m.W_o((y.transpose(1, 2) if right or name != "MultiHead" else y).reshape(x.shape))


# ---- symptoms ----


def words_of_map(length):
    """is_word (1, length) of the maps: 4 words."""
    return (torch.arange(length) < 4)[None]


def print_map(name, cls):
    words = ("the", "pizza", "is", "good", "<pad>", "<pad>")[:6 if name == "Padded" else 4]
    torch.manual_seed(10)
    m = cls(8).double()
    x = torch.randn(1, len(words), 8, dtype=torch.float64) * 2
    weights = call(name, m, x, words_of_map(len(words)))[1]
    if not torch.is_tensor(weights) or weights.shape != (1, len(words), len(words)):
        print("(no map: the weights are not (B, T, T))")
        return
    for i in range(-5, 0):  # labels of columns, downwards
        print(" " * 6 + "".join(f"{word.rjust(5)[i]:>4}" for word in words))
    for word, row in zip(words, weights[0].tolist()):
        print(f"{word:>5} " + "".join(
            " NaN" if math.isnan(w) else "   ." if w < 0.005 else f"{' :=*#@'[int(min(w, 1) * 5.999)]}{100 * w:3.0f}"
            for w in row))


SYMBOLS, LENGTH, WIDTH, BATCH, STEPS, POINTS = 16, 8, 32, 16, 240, 8


class Model(nn.Module):
    """Says the next symbol, or the one before, of random ones."""

    def __init__(self, cls):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, WIDTH)
        self.attention = cls(WIDTH)
        self.output = nn.Linear(WIDTH, SYMBOLS)
        angles = torch.arange(LENGTH)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
        self.positions = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
        self.double()

    def loss(self, name, right):
        symbols = torch.randint(0, SYMBOLS, (BATCH, LENGTH + 1))
        first, last = symbols[:, :-1], symbols[:, 1:]
        x = self.embedding(first if name == "NextWord" else last) + self.positions
        y = computed(name, True, self.attention, x, None) if right else call(name, self.attention, x, None)[0]
        logits, targets = self.output(x + y), last if name == "NextWord" else first
        if name == "PreviousWord":  # no symbol is known before the first
            logits, targets = logits[:, 1:], targets[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(name, cls, right):
    """The mean losses of STEPS / POINTS steps each."""
    torch.manual_seed(10)
    m = Model(cls)
    adam = torch.optim.Adam(m.parameters(), 5e-3)
    losses = []
    for _ in range(STEPS):
        loss = m.loss(name, right)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64).reshape(POINTS, -1).mean(1).tolist()


def print_curve(name, cls):
    print(f"mean loss of {STEPS // POINTS} steps each\n\n  to step   a right class   {name}")
    for i, (right, own) in enumerate(zip(train(name, cls, True), train(name, cls, False)), 1):
        print(f"  {i * STEPS // POINTS:7}   {right:13.3f}   {own:.3f}")


def print_report(cls):
    torch.manual_seed(10)
    m = cls(8, 2)
    columns, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "88"
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:  # without a terminal's characters
            attention_check(lambda x: call("MultiHead", m, x, None)[0], 8, heads=2, causal=True)
    finally:
        os.environ.pop("COLUMNS")
        os.environ.update({} if columns is None else {"COLUMNS": columns})
    print(printed.getvalue(), end="")


def print_symptom(name, cls):
    """What the class shows: a map, a report or curves."""
    try:
        if name == "MultiHead":
            print_report(cls)
        elif name in ("OneHead", "Padded"):
            print_map(name, cls)
        else:
            print_curve(name, cls)
    except Exception as error:
        print(f"({describe(error)})")


# ---- a class is right, as given, or changed into something else ----


class Input:
    """A module and x."""

    def __init__(self, name, cls, i, B, T, d, heads):
        torch.manual_seed(10 if i < 2 else 10 + i)  # the first two: those of the maps
        self.module = cls(d, heads).double()
        self.x = torch.randn(B, T, d, dtype=torch.float64) * 2
        self.is_word = words_of_map(T) if i < 2 else words(B, T, name == "Padded")
        self.upstream = torch.randn(B, T, d, dtype=torch.float64)

    def results(self, f):
        """What f computes, y, and the gradients of random weights times y, for x and the four parameters. Rows of padding
        are 0: nobody reads them."""
        x = self.x.clone().requires_grad_()
        leaves = [x, *(getattr(self.module, name).weight for name in ("W_q", "W_k", "W_v", "W_o"))]
        y = f(x)
        if not torch.is_tensor(y):
            return "It returns None. Does a return lack?" if y is None else f"It returns {type(y).__name__}."
        if y.shape != x.shape:
            return say("shape")
        y = torch.where(self.is_word[..., None], y, torch.zeros_like(y))
        grads = [None] * 5
        if y.requires_grad:
            grads = torch.autograd.grad((y * self.upstream).sum(), leaves, allow_unused=True)
        return [y.detach(), *(torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, grads))]

    def results_of(self, name, right):
        return self.results(lambda x: computed(name, right, self.module, x, self.is_word))


def same(a, b):
    return all(equal(s, t) for s, t in zip(a, b))


def explain_sums(weights):
    """The first row of the weights that does not sum to 1."""
    if torch.is_tensor(weights) and weights.dim() == 3:
        for i, total in enumerate(weights.sum(2).flatten().tolist()):
            if not is_near(total, 1):
                return say("sums", i % weights.size(1), total)


def explain_reach(name, given):
    """Which rows of y see which tokens of x: the first difference between yours and the right class."""
    def reach(f, key):
        changed = given.x.clone()
        changed[:, key] += 1
        return [not equal(a, b) for a, b in zip(f(given.x).unbind(1), f(changed).unbind(1))]

    for key in range(given.x.size(1)):
        yours = reach(lambda x: call(name, given.module, x, given.is_word)[0], key)
        right = reach(lambda x: computed(name, True, given.module, x, given.is_word), key)
        for row, (sees, should) in enumerate(zip(yours, right)):
            if given.is_word[0, row] and sees != should:
                return say("sees" if sees else "blind", row, key)


def explain(name, given, yours, right, printed):
    if equal(yours[0], right[0]):
        at = next(i for i in range(5) if not equal(yours[1 + i], right[1 + i]))
        leaf = ("x", "W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight")[at]
        return say("gradient of x") if at == 0 else say("gradient", leaf)
    m, (B, T, d) = given.module, given.x.shape
    names = {"x": given.x, "W": torch.stack([m.W_q.weight, m.W_k.weight, m.W_v.weight]).unsqueeze(1), "W_o": m.W_o.weight,
             "mask": mask_of(name, True, T, given.is_word), "unread": ~given.is_word[..., None], "B": B, "T": T, "d": d,
             "heads": m.heads if name == "MultiHead" else 1}
    if name == "Padded":
        names["open"] = None
    elif name != "OneHead":
        names.update(ones=torch.ones(T, T, dtype=torch.bool), future=names["mask"])
    for result, why in mistakes("class", "read", **names):
        if result is not None and equal(yours[0], result):
            return why
    if not printed:
        return say("other inputs")
    with torch.no_grad():
        why = (explain_sums(call(name, m, given.x, given.is_word)[1]) or explain_reach(name, given) or say("numbers"))
    i = next(i for i, (a, b) in enumerate(zip(yours[0].flatten().tolist(), right[0].flatten().tolist())) if not is_near(a, b))
    return say("something else", i, yours[0].flatten()[i].item(), right[0].flatten()[i].item(), why)


def words(batch, length, pads):
    """is_word (B, T): each sentence has words, and if it pads, padding on either side."""
    at, rows = torch.arange(length), []
    for b in range(batch):
        n = 1 + (length + b) // 2 % (length - 1) if pads and length > 1 else length
        rows.append(at < n if b % 2 == 0 else at >= length - n)
    return torch.stack(rows)


SIZES = ((1, 4, 8, 2), (1, 6, 8, 2), (2, 5, 6, 3), (3, 3, 4, 1), (2, 8, 8, 4),
         (1, 1, 4, 2), (2, 12, 6, 2), (3, 7, 8, 2), (4, 2, 2, 1), (2, 4, 4, 4))  # B, T, d, heads


def check(name, cls):
    """Over all inputs: "right", "as it was" or "changed, and not right", and about the first input that is not right."""
    is_right, is_given, text = True, True, ""
    for i, (B, T, d, heads) in enumerate(SIZES):
        case(f"{name}, x ({B}, {T}, {d})")
        given = Input(name, cls, i, B, T, d, heads)
        try:
            yours = given.results(lambda x: call(name, given.module, x, given.is_word)[0])
        except Exception as error:
            yours = describe(error)
        if isinstance(yours, str):
            text = text or yours
            is_right = is_given = False
            continue
        right = given.results_of(name, True)
        if not same(yours, right):
            text = text or explain(name, given, yours, right, i < 2)
            is_right = False
        is_given = is_given and same(yours, given.results_of(name, False))
    return "right" if is_right else "as it was" if is_given else "changed, and not right", text


def grade(*classes):
    if os.environ.get("SYMPTOMS"):
        for name, cls in zip(NAMES, classes):
            print(f"\n== {name} ==")
            print_symptom(name, cls)
    states, texts = zip(*(check(name, cls) for name, cls in zip(NAMES, classes)))
    if set(states) == {"as it was"}:
        print("\n  All five classes compute what they did before.")
        raise NotBegun
    if set(states) == {"right"}:
        return
    print()
    for i, (name, state) in enumerate(zip(NAMES, states)):
        print(f"  {i + 1}. {name:14} {state}")
    # A class that was changed comes before those that were not.
    wrong = states.index("changed, and not right" if "changed, and not right" in states else "as it was")
    name = NAMES[wrong]
    case(name)
    if states[wrong] != "as it was":
        print(f"\n  The symptom of {name}, as it is now:\n")
        print_symptom(name, classes[wrong])
    fail("some", states.count("right"), say(f"look {wrong + 1}") if states[wrong] == "as it was" else texts[wrong])
