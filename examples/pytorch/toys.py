"""The twin of build/toys in PyTorch: reads the settings and losses of runs, repeats them and compares.

    build/toys induction --steps 100 --losses | python examples/pytorch/toys.py [--limit 1e-5]

The same seed gives the same weights and batches: each function draws what the C function of its name draws, in the same
order. (Where training is chaotic, rounding grows from step to step: use fewer steps or a smaller --lr.)
"""
import argparse
import math
import sys
import torch
from torch import nn
from torch.nn import functional as F

UNSCORED, TEST_SEEDS = -100, 1000000007


# ---- tasks: (inputs, targets), as in examples/lab/toys/TASK.c ----

def numbers(below, *shape):
    return torch.randint(0, below, (math.prod(shape),)).reshape(shape)


def answers(s, rows, answer):
    x = numbers(s.symbols, rows, s.length)
    y = answer(x)
    return torch.cat([x, torch.full((rows, 1), s.symbols), y[:, :-1]], 1), y


def copy(s, rows):
    return answers(s, rows, lambda x: x)


def reverse(s, rows):
    return answers(s, rows, lambda x: x.flip(1))


def sort(s, rows):
    return answers(s, rows, lambda x: x.sort(1).values)


def induction(s, rows):
    n = s.length
    least, most = max(n // 4, 1), max(n // 2, 1)
    period = least + numbers(most - least + 1, rows)
    x = torch.cat([numbers(s.symbols, rows, n), torch.zeros(rows, 1, dtype=torch.long)], 1)
    for row, p in zip(x, period.tolist()):
        for t in range(p, n + 1):
            row[t] = row[t - p]
    scored = torch.arange(n) >= period[:, None]
    return x[:, :n], torch.where(scored, x[:, 1:], UNSCORED)[:, least:]


def shuffle(items, count, draws):
    for i in range(count):
        j = i + draws[i] % (len(items) - i)
        items[i], items[j] = items[j], items[i]
    return items


def recall(s, rows):
    n = s.length
    to_keys, to_order = numbers(1 << 24, rows, n).tolist(), numbers(1 << 24, rows, n).tolist()
    values = numbers(s.symbols, rows, n).tolist()
    inputs, targets = [], []
    for r in range(rows):
        keys = shuffle(list(range(s.symbols)), n, to_keys[r])
        order = shuffle(list(range(n)), n, to_order[r])
        pairs = [token for i in range(n) for token in (keys[i], s.symbols + values[r][i])]
        inputs.append(pairs + [keys[i] for i in order])
        targets.append([values[r][i] for i in order])
    return torch.tensor(inputs), torch.tensor(targets)


def majority(s, rows):
    x = numbers(2, rows, s.length)
    return x, (2 * x.cumsum(1) > torch.arange(1, s.length + 1)).long()[:, ::2]


def parity(s, rows):
    x = numbers(2, rows, s.length)
    return x, x.cumsum(1) % 2


def dyck(s, rows):
    opens, kinds = numbers(2, rows, s.length).tolist(), numbers(s.symbols, rows, s.length).tolist()
    inputs, targets = [], []
    for r in range(rows):
        stack, x, y = [], [], []
        for t in range(s.length):
            if not stack or (len(stack) < 4 and opens[r][t]):
                stack.append(kinds[r][t])
                x.append(stack[-1])
            else:
                x.append(s.symbols + stack.pop())
            y.append(stack[-1] if stack else UNSCORED)
        inputs.append(x)
        targets.append(y)
    return torch.tensor(inputs), torch.tensor(targets)


def lottery(s, rows):
    return numbers(s.symbols, rows, s.length), numbers(s.symbols, rows, s.length)


def modadd(s, rows):
    p = s.symbols
    torch.manual_seed(s.seed + TEST_SEEDS)
    pair = torch.randperm(p * p)[:int(s.share * p * p)]
    x, y = pair // p, pair % p
    return torch.stack([x, y, torch.full_like(x, p)], 1), ((x + y) % p)[:, None]


def regression(s, rows):
    d, n = s.symbols, s.length + 1
    w, x = torch.randn(rows, d), torch.randn(rows, n, d)
    y = (x.double() @ w.double()[:, :, None])[:, :, 0].float()
    tokens = torch.zeros(rows, n, 2, d + 1)
    tokens[:, :, 0, :d], tokens[:, :, 1, d] = x, y
    return tokens.reshape(rows, 2 * n, d + 1)[:, :-1], y


def shape(s, inputs, targets):
    """The first scored position, the distance to the next, the vocabulary (0: tokens are numbers), the outputs."""
    tokens, vocabulary, outputs = inputs.size(1), s.symbols, s.symbols
    every = 2 if s.task in ("majority", "regression") else 1
    first = 0 if every == 2 else tokens - targets.size(1)
    if s.task in ("majority", "parity"):
        vocabulary = outputs = 2
    elif s.task in ("copy", "reverse", "sort", "modadd"):
        vocabulary += 1
    elif s.task in ("recall", "dyck"):
        vocabulary *= 2
    elif s.task == "regression":
        vocabulary, outputs = 0, 1
    return first, every, vocabulary, outputs


# ---- the model ----

def norm(s):
    return nn.LayerNorm(s.width) if s.norm == "layer" else nn.Identity()


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.norm_1 = norm(s)
        self.qkv = nn.Linear(s.width, 3 * s.width, bias=False)
        self.W_o = nn.Linear(s.width, s.width, bias=False)
        self.norm_2 = norm(s)
        if s.ff:
            self.ff = nn.Sequential(nn.Linear(s.width, s.ff), nn.ReLU(), nn.Linear(s.ff, s.width))

    def rotate(self, x):
        if self.s.positions != "rotary":
            return x
        half = x.size(-1) // 2
        angle = torch.arange(x.size(2)).double()[:, None] / 10000 ** (torch.arange(half).double() / half)
        cos, sin, a, b = angle.cos().float(), angle.sin().float(), x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, x):
        rows, tokens, width = x.shape
        q, k, v = (part.view(rows, tokens, self.s.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm_1(x)).split(width, -1))
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        x = x + self.W_o(y.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.ff(self.norm_2(x)) if self.s.ff else x


class Toy(nn.Module):
    def __init__(self, s, tokens, first, every, vocabulary, outputs):
        super().__init__()
        self.s, self.first, self.every = s, first, every
        self.wte = self.embedding(vocabulary) if vocabulary else nn.Linear(s.symbols + 1, s.width)
        if s.positions == "learned":
            self.wpe = self.embedding(tokens)
        elif s.positions == "sinusoidal":
            i = torch.arange(s.width)
            angle = torch.arange(tokens)[:, None].double() / 10000 ** ((i - i % 2) / s.width).double()
            pe = torch.where(i % 2 == 0, angle.sin(), angle.cos()).float()
            self.register_buffer("pe", pe * math.sqrt(2 / s.width))
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = norm(s)
        self.unembed = nn.Linear(s.width, outputs, bias=False)

    def embedding(self, rows):
        embedding = nn.Embedding(rows, self.s.width)
        with torch.no_grad():
            embedding.weight.mul_(1 / math.sqrt(self.s.width))
        return embedding

    def forward(self, inputs):
        x, tokens = self.wte(inputs), inputs.size(1)
        if self.s.positions == "learned":
            x = x + self.wpe.weight[:tokens]
        elif self.s.positions == "sinusoidal":
            x = x + self.pe[:tokens]
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.norm(x[:, self.first::self.every]))


# ---- training ----

def rate(s, step):
    if step < s.warmup:
        return s.lr * (step + 1) / (s.warmup + 1)
    left = (s.steps - step) / (s.steps - s.warmup)
    return s.lr * (1 - math.cos(math.pi * left)) / 2 if s.schedule == "cosine" else s.lr


def losses(s, steps):
    draw = globals()[s.task]
    trained_on = draw(s, s.batch)  # its shape; of modadd, the batch itself
    tokens = trained_on[0].size(1)
    if s.longer > s.length:  # positions for the longer sequences are drawn too
        tokens = draw(argparse.Namespace(**{**vars(s), "length": s.longer}), 1)[0].size(1)
    sizes = shape(s, *trained_on)
    torch.manual_seed(s.seed)
    model = Toy(s, tokens, *sizes)
    adamw = torch.optim.AdamW(model.parameters(), lr=s.lr, betas=(0.9, 0.98), weight_decay=s.weight_decay)
    for step in range(steps):
        inputs, targets = trained_on if s.task == "modadd" else draw(s, s.batch)
        outputs = model(inputs)
        if sizes[2] == 0:
            loss = F.mse_loss(outputs.squeeze(-1), targets)
        else:
            logits = outputs.reshape(-1, sizes[3])
            loss = F.cross_entropy(logits.double() if s.loss == "f64" else logits, targets.reshape(-1))
        adamw.zero_grad()
        loss.backward()
        adamw.param_groups[0]["lr"] = rate(s, step)
        adamw.step()
        yield loss.item()


def setting(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--limit", type=float, default=1e-5, help="fail above this relative difference of a loss")
    given = arguments.parse_args()
    runs = []
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["run"]:
            s = argparse.Namespace(**{name: setting(value) for name, value in (w.split("=") for w in words[1:])})
            runs.append((s, []))
        elif words[:1] == ["step"]:
            runs[-1][1].append(float(words[3]))
    if not runs or not all(of_heed for _, of_heed in runs):
        sys.exit("toys.py: no run of build/toys TASK --losses on the standard input")
    torch.set_num_threads(1)
    for s, of_heed in runs:
        worst = 0
        for step, (mine, heed) in enumerate(zip(losses(s, len(of_heed)), of_heed), 1):
            off = abs(mine - heed) / max(1, abs(heed))
            worst = max(worst, off)
            if not off <= given.limit:
                sys.exit(f"{s.task}: step {step}: loss {mine:.9g}, in Heed {heed:.9g}")
        print(f"{s.task}: {len(of_heed)} steps, loss {of_heed[-1]:.6f}; differences up to {worst:.1e}")


main()
