"""Task 10, solved. Each fault is a line: 1. the softmax ran along dim 1 of (B, queries, keys), so
columns summed to 1; 2. a triangle from diagonal 2 on leaves the next token free to see; 3. heads
were merged without transposing (B, heads, T, d_head) back, so rows got features of other tokens; 4.
is_word is true where attention is allowed, and masked_fill fills where its mask is true; 5. detach
cut the graph for the whole class, not only for the map, so W_q and W_k never learned."""
import torch
from torch import nn


class Attention(nn.Module):
    """The layers that the five classes share. Everything in here is right. All: x (B, T, d) -> (B, T, d)."""

    def __init__(self, d_model, heads=1):
        super().__init__()
        self.heads = heads  # of MultiHead
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)


class OneHead(Attention):
    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        weights = torch.softmax(scores, 2)
        return self.W_o(weights @ v), weights  # for the map


class NextWord(Attention):
    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        ones = torch.ones(x.size(1), x.size(1), dtype=torch.bool)
        scores = scores.masked_fill(ones.triu(1), -torch.inf)  # true blocks
        return self.W_o(torch.softmax(scores, 2) @ v)


class MultiHead(Attention):
    def split(self, x):
        """(B, T, d) -> (B, heads, T, d_head)"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = q @ k.transpose(2, 3) / k.size(3) ** 0.5
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
        y = torch.softmax(scores, 3) @ v
        y = y.transpose(1, 2).reshape(x.shape)
        return self.W_o(y)


class Padded(Attention):
    def forward(self, x, is_word):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        mask = ~is_word[:, None]  # (B, 1, T)
        weights = torch.softmax(scores.masked_fill(mask, -torch.inf), 2)
        return self.W_o(weights @ v), weights


class PreviousWord(Attention):
    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
        weights = torch.softmax(scores, 2)
        return self.W_o(weights @ v), weights
