"""Task 8: several heads.        python grade.py 8        python grade.py 8 --hint 1

One softmax gives a token one mixture of the others. Several heads give it several, each with
queries, keys and values of its own, which are cut out of one product: with C features and h
heads, head 0 gets features 0 to C / h - 1 of every token, head 1 the next C / h, and so on.

    split    (B, T, C) -> (B, heads, T, width), width = C / heads
    attend   softmax(q k^T / sqrt(width)) v, in each head alone (tasks 2 and 3; without a mask)
    merge    (B, heads, T, width) -> (B, T, C), each token's heads side by side again
    output   W_o, which mixes what the heads have found

Use PyTorch's functions, so that gradients reach all four W. m.W_q(x) is x W_q^T. Read first:
lesson 8, part 1; docs/questions.md, questions 2 and 16 to 20.
"""
import torch


def split_heads(x, heads):
    """x (B, T, C) -> (B, heads, T, C / heads)"""
    return None  # your code


def merge_heads(y):
    """y (B, heads, T, width) -> (B, T, heads * width)"""
    return None  # your code


def forward(m, x):
    """x (B, T, C) -> (B, T, C). m has the linears W_q, W_k, W_v and W_o, from C to C features and
    without a bias, and the number of heads, m.heads."""
    return None  # your code
