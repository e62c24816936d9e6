"""Grades task 10: five classes, and their symptoms."""
import contextlib
import io
import math
import os

import torch
from torch import nn
import torch.nn.functional as F

from graders.common import NotBegun, attention_check, case, describe, equal, fail

TITLE = "find the fault"
HINTS = (
    "Compare each symptom with what a right class would show: rows of 100 percent, a loss of ln 16, dots above the diagonal, "
    "words that look at words, a loss that falls to 0. docs/attention.md has the mistakes that lead to such symptoms.",
    "1: which dim of (B, queries, keys) has the keys? 2: row 0 should see one symbol. 3: what does a reshape make of (B, "
    "heads, T, d_head)? 4: what does true mean to masked_fill? 5: where does the graph end?",
)
QUESTIONS = (
    "Which of the five faults does a loss curve show, and which does it not?",
    "Which check would have found each fault before training?",
)
NAMES = ("OneHead", "NextWord", "MultiHead", "Padded", "PreviousWord")
FORBIDDEN = {}


def call(name, module, x, is_word):
    """The learner's y, and the weights for the map or None."""
    y = module(x, is_word) if name == "Padded" else module(x)
    return y if isinstance(y, tuple) and len(y) == 2 else (y, None)


# ---- the right classes, the given ones, and what known wrong repairs compute ----

REPAIRS = {
    "OneHead": {
        "over batch": "Now the softmax runs along the batch: the shares of a word depend on the other sentences.",
        "transposed": "Now the weights are transposed after the softmax. Rows sum to 1, but a row has the scores of a key with "
                      "all queries.",
    },
    "NextWord": {
        "no mask": "Now nothing is blocked.",
        "not itself": "Now a symbol does not see itself, and the first one sees nothing: its row is 0 / 0.",
        "past": "Now the mask blocks the past, and the future is seen.",
    },
    "MultiHead": {
        "both by view": "Now heads are split and merged by a reshape alone: each row comes out where it was, but a head is a part "
                        "of the sentence.",
        "single head": "Now there is one head of the whole width. The class should have self.heads.",
    },
    "Padded": {
        "no mask": "Words look at padding: the mask blocks nothing, or rows in place of columns.",
    },
    "PreviousWord": {},
}


def mask_of(name, form, length, is_word):
    """true blocks; or None"""
    if name == "OneHead" or form == "no mask":
        return None
    if name == "Padded":  # (B, 1, 1, T), of all heads and queries
        return (is_word if form == "given" else ~is_word)[:, None, None]
    ones = torch.ones(length, length, dtype=torch.bool)
    diagonal = 2 if name == "NextWord" and form == "given" else 0 if form == "not itself" else 1
    return ones.tril(-1) if form == "past" else ones.triu(diagonal)


def computed(name, form, m, x, is_word):
    """y of a class: "right", "given" or one of its REPAIRS."""
    heads = m.heads if name == "MultiHead" and form != "single head" else 1

    def split(t):
        if form == "both by view":
            return t.reshape(len(t), heads, t.size(1), -1)
        return t.unflatten(2, (heads, -1)).transpose(1, 2)

    q, k, v = split(m.W_q(x)), split(m.W_k(x)), split(m.W_v(x))
    weights = q @ k.transpose(2, 3) / math.sqrt(k.size(3))
    mask = mask_of(name, form, x.size(1), is_word)
    weights = weights if mask is None else weights.masked_fill(mask, -math.inf)
    along_queries = (name, form) == ("OneHead", "given") or form == "transposed"
    weights = torch.softmax(weights, 2 if along_queries else 0 if form == "over batch" else 3)
    weights = weights.transpose(2, 3) if form == "transposed" else weights
    weights = weights.detach() if (name, form) == ("PreviousWord", "given") else weights
    y = weights @ v
    merged_by_view = (name, form) == ("MultiHead", "given") or form == "both by view"
    return m.W_o((y if merged_by_view else y.transpose(1, 2)).reshape(x.shape))


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
        y = computed(name, "right", self.attention, x, None) if right else call(name, self.attention, x, None)[0]
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
            return "The shape of y is not that of x."
        y = torch.where(self.is_word[..., None], y, torch.zeros_like(y))
        grads = [None] * 5
        if y.requires_grad:
            grads = torch.autograd.grad((y * self.upstream).sum(), leaves, allow_unused=True)
        return [y.detach(), *(torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, grads))]

    def results_of(self, name, form):
        return self.results(lambda x: computed(name, form, self.module, x, self.is_word))


def same(a, b):
    return all(equal(s, t) for s, t in zip(a, b))


def explain(name, given, yours, right, printed):
    if equal(yours[0], right[0]):
        at = next(i for i in range(5) if not equal(yours[1 + i], right[1 + i]))
        leaf = ("x", "W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight")[at]
        learns = "layers before this one do not learn what they could" if at == 0 else "it does not learn what it could"
        return f"It computes the right numbers, but the gradient of {leaf} is not right: {learns}."
    for form, why in REPAIRS[name].items():
        if equal(yours[0], given.results_of(name, form)[0]):
            return why
    if printed:
        return "It computes something else now, but not what it should."
    return "It is right for one sentence of 4 or 6 tokens, and not for other inputs: is it still the same class?"


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
        right = given.results_of(name, "right")
        if not same(yours, right):
            text = text or explain(name, given, yours, right, i < 2)
            is_right = False
        is_given = is_given and same(yours, given.results_of(name, "given"))
    return "right" if is_right else "as it was" if is_given else "changed, and not right", text


LOOK = {
    "OneHead": "Add up a row of its map, then a column. Which of the two should be 100?",
    "NextWord": "No model can predict random symbols, and this one does. So what does a row see?",
    "MultiHead": "Each head has the causal mask, and still row 0 sees token 1. Which line after the softmax could bring numbers "
                 "of token 1 into row 0?",
    "Padded": "Look at the columns of its map that have weights, and at those that have none.",
    "PreviousWord": "It learns something, then stops: it attends as it did before training. Which parameters would have to learn "
                    "that, and what do they learn from?",
}


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
    fail(f"{states.count('right')} of 5 are right. {LOOK[name] if states[wrong] == 'as it was' else texts[wrong]}")
