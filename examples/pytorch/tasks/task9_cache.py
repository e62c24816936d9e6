"""Task 9: generation with a cache of keys and values.        python grade.py 9        python grade.py 9 --hint 1

A model writes one token after another. Without a cache, each step computes the keys and values of
all tokens again, though only one token is new. With a cache, a step computes those of the new token
and reads the others:

    token p:  q_p attends to k_0 ... k_p and v_0 ... v_p      (B, 1, d), (B, p + 1, d) twice

Row p must be the same as in one pass over the whole sentence, which forward computes. You can use
attend, with_positions, and the attributes keys and values, which are None at first.

Read first: lesson 9, "prefill, then one token at a time"; docs/questions.md, questions 28 to 31.
"""
import torch
from torch import nn

LONGEST = 24  # tokens of a sentence


def attend(q, k, v, block_mask=None):
    """q (B, n, d), k and v (B, S, d) -> softmax(q k^T / sqrt(d)) v, (B, n, d)

    block_mask: bool, broadcasts to (B, n, S), true blocks; or None: nothing is blocked."""
    scores = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
    if block_mask is not None:
        scores = scores.masked_fill(block_mask, -torch.inf)
    return torch.softmax(scores, -1) @ v


class Writer(nn.Module):
    """One head of attention that knows positions. d: d_model"""

    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("positions", torch.randn(LONGEST, d_model))  # row p belongs to position p
        self.keys = self.values = None  # yours: the cache

    def with_positions(self, x, position):
        """x (B, n, d), n tokens of which the first is at `position` -> x + the rows of their positions"""
        return x + self.positions[position:position + x.size(1)]

    def forward(self, x):
        """The whole sentence at once, as in training. Given. x (B, T, d) -> (B, T, d)"""
        x = self.with_positions(x, 0)
        block_mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        return self.W_o(attend(self.W_q(x), self.W_k(x), self.W_v(x), block_mask))

    def step(self, x, position):
        """One token: x (B, 1, d), the token at `position` -> (B, 1, d), its row of forward

        The tokens at positions 0 to position - 1 were the steps before. Position 0 begins a new sentence, with any B.
        The cache is self.keys and self.values; only the new token passes through W_q, W_k and W_v."""
        return None  # your code
