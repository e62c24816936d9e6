"""Grades task 3: masks."""
import math

import torch

from graders import common
from graders.common import (NotBegun, attempt, call, case, equal, fail, first_wrong, is_near, matches, near, show, text_of,
                            writes)

TITLE = "causal and padding masks"
HINTS = (
    "Which score has the weight exp(score) = 0, exactly? Write it where a key is hidden, before the softmax. In row i of a "
    "causal mask the hidden keys are those to the right of column i.",
    "torch.triu(x, 1) keeps what is above the diagonal. For padding, compare key numbers, shape (S), with lengths of the "
    "shape (B, 1, 1): the result, (B, 1, S), broadcasts to (B, T, S). A bool tensor goes into masked_fill.",
)
QUESTIONS = (
    "Row 0 of a causal mask has one key left. Why does its score not matter?",
    "What should the weights be if a length is 0, and what does your code give?",
)
NAMES = ("causal_weights", "padded_weights")
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward", "generate_square_subsequent_mask"}

inf = math.inf


class Sought:
    """What a function should compute, and how to explain something else."""

    def __init__(self, what, token, x, hidden):
        self.what, self.token = what, token  # the function, a hidden key
        self.x, self.hidden, self.dtype = x.double(), hidden.expand(x.shape), x.dtype
        self.mistakes = []

    def hide(self, mask, score):
        """x, with the score where the mask is true; None if there is no mask of this shape."""
        return None if mask is None else attempt(self.x.masked_fill, mask, score)

    def add(self, result, why):
        self.mistakes.append((result, why))

    def add_mask(self, mask, why):
        """Another mask. A row of which it hides all is NaN, zeros or equal shares."""
        x = self.hide(mask, -inf)
        if x is not None:
            self.add(torch.softmax(x, -1), why)
            self.add(torch.softmax(x, -1).nan_to_num(0), why)
            self.add(torch.softmax(self.hide(mask, -1e9), -1), why)


# ---- mistakes with any mask ----


def finite_score(s, y):
    """The score in place of the hidden ones from which softmax would give y; None if there is none."""
    pairs = s.hidden & (y > 0) & (~s.hidden & (y > 0)).any(-1, keepdim=True)
    if not pairs.any():
        return None
    *row, key = pairs.nonzero()[0].tolist()
    weights, x, seen = y[tuple(row)], s.x[tuple(row)], ~s.hidden[tuple(row)]
    j = int((seen & (weights > 0)).nonzero()[0])
    score = (x[j] + (weights[key] / weights[j]).log()).item()
    return score if equal(y, torch.softmax(s.hide(s.hidden, score), -1)) else None


def symptom(s, y, right):
    """What is wrong in the first row that is wrong."""
    T, S = y.shape[-2:]
    score = finite_score(s, y)
    plain = (y.isnan().any(-1) & ~s.hidden.any(-1)).flatten().nonzero().flatten().tolist()
    if plain and s.x.abs().max().item() > 700:
        return (f"Row {plain[0] % T} has NaN, though nothing is hidden in it: exp of scores of this size is 0 or infinite. Task "
                "1 says what to subtract from all scores first.")
    rows = zip(*(t.reshape(-1, S) for t in (y, s.x, s.hidden, right)))
    for row, (weights, x, hidden, good) in enumerate(rows):
        row %= T
        if near(weights, good).all():
            continue
        most_hidden = x.masked_fill(~hidden, -inf).max().item()
        kept = x.masked_fill(hidden, -inf).max().item()
        seen = (hidden & ~near(weights, torch.zeros(()))).nonzero().flatten().tolist()
        off = int((~near(weights, good)).nonzero()[-1])
        if weights.isnan().any() and most_hidden - kept > 700:
            return (f"Row {row} has NaN: its largest score, {most_hidden:.6g}, is that of {s.token}. Next to it the exponentials "
                    "of the other keys are 0, and 0 / 0 is NaN. A hidden key must not take part in the softmax at all.")
        if weights.isnan().any():
            return (f"Row {row} has NaN. Possible reasons: 0 times inf is NaN (a mask of 0 and 1 multiplied by -inf), inf - inf "
                    "is NaN, and so is the softmax of a row in which every key is hidden, and 0 / 0, if each exp of a row is 0 "
                    "as exp(-9000) is.")
        if seen and kept < -1000:
            return (f"Row {row}: its scores, at most {kept:.6g}, are below the number that you hide with, so {s.token} gets the "
                    "largest share. A model can learn such scores, and then sees what is hidden."
                    + (" (-1e9 is below the scores of most models, and task 4 takes it. Here, the number that hides must be below "
                       "all scores.)" if kept < -1e9 else " Hide with a number that is below all scores."))
        if seen and score is not None:
            return (f"You hide keys with the score {score:.4g}. That is a score like others: {s.token} gets the weight "
                    f"{weights[seen[0]].item():.4g} in row {row}, and should get exactly 0.")
        if seen:
            return (f"Row {row} gives the weight {weights[seen[0]].item():.4g} to key {seen[0]}, which is {s.token}. It should "
                    "be 0.")
        if not is_near(weights.sum().item(), 1):
            return f"Row {row} sums to {weights.sum().item():.6g}, and should sum to 1."
        return (f"Hidden keys get 0 and row {row} sums to 1, but key {off} should have the weight {good[off].item():.4g}: "
                "softmax of the scores that are not hidden.")
    return "The numbers are right, and their order is not."


def compare(s, yours):
    """Compares yours; s has mistakes of its own mask already."""
    masked = s.hide(s.hidden, -inf)
    right = torch.softmax(masked, -1).to(s.dtype)
    if matches(s.what, yours, right):
        return
    number = s.hidden.double()
    added = ("You add a mask of 0 and 1 to the scores. A hidden key then has a score that differs by 1, which hides "
             "nothing.")
    along_queries = ("Your softmax runs along the queries: columns sum to 1. Each query, a row, should divide its attention "
                     "among the keys.")
    s.add(torch.softmax(s.hide(s.hidden, 0), -1),
          "The hidden scores are 0 in your code. That is no weight of 0: exp(0) is 1, more than other keys get if their "
          "scores are negative.")
    s.add(torch.softmax(s.x, -1).masked_fill(s.hidden, 0),
          "Your weights are set to 0 after the softmax, so rows sum to less than 1: the hidden keys have already taken "
          "their share.")
    for bias in (number, -number, 1 - number):
        s.add(torch.softmax(s.x + bias, -1), added)
    s.add(torch.softmax(masked, -2).nan_to_num(0), along_queries)
    s.add(torch.softmax(masked, -2), along_queries)
    s.add_mask(s.hidden | (s.x == 0), "You hide the scores that are 0, too. They are scores like others: a mask depends on the "
               "places of query and key, not on the score.")
    if masked.dim() > 2:
        along_first = ("Your softmax runs along dim 0: the sequences share their weights. Without a dim, F.softmax takes dim 0 of "
                       "three dims. Which dim has the keys?")
        s.add(torch.softmax(masked, 0), along_first)
        s.add(torch.softmax(masked, 0).nan_to_num(0), along_first)
    twice = ("softmax is applied twice: the second one takes shares for scores. They lie between 0 and 1, so it makes them nearly "
             "equal.")
    s.add(torch.softmax(torch.softmax(s.x, -1).masked_fill(s.hidden, -inf), -1), twice)
    s.add(torch.softmax(torch.softmax(masked, -1), -1), twice)
    s.add(torch.softmax(torch.softmax(masked, -1).masked_fill(s.hidden, -inf), -1), twice)
    s.add(masked, "Your result has masked scores, which are not shares yet.")
    s.add(torch.softmax(s.hide(s.hidden, inf), -1), "You hide keys with +INFINITY, and inf - inf, in the softmax, is NaN. Which "
          "score has the weight 0?")
    show("scores", first_wrong(s.x, yours, right))
    low = s.x.min().item() < -1000  # weights are 0 or 1, of many mistakes
    fits = yours.shape == right.shape
    common.compare(s.what, yours, right, [] if low else s.mistakes, symptom(s, yours.detach().double(), right.double()) if fits else "")


# ---- causal ----


def check_causal(causal_weights, x):
    case(f"causal_weights, scores {text_of(x.shape)}, {'f32' if x.dtype == torch.float32 else 'f64'}")
    yours = call("causal_weights", causal_weights, scores=x)
    ones = torch.ones(x.shape, dtype=torch.bool)
    s = Sought("causal_weights", "a later token", x, ones.triu(1))
    s.add(torch.softmax(s.x, -1),
          "Nothing is hidden: a query sees later tokens. "
          + ("(With two dims your code is right. From which dim does the mask get its size?)" if x.dim() > 2 else
             "Trained like this, a model copies the next token, and it has none to copy when it writes."))
    s.add(torch.softmax(s.x.triu(), -1),
          "The scores of earlier tokens are 0 in your code, and later tokens are seen: the other triangle is to be kept, and a "
          "score of 0 hides nothing, as exp(0) is 1.")
    s.add_mask(ones.triu(0), "You hide the diagonal, too. A token may see itself, and the first one has nothing else to look "
               "at.")
    s.add_mask(ones.tril(-1), "Your mask is transposed: it hides earlier tokens and shows later ones. Rows are queries, "
               "columns are keys.")
    s.add_mask(ones.tril(0), "Your mask is inverted: it hides what should be seen, and shows only later tokens. masked_fill "
               "replaces where its mask is true.")
    s.add_mask(ones.triu(2), "Your mask begins one column too late: row i sees token i + 1, which is what it should predict.")
    compare(s, yours)


# ---- padding ----


def check_padded(padded_weights, x, lengths):
    case(f"padded_weights, scores {text_of(x.shape)}, lengths {lengths.tolist()}")
    yours = call("padded_weights", padded_weights, scores=x, lengths=lengths)

    keys, queries, length = torch.arange(x.size(2)), torch.arange(x.size(1))[:, None], lengths[:, None, None]
    padding, late = keys >= length, queries >= length
    s = Sought("padded_weights", "padding", x, padding)
    s.add(torch.softmax(s.x, -1), "Nothing is hidden: queries look at padding.")
    s.add_mask(keys > length, "Off by one: the first padding key is still seen. Keys are counted from 0, so the last real one "
               "is length - 1.")
    s.add_mask(keys + 2 > length, "Off by one: the last real key is hidden, too. Keys are counted from 0, so it is length - 1.")
    s.add_mask(keys < length, "Your mask is inverted: it hides the tokens and shows the padding. masked_fill replaces where "
               "its mask is true.")
    s.add_mask(late, "You hide queries: rows of padding. Their results are ignored anyway. What must not be seen is a key, so "
               "a column, in every row.")
    s.add_mask(late | padding, "You hide keys, and queries as well. A row of padding then has nothing to look at: NaN, or "
               "equal shares of all keys. Its result is ignored anyway.")
    s.add_mask(keys >= lengths[:, None], "Your mask has a row for each sequence, and is used as one with a row for each query. "
               "All queries of a sequence have the length of that sequence: which shape broadcasts so?")
    s.add_mask(attempt(torch.ge, keys, lengths), "Key j is compared with the length of sequence j. Each key of a sequence "
               "should be compared with the length of that sequence: which shape broadcasts so?")
    s.add_mask(keys < x.size(2) - length, "You hide the first keys. Padding is at the end: sequence b has the keys 0 to "
               "lengths[b] - 1.")
    s.add_mask(keys >= lengths[0], "All sequences get the length of the first one. lengths has one for each.")
    s.add_mask((keys > queries).expand_as(padding | (keys > queries)), "That is the causal mask: the lengths are not used. Here a "
               "query may see later tokens, but no padding.")
    s.add_mask(padding | (keys > queries), "You hide later tokens, too. padded_weights hides padding alone.")
    s.add_mask(keys >= lengths.max(), "Your mask hides what is beyond the longest sequence, in all of them. Shorter ones have "
               "more padding.")
    compare(s, yours)


# ---- cases ----


# Scores of this size were found in a trained model, whose mask of -1e4 they undercut.
LOW = torch.tensor([[-15000, -9000, -9500], [-14000, -17000, -8000], [-12000, -13000, -14000]]).double()


def check_all_causal(causal_weights):
    first = torch.tensor([[1, 2, 0], [0, 1, 3], [2, 0, 1]]).double()
    negative = torch.tensor([[-5, -6, -7], [-8, -5, -6], [-7, -8, -5]]).double()
    for x in (first, negative, torch.zeros(1, 1).double(), LOW, LOW * 1e6):
        check_causal(causal_weights, x)
    torch.manual_seed(3)
    for i in range(20):
        front, T = (1 + i % 2, 2 + i % 3)[:i % 3], 1 + i % 7
        x = torch.randn(*front, T, T, dtype=torch.float64)
        check_causal(causal_weights, x.float() if i % 2 else x * i)  # f32 rounds large scores too much


def check_all_padded(padded_weights):
    # As many sequences, queries and keys: wrong shapes of a mask then broadcast. The first length is not the longest, and
    # the longest leaves padding.
    x = torch.tensor([[1, 2, 0, 3], [0, 1, 3, -1], [2, 0, 1, -2], [-1, 3, 2, 1]]).double()
    check_padded(padded_weights, torch.stack([x, x - 5, x, x - 5]), torch.tensor([2, 1, 3, 2]))
    check_padded(padded_weights, torch.arange(-8, 8).double().reshape(2, 2, 4), torch.tensor([3, 4]))
    check_padded(padded_weights, torch.zeros(1, 1, 1).double(), torch.tensor([1]))
    check_padded(padded_weights, torch.stack([LOW[:2], LOW[:2]]), torch.tensor([2, 3]))
    check_padded(padded_weights, LOW[None, 1:2] * 1e6, torch.tensor([2]))
    torch.manual_seed(33)
    for i in range(20):
        B, T, S = 1 + i % 4, 1 + i % 3, 1 + i % 6
        x = torch.randn(B, T, S, dtype=torch.float64)
        check_padded(padded_weights, x.float() if i % 2 else x * i, torch.randint(1, S + 1, (B,)))


def grade(causal_weights, padded_weights):
    if writes(causal_weights):
        check_all_causal(causal_weights)
    elif not writes(padded_weights):
        raise NotBegun
    check_all_padded(padded_weights)
    if not writes(causal_weights):
        case("causal_weights")
        fail("causal_weights: your code returns None. Is this gap still empty? padded_weights is right.")
