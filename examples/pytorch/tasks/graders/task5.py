"""The model of task 5, and its grader."""
import copy
import math

import torch
from torch import nn
import torch.nn.functional as F

from graders.common import case, compare, equal, fail, returned, show, writes

TITLE = "a training step"
HINTS = (
    "log(exp(a) / sum) is a - log(sum), which needs no share. As in task 1, the largest logit of each row can be subtracted "
    "first. In the step, words 0 to T - 1 of a sentence are the input and words 1 to T the targets; then clear, backward, "
    "update.",
    "x.gather(1, targets[:, None]) is a column (N, 1), and so is a sum that keeps its dim. text[:, :-1] cuts the text, "
    "flatten merges (B, T). Within torch.no_grad(), compute the moved weight from w and w.grad, and copy it into w.",
)
QUESTIONS = (
    "The first loss is about log 12 = 2.48. What would you suspect if it were 5, and what if it were 0.5?",
    "Why does the loss not fall to 0, though the model has learned all eight sentences?",
)
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
    right, shares, log_shares = F.cross_entropy(logits, targets), logits.softmax(1), logits.log_softmax(1)
    index = targets[:, None]
    picked = shares.gather(1, index)
    log_sum = logits.logsumexp(1, keepdim=True)
    mistakes = (
        (F.cross_entropy(shares, targets),
         "softmax is applied twice: cross_entropy gets logits, and the shares that it makes of them are no logits for "
         "another softmax. Such a loss can hardly fall."),
        (right * len(logits),
         "The losses of all targets are added up. The mean is wanted, so that the size of a step does not depend on their "
         "number."),
        (right / logits.size(1),
         "The loss is divided by the number of classes, V. Each row has one loss, so it is a mean of N numbers, not of V or N V."),
        (-logits.log_softmax(0).gather(1, index).mean(),
         "Your shares run along dim 0, the places: columns sum to 1. Each row should be a choice among the classes."),
        (-right,
         "The sign is wrong: a share is below 1, its log below 0, and a loss that falls makes the share of the target grow."),
        (-picked.mean(), "The log is missing: that is the mean share of the targets."),
        (-picked.mean().log(),
         "That is the log of the mean share. The mean of the logs is wanted: a target whose share is nearly 0 must cost "
         "much."),
        (-logits.gather(1, index).mean(),
         "Only the target's own logit is in it. Its share also depends on the others of its row."),
        ((log_sum - logits.amax(1, keepdim=True)).mean(),
         "That is the loss of the likeliest class of each row, not of the target."),
        (-log_shares[:, targets].mean(),
         "Each row is paired with the targets of all rows; row n has targets[n] alone."),
    )
    if not equal(yours, right):
        show("logits", logits)
    otherwise = "The loss of a row is -log of the target's share; with a single row you can follow it by hand."
    if yours.isnan():
        otherwise = ("The loss is NaN: exp of a logit of 1000 is infinite, and inf / inf or inf - inf is NaN. As in task 1, a "
                     "number can be subtracted from all logits of a row.")
    elif yours.isinf():
        otherwise = ("The loss is infinite. Either an exp is, as exp(1000) is more than a double holds; or the log of a share "
                     "or a sum that has become 0. The log of a share can be computed without the share.")
    elif right > 40 and yours < right / 2:
        otherwise = ("The loss is too small: a share was limited from below, or a small number added to it, so that its log "
                     "is finite. The loss then stops growing, and the gradient is 0 where it is needed most.")
    compare("cross_entropy", yours, right, mistakes, otherwise)


def check_loss(cross_entropy, logits, targets):
    logits.requires_grad_()
    yours = cross_entropy(logits, targets)
    if torch.is_tensor(yours) and yours.shape == targets.shape and len(targets) > 1:
        fail("cross_entropy returns the loss of each target. Their mean is wanted.")
    if torch.is_tensor(yours) and yours.numel() == 1:
        yours = yours.reshape(())
    returned("cross_entropy", yours, (), cross_entropy)
    compare_loss(yours.detach(), logits.detach(), targets)
    if not yours.requires_grad:
        fail("The loss is right, but has no graph, so backward cannot go from it to the logits: compute it with PyTorch's "
             "operations, without detach or item.")
    yours.mul(3).backward()  # 3: the loss may be part of another one
    own = logits.detach().clone().requires_grad_()
    F.cross_entropy(own, targets).mul(3).backward()
    shares = own.detach().softmax(1) * (3 / len(targets))
    mistakes = (
        (torch.zeros_like(shares), "The loss is right, but does not change with the logits."),
        (own.grad - shares,
         "The loss is right, but its gradient reaches the target's logit alone: the others push the share down, too. Is the "
         "sum of exponentials detached?"),
    )
    yours = torch.zeros_like(shares) if logits.grad is None else logits.grad
    compare("the gradient of 3 * cross_entropy by the logits", yours, own.grad, mistakes,
            "The loss is right, but its gradient is not. Which numbers are detached?")


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
    first, last = text[:, :-1], text[:, 1:]
    logits = before(first)
    mistakes = (
        (F.cross_entropy(logits.softmax(-1).flatten(0, 1), last.flatten()),
         "The softmax of the logits goes into cross_entropy, which makes shares of logits itself: softmax is applied "
         "twice."),
        (loss_of(before, first, first),
         "The targets are not shifted: the model is to say the word that it reads. It is to say the next one."),
        (loss_of(before, text, text),
         "The targets are not shifted: the model is to say the word that it reads. It is to say the next one. (The last "
         "word has none.)"),
        (loss_of(before, last, first),
         "The targets are shifted the wrong way: the model is to say the word before the one that it reads, which it has "
         "seen."),
        (loss_of(before, text[:, :-2], text[:, 2:]),
         "The targets are shifted twice: the model is to say the next word but one."),
        (loss_of(before, text, text.roll(-1, 1)),
         "The last word of a sentence gets the first one as its target. It has no next word."),
        (F.cross_entropy(logits.flatten(0, 1), last.T.flatten()),
         "Targets and logits are in different order: place t of sentence b is row b T + t of the flat logits."),
        (F.cross_entropy(logits.transpose(0, 1).flatten(0, 1), last.flatten()),
         "Targets and logits are in different order: place t of sentence b is row b T + t of the flat logits."),
        (loss_of(before, text[:-1], text[1:]) if len(text) > 1 else None,
         "Sentences are shifted, in dim 0. The words are to be, in dim 1: from each word, the model is to predict the next one."),
        (right * len(text),
         "The losses of the sentences are added up. Their mean is wanted, so that a step does not depend on how many there are."),
        (in_turn(before, text, lr),
         "There is a step after each sentence, so the loss of the next one is that of changed weights. All sentences belong to one "
         "step."),
        (loss_of(after, first, last),
         "That is the loss after the step. The one before it is wanted, whose gradient you have followed."),
        (right.trunc(), "That is the loss without its fraction. An int holds whole numbers alone."),
    )
    compare("the loss that training_step returns", yours, right, mistakes,
            "cross_entropy is right, but this is not the loss of all places before the step. Write down which words the model "
            "reads, which it is to say, and when a weight changes.")


def compare_weights(yours, before, right, lr, text):
    pairs = [*zip(yours.parameters(), before.parameters())]
    unchanged = all(equal(w, old) for w, old in pairs)
    if unchanged and all(w.grad is None for w, _ in pairs):
        fail("The loss is right, but no weight has a gradient after the step, and none has changed. Gradients come from "
             "backward, and last until they are cleared.")
    if unchanged:
        fail("The weights have gradients, but none has changed. Is the update made before backward, or after the gradients "
             "were set to 0? Or does it compute new tensors, as w - lr * w.grad does, and leave those of the model as they "
             "are? Or is the step 0, as int(0.5) is?")
    batch, targets = len(text), text[:, 1:].numel()
    for name, w in before.named_parameters():
        g = right.grads[name]
        mistakes = (
            (w, f"{name} has not changed, though other weights have. The step moves each of them."),
            (w + lr * g, "The step goes up: the gradient points to where the loss grows."),
            (w - g, "The learning rate is not in the step."),
            (w - lr * right.sums[name],
             "The gradients of earlier steps are in it: backward adds to .grad, so they must be cleared once in each step."),
            (w - lr / batch * g, "The gradient is divided by the number of sentences. The loss is a mean already, and so is "
                                 "its gradient."),
            (w - lr / targets * g, "The gradient is divided by the number of targets. The loss is a mean already, and so is "
                                   "its gradient."),
            (-lr * g, "The weights are replaced by the step. It moves them."),
        )
        factor = ((w - yours.get_parameter(name)) * g).sum().item() / (lr * (g * g).sum().item())
        mistakes += ((w - factor * lr * g, f"Your step is {factor:.4g} times as long as lr says."),)
        compare(f"{name} after the step", yours.get_parameter(name), right.model.get_parameter(name), mistakes,
                "The loss is right, but the weight is not w - lr * gradient.")


def check_model(model, had):
    for name, w in had.items():
        if dict(model.named_parameters()).get(name) is not w:
            fail(f"model.{name} is another tensor now. What w - lr * w.grad gives is the result of an operation; an optimiser "
                 "that was made for the old weight does not know it. Change the numbers of the weight that is there, without "
                 "recording a graph.")
        if not w.requires_grad:
            fail(f"{name} no longer requires a gradient, so it will not learn again.")


def run_step(training_step, model, text, lr):
    """The loss that the learner's step returns: a number, a tensor or None."""
    try:
        loss = training_step(model, text, lr)
        return loss.detach() if torch.is_tensor(loss) else loss
    except (TypeError, AttributeError) as error:
        if model.output.grad is None and "NoneType" in str(error):
            fail("The update reads w.grad, which is None: there are gradients only after backward, and until they are "
                 f"cleared. ({error})")
        raise
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            fail("The weights change between the forward and backward, which needs their old numbers: update them after "
                 f"backward. ({error})")
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
        fail("cross_entropy is right. training_step is not written yet.")
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
        fail(f"The first steps were right, but the model does not learn: its loss goes from {first:.2f} to {loss:.2f}, and "
             f"should fall below 0.6; after \"the cow hid and it\" it says \"{word}\" in place of \"mooed\". What differs in "
             "later steps?")
    print(f"\n  Your step trains a model: its loss falls from {first:.2f} to {loss:.2f}, and it continues\n  \"the cow hid and "
          f"it\", which it has never seen, with \"{word}\".")


def grade(cross_entropy, training_step):
    torch.manual_seed(1)
    check_losses(cross_entropy)
    check_steps(training_step)
    train(training_step)
