"""Task 4, solved. An attribute that is an nn.Module is registered under its name, so that
optimisers, casts and files find W_q.weight; layers in a plain list would work, and never train. The
forward is the tutorial's, line by line. The mask is applied to the scores, before the softmax:
exp(-inf) is 0, and the other weights of the row still sum to 1."""
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, row_dim, col_dim):
        super().__init__()
        self.row_dim = row_dim  # of tokens
        self.col_dim = col_dim  # of features
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, token_encodings, mask):
        q, k, v = self.W_q(token_encodings), self.W_k(token_encodings), self.W_v(token_encodings)
        sims = q @ k.transpose(self.row_dim, self.col_dim)
        scaled_sims = sims / k.size(self.col_dim) ** 0.5
        if mask is not None:
            scaled_sims = scaled_sims.masked_fill(mask, -torch.inf)
        return torch.softmax(scaled_sims, self.col_dim) @ v
