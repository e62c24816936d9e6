"""Task 5: a training step.        python grade.py 5        python grade.py 5 --hint 1

A model gives each word of its vocabulary a score (a logit) as the next word. Its loss is the
mean, over all places, of -log of the share that softmax gives the word that really came next:
with V words and no idea, log V. A training step computes the loss, its gradient for each weight,
and moves each weight a little against its gradient:

    cross_entropy = mean over n of -log softmax(logits[n])[targets[n]]        w -= lr * w.grad

Logits of 1000 must work. The model is given: Model in graders/task5.py. backward adds to w.grad
(w.grad = None empties it), w.copy_ changes the numbers of a tensor, and a block with
torch.no_grad() records no graph. Do it without cross_entropy, nll_loss, log_softmax and logsumexp,
and without torch.optim.

Read first: lesson 5, its end; docs/questions.md, questions 32 and 33.
"""
import torch


def cross_entropy(logits, targets):
    """logits (N, V) f64, targets (N) int64 in 0 ... V-1 -> the loss, one number, with its graph."""
    return None  # your code


def training_step(model, text, lr):
    """text (B, T+1) int64: B sentences. From each word but the last the model is to predict the next one:
    model(tokens (B, T)) -> (B, T, WORDS). Changes the numbers of the tensors in model.parameters(), and returns the loss
    before that."""
    return None  # your code
