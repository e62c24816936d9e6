"""The model of examples/lab/next_token in PyTorch: the same modules, names, order and numbers.

Created after torch.manual_seed(seed), it has the initial weights of next_token --seed.
"""
import math
import re
import torch
from torch import nn
from safetensors import safe_open
from safetensors.torch import load_file, save_file


class SelfAttention(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.W_q = nn.Linear(d_model, head_dim, bias=False)
        self.W_k = nn.Linear(d_model, head_dim, bias=False)
        self.W_v = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x, block_mask):  # (B, T, d_model), (T, T); true blocks
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scaled_sims = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        return torch.softmax(scaled_sims.masked_fill(block_mask, -math.inf), dim=-1) @ v


class MultiHead(nn.Module):
    def __init__(self, d_model, heads, head_dim):
        super().__init__()
        self.heads = nn.ModuleList(SelfAttention(d_model, head_dim) for _ in range(heads))
        self.W_o = nn.Linear(heads * head_dim, d_model, bias=False)

    def forward(self, x, block_mask):
        return self.W_o(torch.cat([head(x, block_mask) for head in self.heads], dim=-1))


class PositionEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        i = torch.arange(d_model)
        angle = torch.arange(max_len).unsqueeze(1) / 10000 ** ((i - i % 2) / d_model)
        self.register_buffer("pe", torch.where(i % 2 == 0, angle.sin(), angle.cos()))

    def forward(self, x):
        return x + self.pe[:x.size(-2)]


class NextToken(nn.Module):
    def __init__(self, words, context, d_model, heads):
        super().__init__()
        self.we = nn.Embedding(words, d_model)
        self.pe = PositionEncoding(d_model, context)
        if heads == 1:
            self.self_attention = SelfAttention(d_model, d_model)
        else:
            self.multi_head = MultiHead(d_model, heads, d_model // heads)
        self.fc_layer = nn.Linear(d_model, words)

    def forward(self, tokens):  # (B, T) or (T) -> (B, T, words) or (T, words)
        x = self.pe(self.we(tokens))
        block_mask = torch.ones(x.size(-2), x.size(-2), dtype=torch.bool, device=x.device).triu(1)
        attention = self.self_attention if hasattr(self, "self_attention") else self.multi_head
        return self.fc_layer(x + attention(x, block_mask))


# ---- files ----

def load(path):
    """The model in a file from next_token --save, and the file's metadata."""
    with safe_open(path, "pt") as file:
        about = file.metadata() or {}
    if about.get("format") != "heed next_token 1":
        raise SystemExit(f"{path}: not a model written by next_token --save")
    model = NextToken(len(vocabulary(about)), int(about["context"]), int(about["d_model"]), int(about["heads"]))
    model.load_state_dict(load_file(path))
    return model, about


def save(model, about, path):
    """Saves for next_token --load: the state dict, with the metadata of the original file."""
    save_file(model.state_dict(), path, metadata=about)


# ---- tokens, split as in examples/lab/common/text.c ----

BLANK = "\x01-\x09\x0b-\x20\x7f-\xa0\u1680\u2000-\u200b\u2028-\u202f\u205f-\u2064\u3000\ufeff"
MARK = (r"!-/:-@[-\^`{-~" "\xa1-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2010-\u2027\u2030-\u205e\u20a0-\u20cf"
        "\u2190-\u2bff\u3001-\u3003\u3008-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
        "\U0001f000-\U0001faff")
LETTER = rf"[^\n{BLANK}{MARK}]"
WORD = re.compile(rf"\n|[{MARK}]|{LETTER}(?:{LETTER}|['\u2019](?={LETTER})|(?<=[0-9])[.,](?=[0-9]))*")


def vocabulary(about):
    """The tokens in the order of their ids."""
    words = about["vocabulary"]
    if about["task"] == "toy":
        return words.split(" ")
    return ["<unknown>", *(words if about["task"] == "char" else words.split(" "))]


def encode(about, text):
    number = {token: i for i, token in enumerate(vocabulary(about))}
    if about["task"] == "toy":
        return torch.tensor([number[word] for word in text.split()])
    tokens = text if about["task"] == "char" else WORD.findall(text)
    return torch.tensor([number.get(token, 0) for token in tokens])


def read_text(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return file.read().replace("\r\n", "\n")
