"""Grades task 8: several heads."""
import math

import torch
from torch import nn

from graders.common import attempt, attention_check, call, case, compare, fail, matches, show, text_of

TITLE = "several heads"
HINTS = (
    "A reshape never moves a number, a transpose does. Write down where feature 2 of token 1 lies in (B, T, C), and where "
    "in (B, heads, T, width).",
    "(B, T, C) is also (B, T, heads, width): that is a reshape. Then heads and tokens change places. To merge, undo the "
    "last step first. In forward, W_q, W_k and W_v come before the heads are split, and W_o after they are merged.",
)
QUESTIONS = (
    "Two heads of 4 features, or one of 8: which needs more weights, and what can two do that one cannot?",
    "The softmax of each head is over the same tokens. Why do the heads not learn the same?",
)
NAMES = ("split_heads", "merge_heads", "forward")
FORBIDDEN = {"scaled_dot_product_attention", "multi_head_attention_forward"}


# ---- right and wrong ways to split and merge ----


def cut(x, heads):
    return x.reshape(*x.shape[:2], heads, -1)


def split(x, heads):
    return cut(x, heads).transpose(1, 2)


def split_by_view(x, heads):
    return x.reshape(len(x), heads, x.size(1), -1)


def deal(x, heads):
    """Feature i goes to head i % heads."""
    return cut(x, x.size(2) // heads).permute(0, 3, 1, 2)


def join(y, *order):
    return y.permute(order).reshape(len(y), y.size(2), -1)


def merge(y):
    return join(y, 0, 2, 1, 3)


def merge_by_view(y):
    return join(y, 0, 1, 2, 3)


def collect(y):
    return join(y, 0, 2, 3, 1)


BY_VIEW = ("You split by a reshape alone. It keeps the order of the numbers, so the sequence is cut in place of the features: "
           "head 0 gets all features of the first tokens, and never sees the last ones.")
DEALT = ("You have width and heads exchanged: head 0 gets features 0, {} and so on. The features of a head should lie side by "
         "side, because they come from neighbouring rows of W_q, W_k and W_v.")
MERGED_BY_VIEW = ("You merge by a reshape alone. It keeps the order of the numbers, and in each head the tokens lie side by "
                  "side: a token gets features of other tokens, later ones too.")


# ---- split ----


def check_split(split_heads, x, heads):
    case(f"split_heads, x {text_of(x.shape)}, {heads} head{'' if heads == 1 else 's'}")
    yours = call("split_heads", split_heads, x=x, heads=heads)
    width = x.size(2) // heads
    mistakes = (
        (split_by_view(x, heads), BY_VIEW),
        (cut(x, heads),
         "The features are cut into heads, but the heads stand behind the tokens: (B, T, heads, width). Products and softmax "
         "run over the last two dims, so these should be the tokens and the width."),
        (deal(x, heads), DEALT.format(heads)),
        (cut(x, width).transpose(1, 2),
         "You have width and heads exchanged: that is attention in `width` heads of `heads` features."),
        (cut(x, heads).permute(2, 0, 1, 3),
         "The heads come before the batch. Dim 0 should stay that of the sequences."),
    )
    right = split(x, heads)
    if not matches("split_heads", yours, right) and len(x) == 1:
        show("x, 10 times the token plus the feature", x[0])
    compare("split_heads", yours, right, mistakes,
            "Head h should have features h * width to (h + 1) * width - 1 of every token.")


# ---- merge ----


def check_merge(merge_heads, y):
    case(f"merge_heads, y {text_of(y.shape)}")
    yours = call("merge_heads", merge_heads, y=y)
    fewer = ("You add the heads up or average them. Then W_o cannot tell which head has found what: they should stand side by "
             "side.")
    mistakes = (
        (merge_by_view(y), MERGED_BY_VIEW),
        (collect(y), DEALT.format(y.size(1))),
        (y.mean(1), fewer),
        (y.sum(1), fewer),
        (y[:, 0], "You return head 0 alone."),
        (y.transpose(1, 2), "The heads are still a dim of their own. Each token should have one row of heads * width "
                            "features."),
        (join(y, 0, 1, 3, 2), "You exchange tokens and width. Which dim should come before the width, so that each token's "
                              "heads are side by side?"),
    )
    right = merge(y)
    if not matches("merge_heads", yours, right) and len(y) == 1:
        show("y, head 0; 10 times the token plus the feature", y[0, 0])
    compare("merge_heads", yours, right, mistakes,
            "Row t should have head 0 of token t, then head 1 of token t, and so on.")


# ---- forward ----


class MultiHead(nn.Module):
    """The layers that forward gets."""

    def __init__(self, C, heads, dtype):
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(C, C, bias=False)
        self.W_k = nn.Linear(C, C, bias=False)
        self.W_v = nn.Linear(C, C, bias=False)
        self.W_o = nn.Linear(C, C, bias=False)
        self.to(dtype)


def attend(m, q, k, v, split=split, merge=merge, change=None, divisor=None, dim=-1, causal=False):
    """q, k, v (B, T, C) -> (B, T, C), without W_o; with, perhaps, one mistake: another split or merge, a change of the
    weights, another divisor of the scores or dim of the softmax (None: no softmax)."""
    q, k, v = (split(t, m.heads) for t in (q, k, v))
    w = q @ k.transpose(-2, -1) / (math.sqrt(m.W_q.in_features / m.heads) if divisor is None else divisor)
    if causal:
        w = w.masked_fill(torch.ones(w.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    w = w if dim is None else torch.softmax(w, dim)
    w = w if change is None else change(w)
    return merge(w @ v)


def explain(m, x, yours, right):
    T, C = x.shape[1:]
    width = C // m.heads
    q, k, v = m.W_q(x), m.W_k(x), m.W_v(x)
    mistakes = [
        (attend(m, q, k, v), "W_o is missing: until then the features of the heads stand side by side, and no feature has used "
                             "more than one head."),
        (attend(m, q, k, m.W_o(v)), "W_o comes before the heads are merged. It should mix what the heads have found, so it has "
                                    "to come after all of them."),
        (attend(m, q, k, v) @ m.W_o.weight, "You multiply by W_o's weight itself. A Linear multiplies by its transpose: its weight "
                                            "has the shape (out, in)."),
        (x + right, "You add x. That is done around attention, in a block; forward returns what attention finds."),
        (m.W_o(attend(m, k, q, v)), "Queries and keys are exchanged: W_q gives the queries, whose rows the scores have."),
        (m.W_o(attend(m, q, q, v)), "Your keys come from W_q."),
        (m.W_o(attend(m, q, k, k)), "Your values come from W_k."),
        (m.W_o(attend(m, x, x, x)), "Your queries, keys and values are x itself, without W_q, W_k and W_v."),
    ]
    counts = "What counts is how many products are added up in a score."
    ways = (
        ({"divisor": math.sqrt(C)},
         f"You divide the scores by the root of {C}, the width of the model. In one of {m.heads} heads a score is a sum of "
         f"{width} products only."),
        ({"divisor": width}, "You divide the scores by the width, without the root."),
        ({"divisor": 1}, "Your scores are not scaled."),
        ({"divisor": math.sqrt(3)},
         "You divide the scores by the root of 3 in each case. It was the root of the width before; here the width is another number."),
        ({"divisor": math.sqrt(m.heads)}, f"You divide the scores by the root of the number of heads. {counts}"),
        ({"divisor": math.sqrt(T)}, f"You divide the scores by the root of the number of tokens. {counts}"),
        ({"divisor": 1 / math.sqrt(width)}, "You multiply the scores by the root where the formula divides."),
        ({"dim": 1}, "Your softmax runs over the heads, so that heads share a key among them. Each query should divide its "
                     "attention among the keys, in each head alone."),
        ({"dim": -2}, "Your softmax runs over the queries: columns sum to 1. Each query, a row, should divide its attention "
                      "among the keys."),
        ({"dim": None}, "There is no softmax between the scores and the values."),
        ({"change": lambda w: w.mean(1, keepdim=True).expand_as(w)},
         "The weights are averaged over the heads, so all heads look at the same tokens. Each should have weights of its own."),
        ({"change": lambda w: w.transpose(-2, -1)}, "The weights are transposed before they meet the values: rows are queries."),
        ({"split": lambda x, heads: x.unsqueeze(1), "divisor": math.sqrt(C)},
         "The heads are not split: this is one head of all features, with one softmax."),
        ({"split": split_by_view}, BY_VIEW),
        ({"merge": merge_by_view}, MERGED_BY_VIEW),
        ({"split": deal, "merge": collect}, DEALT.format(m.heads)),
        ({"causal": True}, "Your attention is causal. This task has no mask: all tokens see each other."),
    )
    for way, why in ways:
        mistakes.append((attempt(lambda: m.W_o(attend(m, q, k, v, **way))), why))
    compare("forward", yours, right, mistakes,
            "split_heads and merge_heads are right. Go through forward with a pencil: what has which shape, and which formula "
            "should give each of them?")


def check_forward(forward, B, T, C, heads, dtype):
    m = MultiHead(C, heads, dtype)
    x = torch.randn(B, T, C, dtype=torch.float64).to(dtype)
    case(f"forward, x {text_of(x.shape)}, {heads} head{'' if heads == 1 else 's'}, "
         f"{'f32' if dtype == torch.float32 else 'f64'}")
    try:
        yours = call("forward", forward, m=m, x=x)
    except RuntimeError as error:
        if "mat1 and mat2 shapes" in str(error):
            error.advice = f"Each W takes all {C} features of a token, not those of one head."
        raise
    with torch.no_grad():
        right = m.W_o(attend(m, m.W_q(x), m.W_k(x), m.W_v(x)))
        if not matches("forward", yours, right):
            explain(m, x, yours, right)


def check_attention(forward, C, heads):
    """What numbers do not show: gradients, and that a call depends on nothing else."""
    case(f"attention_check of forward, {C} features, {heads} heads")
    m = MultiHead(C, heads, torch.float64)
    report = attention_check(lambda x: forward(m, x), C, heads=heads, module=m, show=False)
    for result in report.checks.values():
        if result.verdict == "failed":
            fail(f"The numbers are right, but there is more to a forward: {result.text}. Gradients go only through PyTorch's "
                 "functions, from y back to x and to each W.")


# ---- cases ----


def numbered(B, T, C):
    """(B, T, C): 100 times the sequence plus 10 times the token plus the feature."""
    b, t = 100 * torch.arange(B).reshape(B, 1, 1), 10 * torch.arange(T).reshape(T, 1)
    return (b + t + torch.arange(C)).double()


SIZES = ((1, 3, 4, 2), (1, 2, 4, 4), (1, 4, 4, 1), (2, 3, 6, 2), (2, 4, 6, 3), (3, 1, 8, 4), (1, 1, 1, 1))  # B, T, C, heads


def grade(split_heads, merge_heads, forward):
    torch.manual_seed(5)
    for B, T, C, heads in SIZES:
        check_split(split_heads, numbered(B, T, C), heads)
    check_split(split_heads, torch.randn(2, 5, 12), 4)
    for B, T, C, heads in SIZES:
        check_merge(merge_heads, split(numbered(B, T, C), heads))
    check_merge(merge_heads, torch.randn(2, 4, 5, 3))
    check_forward(forward, 1, 4, 6, 2, torch.float64)  # heads, width and T differ, and their roots
    for i, sizes in enumerate(SIZES):
        check_forward(forward, *sizes, torch.float32 if i % 2 else torch.float64)
    check_forward(forward, 2, 5, 12, 4, torch.float64)
    check_attention(forward, 6, 2)
    check_attention(forward, 12, 4)
