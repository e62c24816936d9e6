"""The small models of bench/toy_sizes.h for the peers in Python. bench_heed writes what they begin with, so that all
programs train the same models on the same data."""

import json
import os
import subprocess
import tempfile
from collections import namedtuple

import numpy as np
from serve import WORKER, WORKERS, Wrong

SEEDS = 100
DTYPES = {"F32": np.float32, "I64": np.int64}

# Arrays whose dim 0 are seeds: parameters, a dict by name; inputs, targets; losses, before the first step.
# steps: of each seed in a call of seeds.NAME
Toys = namedtuple("Toys", "parameters inputs targets losses heads steps")


def read(model, seeds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "toys")
        heed = os.environ.get("BENCH_HEED", "build/bench_heed")
        subprocess.run([heed, "data", model, str(seeds), path], check=True)
        with open(path, "rb") as file:
            raw = file.read()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    about = header.pop("__metadata__")
    arrays = {}
    for name, entry in header.items():
        first, end = (begin + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(raw[first:end], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    others = [arrays.pop(name) for name in ("inputs", "targets", "losses")]
    return Toys(arrays, *others, int(about["heads"]), int(about["steps"]))


def toys_of(workload):
    """The models of w1.NAME, toys.NAME or seeds.NAME; of the latter, this process's share."""
    family, rest = workload.split(".", 1)
    if family != "seeds":
        return read("w1" if family == "w1" else rest, 1)
    toys = read(rest, SEEDS)
    mine = slice(WORKER or 0, None, 1 if WORKER is None else WORKERS)
    parameters = {name: array[mine] for name, array in toys.parameters.items()}
    return Toys(parameters, toys.inputs[mine], toys.targets[mine], toys.losses[mine], toys.heads, toys.steps)


def check_first(loss, expected):
    if not abs(loss - expected) <= 1e-5 * abs(expected):
        raise Wrong(f"the first loss is {loss:.8g}, in Heed {expected:.8g}")
