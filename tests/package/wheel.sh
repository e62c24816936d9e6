#!/bin/sh
# Installs the wheel of the attention check into an empty environment, without a network, and runs it as users do:
# tests/package/wheel.sh PYTHON, which has torch.
set -eu
cd "$(dirname "$0")/../.."
python=$1
. tests/common/expect.sh
version=$(sed -n 's/^#define HEED_VERSION  *"\(.*\)"/\1/p' src/heed.h)
"$python" package/wheel.py "$scratch"
wheel=$scratch/heed_attention_check-$version-py3-none-any.whl
check [ -f "$wheel" ]
"$python" -m venv "$scratch/empty"
"$scratch/empty/bin/pip" install -q --no-index --no-deps --disable-pip-version-check "$wheel"
packages=$("$scratch/empty/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' > "$packages/torch.pth"

cat > "$scratch/mine.py" << 'END'
import torch
from torch import nn


class Right(nn.Module):
    def __init__(self, d_model, heads, divisor=4.0):
        super().__init__()
        self.heads, self.divisor = heads, divisor
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / self.divisor
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        return self.out((scores.masked_fill(future, float("-inf")).softmax(-1) @ v).transpose(1, 2).flatten(2))


class Wrong(Right):
    def __init__(self, d_model, heads):
        super().__init__(d_model, heads, 8.0)
END
cd "$scratch"
"$scratch/empty/bin/python" -m attention_check mine.py:Right --d-model 64 --heads 4 --causal > right
has '^passed: [0-9]* checks$' right
expect 1 "scaled by sqrt(d_model) = 8" \
    "$scratch/empty/bin/python" -m attention_check mine.py:Wrong --d-model 64 --heads 4 --causal
expect 0 "passed: " "$scratch/empty/bin/attention-check" mine.py:Right --d-model 64 --heads 4 --causal
