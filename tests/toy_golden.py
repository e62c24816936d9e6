#!/usr/bin/env python3
"""Makes toy_golden.h: the first losses of the toy next-token task in PyTorch, for tests/test_toy.c.

usage: toy_golden.py > toy_golden.h      (needs PyTorch; checked with 1.13.1 and 2.15.0)
The language is read from examples/toy_language.c, so that there is one list of words.
"""
import pathlib
import re
import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, LENGTH, FOODS = 20, 12, 6
torch.set_num_threads(1)

source = (pathlib.Path(__file__).parent.parent / "examples/toy_language.c").read_text()


def table(name):
    body = re.search(name + r"\[\w+\](?:\[3\])? = \{(.*?)\};", source, re.S).group(1)
    return re.findall(r'"(\w+)"', body)


words = table("subjects")
subjects = [words[i:i + 3] for i in range(0, len(words), 3)]
places = table("places")
words = table("verbs")
verbs = [words[i:i + 3] for i in range(0, len(words), 3)]

vocabulary = list(dict.fromkeys(
    ["<eos>", "the", "and", "it"] + [s[0] for s in subjects] + places + [w for v in verbs for w in v]
    + [s[1] for s in subjects] + [s[2] for s in subjects]))


def sentences(seed):
    train = []
    for s, (subject, first, second) in enumerate(subjects):
        for p, place in enumerate(places):
            for v, verb in enumerate(verbs):
                if (v == 0 and p == 0 and s >= FOODS) or (s + p + seed) % 6 == 0:
                    continue
                text = ["the", subject, *verb, "the", place, "and", "it", first, second, "<eos>"]
                train.append([vocabulary.index(w) for w in text])
    return torch.tensor(train)


class Head(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.W_q = nn.Linear(d_model, head_dim, bias=False)
        self.W_k = nn.Linear(d_model, head_dim, bias=False)
        self.W_v = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x, mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scaled = q @ k.transpose(-2, -1) / torch.tensor(k.size(-1) ** 0.5)
        return F.softmax(scaled.masked_fill(mask, -1e9), dim=-1) @ v


class Toy(nn.Module):
    def __init__(self, heads, d_model=32):
        super().__init__()
        head_dim = d_model // heads if heads > 2 else d_model
        self.we = nn.Embedding(len(vocabulary), d_model)
        position = torch.arange(LENGTH - 1).float().unsqueeze(1)
        div = 1 / torch.tensor(10000.0) ** (torch.arange(0, d_model, 2).float() / d_model)
        self.pe = torch.zeros(LENGTH - 1, d_model)
        self.pe[:, 0::2], self.pe[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
        self.heads = nn.ModuleList([Head(d_model, head_dim) for _ in range(heads)])
        self.W_o = nn.Linear(heads * head_dim, d_model, bias=False) if heads > 1 else nn.Identity()
        self.fc_layer = nn.Linear(d_model, len(vocabulary))

    def forward(self, tokens):
        x = self.we(tokens) + self.pe[:tokens.size(1)]
        mask = torch.tril(torch.ones(tokens.size(1), tokens.size(1))) == 0
        return self.fc_layer(x + self.W_o(torch.cat([h(x, mask) for h in self.heads], dim=-1)))


def losses(heads, seed=0, batch=32, total=2000, lr=2e-2):
    train = sentences(seed)
    torch.manual_seed(seed)
    model, out = Toy(heads), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, eps=1e-4, weight_decay=0.1)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = lr * min(1, (step + 1) / (0.1 * total))
        text = train[torch.randint(0, len(train), (batch,))]
        loss = F.cross_entropy(model(text[:, :-1]).reshape(-1, len(vocabulary)),
                               text[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


print("/* Made by toy_golden.py: losses of the first steps at seed 0, with 1, 2 and 4 heads. */")
for heads in (1, 2, 4):
    values = [f"{x:.7f}" for x in losses(heads)]
    lines = [", ".join(values[i:i + 8]) for i in range(0, len(values), 8)]
    print("{" + ",\n ".join(lines) + "},")
