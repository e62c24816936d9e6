"""A GPT that learns a text character by character: `build/gpt train` in plain PyTorch.

    python char_gpt.py --text FILE --log torch.csv
    build/gpt train --text FILE --log heed.csv

The flags have the same meaning. From the same seed both programs begin with the same weights, draw the same
batches and log the same losses, except for rounding. Read it alongside examples/lab/gpt/model.h and model.c: classes, names
and order are the same.
"""
import argparse
import csv
import math
import sys
import time
import torch
from torch import nn
import torch.nn.functional as F


# ---- the model ----


class CausalSelfAttention(nn.Module):
    """Token i attends to tokens 0 ... i."""

    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)  # queries, keys, values
        self.c_proj = nn.Linear(n_embd, n_embd)  # mixes the heads
        self.resid_dropout = nn.Dropout(dropout)
        self.n_head, self.dropout = n_head, dropout

    def forward(self, x):  # (B, T, C)
        q, k, v = (part.unflatten(-1, (self.n_head, -1)).transpose(1, 2)  # (B, H, T, C / H)
                   for part in self.c_attn(x).chunk(3, dim=-1))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


class MLP(nn.Module):
    def __init__(self, n_embd, dropout):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, dropout)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd, dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_head, n_embd, dropout=0.0):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab_size, n_embd),
            "wpe": nn.Embedding(block_size, n_embd),
            "drop": nn.Dropout(dropout),
            "h": nn.ModuleList(Block(n_embd, n_head, dropout) for _ in range(n_layer)),
            "ln_f": nn.LayerNorm(n_embd),
        })
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight  # tied: one matrix embeds and predicts tokens
        self.apply(self.initialise)
        for name, parameter in self.named_parameters():  # the 2 n_layer residual branches start with smaller weights
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * n_layer))

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx):  # (B, T) -> (B, T, V)
        t = self.transformer
        x = t.drop(t.wte(idx) + t.wpe.weight[:idx.size(1)])
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


def loss_of(model, x, y, reduction="mean"):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction=reduction)


# ---- the text ----


def read_characters(path):
    """The text as ids, and its characters in the order of their code points: id i is the i-th."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    characters = sorted(set(text))
    number_of = {character: number for number, character in enumerate(characters)}
    return torch.tensor([number_of[character] for character in text]), characters


def split(data):
    """The first nine tenths for training, the last tenth for validation."""
    learnt = int(0.9 * len(data))
    return data[:learnt], data[learnt:]


def draw_batch(data, batch, context):
    """Random windows, and the same windows shifted by one character: the targets at each position."""
    starts = torch.randint(len(data) - context, (batch,))
    return (torch.stack([data[i:i + context] for i in starts]),
            torch.stack([data[i + 1:i + 1 + context] for i in starts]))


def windows(data, context, most):
    """All complete adjacent windows; only every k-th if there are more than `most`."""
    count = (len(data) - 1) // context
    x, y = (data[first:first + count * context].view(count, context) for first in (0, 1))
    every = count // most if count > most else 1
    return x[::every][:most], y[::every][:most]


# ---- training ----


def make_optimiser(model, weight_decay):
    """AdamW with weight decay for matrices, but not for biases or the weights of norms."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": weight_decay},
                              {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.99), eps=1e-8)


def learning_rate(step, o):
    """Linear warmup, then cosine decay to min_lr."""
    if step < o.warmup:
        return o.lr * (step + 1) / (o.warmup + 1)
    down = (step - o.warmup) / (o.steps - o.warmup)
    return o.min_lr + (o.lr - o.min_lr) * (1 + math.cos(math.pi * down)) / 2


@torch.no_grad()
def validate(model, x, y, at_once=64):
    """The mean loss over all windows, in nats per character."""
    model.eval()
    total = sum(loss_of(model, *part, reduction="sum").item()
                for part in zip(x.split(at_once), y.split(at_once)))
    model.train()
    return total / y.numel()


def train(model, data, o):
    """Yields a row for each step: step, loss, val_loss (or None), lr, grad_norm, tokens_per_second."""
    learnt, held_out = split(data)
    x_val, y_val = windows(held_out, o.context, o.eval_windows)
    optimiser = make_optimiser(model, o.weight_decay)
    for step in range(o.steps):
        began = time.perf_counter()
        lr = learning_rate(step, o)
        for group in optimiser.param_groups:
            group["lr"] = lr
        loss = loss_of(model, *draw_batch(learnt, o.batch, o.context))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), o.clip or math.inf)
        optimiser.step()
        optimiser.zero_grad()
        speed = o.batch * o.context / (time.perf_counter() - began)
        measured = len(x_val) > 0 and ((step + 1) % o.eval_every == 0 or step + 1 == o.steps)
        val_loss = validate(model, x_val, y_val) if measured else None
        yield step + 1, loss.item(), val_loss, lr, norm.item(), speed


# ---- the program ----


def options(arguments=None):
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--text", required=True, help="train on this UTF-8 text")
    o.add_argument("--steps", type=int, default=2000)
    o.add_argument("--batch", type=int, default=12)
    o.add_argument("--context", type=int, default=64)
    o.add_argument("--n-layer", type=int, default=4)
    o.add_argument("--n-head", type=int, default=4)
    o.add_argument("--n-embd", type=int, default=128)
    o.add_argument("--dropout", type=float, default=0.0)
    o.add_argument("--lr", type=float, default=1e-3)
    o.add_argument("--min-lr", type=float, help="final learning rate; default: --lr / 10")
    o.add_argument("--warmup", type=int, help="default: 100, or --steps / 10 if --steps is at most 100")
    o.add_argument("--weight-decay", type=float, default=0.1)
    o.add_argument("--clip", type=float, default=1.0, help="clip the norm of all gradients to this; 0: no clipping")
    o.add_argument("--seed", type=int, default=1337)
    o.add_argument("--eval-every", type=int, default=250)
    o.add_argument("--eval-windows", type=int, default=512)
    o.add_argument("--log", help="write a CSV row for each step to this file")
    o.add_argument("--log-every", type=int, default=10, help="steps between progress lines")
    o.add_argument("--threads", type=int, help="default: PyTorch's choice")
    o.add_argument("--save", help="save the model to this file (needs safetensors)")
    given = o.parse_args(arguments)
    if given.min_lr is None:
        given.min_lr = given.lr / 10
    if given.warmup is None:
        given.warmup = 100 if given.steps > 100 else given.steps // 10
    if given.warmup >= given.steps > 0:
        o.error(f"--warmup {given.warmup}: must be less than --steps {given.steps}")
    if given.threads:
        torch.set_num_threads(given.threads)
    return given


def begin(o):
    """The untrained model and the text."""
    data, characters = read_characters(o.text)
    torch.manual_seed(o.seed)
    return GPT(len(characters), o.context, o.n_layer, o.n_head, o.n_embd, o.dropout), data


def main():
    o = options()
    model, data = begin(o)
    log = csv.writer(open(o.log, "w", newline="", buffering=1), lineterminator="\n") if o.log else None
    if log:
        log.writerow("step loss val_loss lr grad_norm tokens_per_second".split())
    for step, loss, val_loss, lr, norm, speed in train(model, data, o):
        if log:
            log.writerow([step, f"{loss:.9g}", "" if val_loss is None else f"{val_loss:.9g}", f"{lr:.9g}",
                          f"{norm:.9g}", f"{speed:.0f}"])
        if step % o.log_every == 0 or val_loss is not None:
            validation = "" if val_loss is None else f"   held-out {val_loss:.3f}"
            print(f"step {step:5}/{o.steps}   loss {loss:.3f}{validation}   {speed:.0f} tokens/s", flush=True)
    if o.save:
        from safetensors.torch import save_model
        save_model(model, o.save, metadata={"format": "pt"})


if __name__ == "__main__":
    sys.exit(main())
