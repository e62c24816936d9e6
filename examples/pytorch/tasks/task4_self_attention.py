"""Task 4: the tutorial's class SelfAttention.        python grade.py 4        python grade.py 4 --hint 1

class SelfAttention(nn.Module) of "Coding Self-Attention in PyTorch": it owns three layers, and its
forward computes, for each token, a mean of all tokens' values:

    q = x W_q^T    k = x W_k^T    v = x W_v^T
    y = softmax(q k^T / sqrt(d)) v        d: the width of a key, here d_model

The class is told where tokens and features are: row_dim and col_dim are 0 and 1 for x (T, d), 1 and
2 for (B, T, d), -2 and -1 for either. k is transposed in these dims, the softmax runs along col_dim,
and d is k's size in col_dim. So a module with dims 1 and 2 raises an error for x (T, d): PyTorch's
functions do that for a dim that x does not have.

Read first: lesson 3, "SelfAttention.forward, line by line"; docs/questions.md, questions 1 to 8.
"""
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, row_dim, col_dim):
        """Three layers without bias: the module's parameters are W_q.weight, W_k.weight and W_v.weight, each
        (d_model, d_model), and no others."""
        super().__init__()
        self.row_dim = row_dim  # of tokens
        self.col_dim = col_dim  # of features
        # your code

    def forward(self, token_encodings, mask):
        """token_encodings (..., T, d_model) -> (..., T, d_model)

        mask: bool, broadcasts to the scores (..., T, T), true blocks; or None: nothing is blocked. A query (row) gives a
        blocked key (column) the weight 0."""
        return None  # your code
