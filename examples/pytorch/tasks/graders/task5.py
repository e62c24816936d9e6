"""The model of task 5, and its grader."""
import copy
import math

import torch
from torch import nn
import torch.nn.functional as F

from graders.common import case, compare, equal, fail, mistakes, returned, say, show, writes

NAMES = ("cross_entropy", "training_step")
FORBIDDEN = {"cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd", "log_softmax", "logsumexp", "step"}
WORDS, LONGEST, WIDTH = 12, 6, 16


class Model(nn.Module):
    """One head of causal attention, in f64."""

    def __init__(self):
        super().__init__()

        def random(rows):
            return nn.Parameter(0.25 * torch.randn(rows, WIDTH, dtype=torch.float64))

        self.embedding = random(WORDS)
        self.positions = random(LONGEST)
        self.W_q = random(WIDTH)
        self.W_k = random(WIDTH)
        self.W_v = random(WIDTH)
        self.output = random(WORDS)

    def forward(self, tokens):
        """tokens (B, T) int64, T at most LONGEST -> logits (B, T, WORDS)"""
        x = self.embedding[tokens] + self.positions[:tokens.size(1)]
        q, k, v = x @ self.W_q.T, x @ self.W_k.T, x @ self.W_v.T
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return (x + y) @ self.output.T


# ---- cross-entropy ----

GIVEN = (  # logits and targets
    ([[1, 2, 4]], [2]),
    ([[1, 2, 3], [0, 2, 0]], [0, 1]),
    ([[0, 0, 0, 0]] * 3, [3, 1, 1]),
    ([[0.5, -1, 2], [3, 0, 0], [-2, 1, 1]], [0, 0, 2]),
    ([[4]], [0]),
    ([[1000, 0], [0, 1000]], [0, 0]),
    ([[1000, 1001], [-2000, -1999]], [1, 0]),
    ([[-800, 0, 800], [1e6, 1e6, -1e6]], [2, 1]),
)


def compare_loss(yours, logits, targets):
    right = F.cross_entropy(logits, targets)
    if not equal(yours, right):
        show("logits", logits)
    otherwise = ("nan" if yours.isnan() else "infinite" if yours.isinf() else
                 "limited" if right > 40 and yours < right / 2 else "loss of a row")
    names = {"logits": logits, "targets": targets, "V": logits.size(1)}
    compare("cross_entropy", yours, right, mistakes("loss", "loss", **names), say(otherwise))


def check_loss(cross_entropy, logits, targets):
    logits.requires_grad_()
    yours = cross_entropy(logits, targets)
    if torch.is_tensor(yours) and yours.shape == targets.shape and len(targets) > 1:
        fail("each")
    if torch.is_tensor(yours) and yours.numel() == 1:
        yours = yours.reshape(())
    returned("cross_entropy", yours, (), cross_entropy)
    compare_loss(yours.detach(), logits.detach(), targets)
    if not yours.requires_grad:
        fail("no graph")
    yours.mul(3).backward()  # 3: the loss may be part of another one
    own = logits.detach().clone().requires_grad_()
    F.cross_entropy(own, targets).mul(3).backward()
    yours = torch.zeros_like(own) if logits.grad is None else logits.grad
    names = {"g": own.grad, "logits": own.detach(), "N": len(targets)}
    compare("the gradient of 3 * cross_entropy by the logits", yours, own.grad, mistakes("gradient", "gradient", **names),
            say("gradient"))


def check_losses(cross_entropy):
    for logits, targets in GIVEN:
        case(f"cross_entropy of logits ({len(logits)}, {len(logits[0])}), target{'' if len(targets) == 1 else 's'} "
             f"{' '.join(map(str, targets))}")
        check_loss(cross_entropy, torch.tensor(logits, dtype=torch.float64), torch.tensor(targets))
    for i in range(12):
        rows, classes = 1 + i, 1 + (5 * i + 2) % 7
        case(f"cross_entropy of random logits ({rows}, {classes})")
        check_loss(cross_entropy, torch.randn(rows, classes, dtype=torch.float64) * (1 + i * i),
                   torch.randint(0, classes, (rows,)))


# ---- the training step ----

VOCABULARY = ("the", "cat", "dog", "cow", "sat", "ran", "hid", "and", "it", "purred", "barked", "mooed")
SENTENCES = torch.tensor([
    [0, 1, 4, 7, 8, 9], [0, 1, 5, 7, 8, 9], [0, 1, 6, 7, 8, 9], [0, 2, 4, 7, 8, 10],
    [0, 2, 5, 7, 8, 10], [0, 2, 6, 7, 8, 10], [0, 3, 4, 7, 8, 11], [0, 3, 5, 7, 8, 11]])


def loss_of(model, tokens, targets):
    """The loss of a model if it is to say `targets` (B, T) after `tokens` (B, T)."""
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


class Reference:
    """A model that PyTorch trains, and all its gradients so far."""

    def __init__(self, model):
        self.model, self.grads, self.sums = copy.deepcopy(model), {}, {}

    @staticmethod
    def step_of(model, text, lr):
        """The loss before the step, and gradients."""
        parameters = dict(model.named_parameters())
        loss = loss_of(model, text[:, :-1], text[:, 1:])
        grads = dict(zip(parameters, torch.autograd.grad(loss, [*parameters.values()])))
        with torch.no_grad():
            for name, w in parameters.items():
                w -= lr * grads[name]
        return loss.detach(), grads

    def step(self, text, lr):
        loss, self.grads = self.step_of(self.model, text, lr)
        for name, grad in self.grads.items():
            self.sums[name] = self.sums.get(name, 0) + grad
        return loss


def in_turn(model, text, lr):
    """The mean loss, if each sentence has its own step."""
    model, losses = copy.deepcopy(model), []
    with torch.enable_grad():
        for sentence in text:
            losses.append(Reference.step_of(model, sentence[None], lr)[0])
    return torch.stack(losses).mean()


def compare_step_loss(yours, right, before, after, text, lr):
    names = {"text": text, "B": len(text), "T": text.size(1) - 1, "model": before, "after": after,
             "in_turn": in_turn(before, text, lr)}
    compare("the loss that training_step returns", yours, right, mistakes("step", "loss", **names), say("step loss"))


def compare_weights(yours, before, right, lr, text):
    pairs = [*zip(yours.parameters(), before.parameters())]
    unchanged = all(equal(w, old) for w, old in pairs)
    if unchanged and all(w.grad is None for w, _ in pairs):
        fail("no gradient")
    if unchanged:
        fail("no change")
    for name, w in before.named_parameters():
        g, moved = right.grads[name], yours.get_parameter(name)
        if equal(w, moved):
            fail("one unchanged", name)
        names = {"w": w, "g": g, "sum_of_all": right.sums[name], "lr": lr, "B": len(text), "T": text.size(1) - 1,
                 "factor": ((w - moved) * g).sum().item() / (lr * (g * g).sum().item())}
        compare(f"{name} after the step", moved, right.model.get_parameter(name), mistakes("weight", "moved", **names),
                say("weight"))


def check_model(model, had):
    for name, w in had.items():
        if dict(model.named_parameters()).get(name) is not w:
            fail(f"model.{name} is another tensor now. What w - lr * w.grad gives is the result of an operation; an optimiser "
                 "that was made for the old weight does not know it. Change the numbers of the weight that is there, without "
                 "recording a graph.")
        if not w.requires_grad:
            fail("frozen", name)


def run_step(training_step, model, text, lr):
    """The loss that the learner's step returns: a number, a tensor or None."""
    try:
        loss = training_step(model, text, lr)
        return loss.detach() if torch.is_tensor(loss) else loss
    except (TypeError, AttributeError) as error:
        if model.output.grad is None and "NoneType" in str(error):
            fail("cleared", error)
        raise
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            fail("early", error)
        if "leaf Variable" in str(error):
            fail("The update would be recorded in the graph, as if the model computed it, and PyTorch refuses that for a "
                 f"weight. No backward will need it. ({error})")
        raise


def check_step(training_step, model, right, text, lr):
    before, had = copy.deepcopy(model), dict(model.named_parameters())
    for w in before.parameters():
        w.grad = None
    loss = run_step(training_step, model, text, lr)
    check_model(model, had)
    expected = right.step(text, lr)
    empty = (loss is None and not writes(training_step)) or (isinstance(loss, float) and math.isnan(loss))
    if model.output.grad is None and empty:
        fail("no step")
    if loss is None:
        fail("training_step returns None. It should return the loss before the step. Does a return lack?")
    loss = torch.as_tensor(loss, dtype=torch.float64)
    with torch.no_grad():
        compare_step_loss(loss.reshape(()) if loss.numel() == 1 else loss, expected, before, right.model, text, lr)
        compare_weights(model, before, right, lr, text)


def check_steps(training_step):
    model = Model()
    right = Reference(model)
    for i, (text, lr) in enumerate(((SENTENCES[:4], 0.3), (SENTENCES[4:6], 0.1), (SENTENCES, 0.25)), 1):
        case(f"step {i}, with {len(text)} sentences and lr = {lr:g}")
        check_step(training_step, model, right, text.clone(), lr)


def train(training_step):
    """After "it" comes what the animal does."""
    case("300 steps on 8 sentences of cats, dogs and cows")
    model = Model()
    losses = [float(run_step(training_step, model, SENTENCES.clone(), 0.5)) for _ in range(300)]
    first, loss = losses[0], losses[-1]
    word = VOCABULARY[model(torch.tensor([[0, 3, 6, 7, 8]]))[0, -1].argmax()]
    if not loss < 0.6 or word != "mooed":
        fail("no learning", first, loss, word)
    print(f"\n  Your step trains a model: its loss falls from {first:.2f} to {loss:.2f}, and it continues\n  \"the cow hid and "
          f"it\", which it has never seen, with \"{word}\".")


def grade(cross_entropy, training_step):
    torch.manual_seed(1)
    check_losses(cross_entropy)
    check_steps(training_step)
    train(training_step)
