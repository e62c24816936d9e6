"""Task 3: masks.        python grade.py 3        python grade.py 3 --hint 1

A query must not look at every key. A model that predicts the next token would find it in row i
if that row could see token i + 1. And sequences of a batch that are shorter than the longest one
are filled up with padding, which means nothing. The mask says which keys are hidden:

    causal     query i sees keys 0 to i
    padding    all queries of sequence b see its keys 0 to lengths[b] - 1

A hidden key gets the weight 0, and what the others get is softmax of their scores alone, so each
row still sums to 1: as if the hidden keys did not exist, also if all scores of a row are low.
The two functions are graded apart, so you can begin with either.

Read first: lesson 4, [6], the softmax over zeros and -inf; docs/questions.md, questions 4 and 8
to 15; docs/attention.md. Build the masks yourself, for example with torch.triu or torch.tril of
torch.ones, or with torch.arange and a comparison such as <. torch.softmax is yours to use.
"""
import torch


def causal_weights(scores):
    """scores (..., T, T), f32 or f64, rows are queries. Returns the weights (..., T, T), of the same
    dtype. Only numbers are graded, no gradients."""
    return None  # your code


def padded_weights(scores, lengths):
    """scores (B, T, S), f32 or f64, and lengths (B), int64, each from 1 to S. Returns the weights
    (B, T, S), of the same dtype. Queries beyond a length get weights as well, and are graded."""
    return None  # your code
