#!/usr/bin/env python3
"""Converts a GPT between a file of `build/gpt train` and a folder that transformers' GPT2LMHeadModel reads and writes:

    python gpt2.py FILE FOLDER      then GPT2LMHeadModel.from_pretrained(FOLDER)
    python gpt2.py FOLDER FILE      the weights go back into FILE, whose tokenizer and settings stay

GPT-2 stores c_attn, c_fc and c_proj as (in, out), Linear as (out, in). Needs torch and safetensors.
"""
import json
import os
import sys

from safetensors import safe_open
from safetensors.torch import load_file, save_file

TURNED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")


def turned(tensors):
    return {name: (t.t() if name.endswith(TURNED) else t).contiguous() for name, t in tensors.items()}


def is_weight(name):
    return name.startswith(("transformer.", "lm_head.")) and not name.endswith((".attn.bias", ".attn.masked_bias"))


def main(source, target):
    file = target if os.path.isdir(source) else source
    with safe_open(file, "pt") as f:
        about = f.metadata()
    run = load_file(file)
    if os.path.isdir(source):
        weights = turned({n: t for n, t in load_file(os.path.join(source, "model.safetensors")).items() if is_weight(n)})
        wte = weights["transformer.wte.weight"]
        weights = {n: weights.get(n, wte) for n in run if is_weight(n)}
        assert all(weights[n].shape == run[n].shape for n in weights), "the sizes differ"
        save_file({**run, **{n: t.clone() for n, t in weights.items()}}, file, about)
        return
    weights = turned({n: t for n, t in run.items() if is_weight(n)})
    vocab, width = weights["transformer.wte.weight"].shape
    weights["lm_head.weight"] = weights["transformer.wte.weight"].clone()
    os.makedirs(target, exist_ok=True)
    save_file(weights, os.path.join(target, "model.safetensors"), {"format": "pt"})
    with open(os.path.join(target, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": vocab, "n_embd": width,
                   "n_positions": int(about["context"]), "n_layer": int(about["n_layer"]), "n_head": int(about["n_head"]),
                   "activation_function": "gelu_new", "bos_token_id": None, "eos_token_id": None}, f, indent=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
