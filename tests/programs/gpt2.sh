#!/bin/sh
# examples/pytorch/gpt2.py: a model of build/gpt goes to GPT-2's layout and back; transformers, if it is at hand, computes
# the same loss.
#   tests/programs/gpt2.sh PYTHON BUILD
set -eu
python=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$build/gpt" train --text README.md --n-layer 2 --n-head 2 --n-embd 16 --context 12 --steps 5 --save "$scratch/run" 2> /dev/null
cp "$scratch/run" "$scratch/back"
"$python" -B examples/pytorch/gpt2.py "$scratch/run" "$scratch/folder"
"$python" -B - "$scratch" << 'END'
import os, sys, torch
from safetensors.torch import load_file, save_file
folder = os.path.join(sys.argv[1], "folder")
name = os.path.join(folder, "model.safetensors")
weights = load_file(name)
assert weights["transformer.h.1.attn.c_attn.weight"].shape == (16, 48)
assert weights["transformer.h.0.mlp.c_proj.weight"].shape == (64, 16)
try:
    from transformers import GPT2LMHeadModel
    print("gpt2: transformers' loss", GPT2LMHeadModel.from_pretrained(folder).eval()(torch.arange(12)[None]).logits.mean())
except ImportError:
    print("gpt2: transformers is not installed")
back = load_file(os.path.join(sys.argv[1], "back"))
state = {n: torch.zeros_like(t) if n in weights else t for n, t in back.items()}
from safetensors import safe_open
with safe_open(os.path.join(sys.argv[1], "back"), "pt") as f:
    about = f.metadata()
save_file(state, os.path.join(sys.argv[1], "back"), about)
END
"$python" -B examples/pytorch/gpt2.py "$scratch/folder" "$scratch/back"
"$build/gpt" eval "$scratch/run" --text README.md > "$scratch/first"
"$build/gpt" eval "$scratch/back" --text README.md | cmp - "$scratch/first"
"$build/gpt" train --resume "$scratch/back" --steps 6 2> /dev/null
echo "gpt2: the weights come back from GPT-2's layout"
