#!/usr/bin/env python3
"""Makes optim_golden.h: parameters after 50 steps of torch's optimisers in f64, for tests/test_optim.c.

usage: optim_golden.py > optim_golden.h      (needs PyTorch; checked with 1.13.1 and 2.15.0)
"""
import math
import torch

ROWS = [
    ("SGD", "0.1, 0, 0, 0, 0, false", dict(lr=0.1)),
    ("SGD", "0.1, 0.9, 0, 0, 0, false", dict(lr=0.1, momentum=0.9)),
    ("SGD", "0.1, 0.9, 0.5, 0, 0.01, false", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01)),
    ("SGD", "0.05, 0.8, 0, 0, 0.02, true", dict(lr=0.05, momentum=0.8, weight_decay=0.02, nesterov=True)),
    ("Adam", "0.1, 0.9, 0.999, 1e-8, 0, false", dict(lr=0.1)),
    ("Adam", "0.02, 0.5, 0.9, 1e-3, 0.1, false", dict(lr=0.02, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1)),
    ("AdamW", "0.1, 0.9, 0.999, 1e-8, 0.01, false", dict(lr=0.1)),
    ("AdamW", "0.02, 0.5, 0.9, 1e-3, 0.1, false", dict(lr=0.02, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1)),
]
print("/* Made by optim_golden.py: {optimiser, its options, p[0..3] after 50 steps}. */")
for name, text, options in ROWS:
    p = torch.tensor([1.0, -0.5, 0.25, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([p], **options)
    for t in range(50):
        # as gradient_at of test_optim.c
        p.grad = torch.tensor([math.cos(0.7 * i + 0.3 * t) for i in range(4)], dtype=torch.float64) + 0.1 * p.detach()
        optimizer.step()
    print("{\"%s\", {%s}, {%s}}," % (name, text, ", ".join(f"{x:.17g}" for x in p.tolist())))
