"""Continues training a next_token model: loads a file from --save, compares logits, trains, saves for --load.

    python continue.py MODEL --prompt TEXT --logits FILE          compares with next_token --logits
    python continue.py MODEL --text FILE --save FILE              continues training
    torchrun --nproc_per_node 2 continue.py MODEL --text ...      the same in two processes

Loss, optimiser, schedule and batches are those of next_token with the same options. The text for a toy model has
one sentence per line, all with the same number of words.
"""
import argparse
import os
import sys
import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors.torch import load_file

sys.dont_write_bytecode = True  # no __pycache__ for model.py
import model as next_token

TOLERANCE = 1e-5


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("model", help="file from next_token --save")
    o.add_argument("--prompt", help="text whose logits to compare")
    o.add_argument("--logits", help="file from next_token --logits for that prompt")
    o.add_argument("--text", help="train on this text")
    o.add_argument("--steps", type=int, default=20)
    o.add_argument("--lr", type=float, default=5e-3)
    o.add_argument("--batch", type=int, default=32)
    o.add_argument("--seed", type=int, default=0)
    o.add_argument("--save", help="save the model to this file")
    given = o.parse_args()
    if (given.prompt is None) != (given.logits is None):
        o.error("--prompt and --logits go together")
    return given


def compare(model, about, prompt, path):
    """Compares logits; prints the largest difference relative to the largest logit, or to 1 if that is larger."""
    theirs = load_file(path)["logits"]
    tokens = next_token.encode(about, prompt)[-int(about["context"]):]
    with torch.no_grad():
        ours = model(tokens)
    difference = ((ours - theirs).abs().max() / max(1, ours.abs().max())).item()
    print(f"{len(tokens)} x {ours.size(-1)} logits differ by at most {difference:.1e}")
    if not difference <= TOLERANCE:
        raise SystemExit(f"the difference exceeds {TOLERANCE}")


def pieces_of(about, path):
    """Rows of training tokens, as in next_token: all windows of the text except its last tenth."""
    text, context = next_token.read_text(path), int(about["context"])
    if about["task"] == "toy":
        return torch.stack([next_token.encode(about, line + " <eos>") for line in text.splitlines()])
    tokens = next_token.encode(about, text)
    held_out = len(tokens) // 10 if len(tokens) // 10 > context else 0
    return tokens[:len(tokens) - held_out].unfold(0, context + 1, 1)


def loss_of(model, rows):
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def measure(model, pieces):
    """The loss on about 64 evenly spaced pieces."""
    with torch.no_grad():
        return loss_of(model, pieces[::max(1, len(pieces) // 64)]).item()


def train(model, pieces, o, rank, ranks):
    """Every process draws the same batch and takes its share; DistributedDataParallel averages the gradients, which
    gives the gradient of the whole batch."""
    adamw = torch.optim.AdamW(model.parameters(), lr=o.lr, weight_decay=0.1, eps=1e-4)
    for step in range(o.steps):
        up, down = (step + 1) / (0.1 * o.steps), (o.steps - step) / (0.3 * o.steps)
        adamw.param_groups[0]["lr"] = o.lr * min(1, up, down)
        rows = pieces[torch.randint(0, len(pieces), (o.batch,))]
        loss = loss_of(model, rows[rank::ranks])
        adamw.zero_grad()
        loss.backward()
        adamw.step()


def main():
    o = options()
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(o.seed)  # loading draws initial weights, as in next_token, so the batches are the same
    model, about = next_token.load(o.model)
    if o.logits is not None:
        compare(model, about, o.prompt, o.logits)
    if o.text:
        pieces = pieces_of(about, o.text)
        before = measure(model, pieces)
        if ranks > 1:
            if o.batch % ranks != 0:
                raise SystemExit(f"--batch {o.batch}: not divisible by {ranks} processes")
            dist.init_process_group("gloo")
            train(torch.nn.parallel.DistributedDataParallel(model), pieces, o, rank, ranks)
            dist.destroy_process_group()
        else:
            train(model, pieces, o, rank, ranks)
        if rank == 0:
            print(f"loss {before:.6f} -> {measure(model, pieces):.6f} after {o.steps} steps, {ranks} process{'es' if ranks > 1 else ''}")
    if o.save and rank == 0:  # the model, not its wrapper, so the names are Heed's
        next_token.save(model, about, o.save)


if __name__ == "__main__":
    main()
