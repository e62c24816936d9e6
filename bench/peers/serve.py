"""The request loop of the peers in Python, with the answers of bench/serve.c; and what both peers share: the sizes of GPTs
(as in heed/gpt.c), and the small models, which bench_heed writes, so that all programs train the same ones.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

import numpy as np

WARM_UP, CHUNK = 0.1, 0.01  # seconds; as in serve.c
TRAINED = 2  # steps after which a loss must have fallen
clock = time.process_time if os.environ.get("CLOCK") == "cpu" else time.perf_counter
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))

Size = namedtuple("Size", "layers heads width context batch vocabulary")
GPTS = {
    "w4": Size(4, 4, 128, 64, 12, 65),
    "w4.untied": Size(4, 4, 128, 64, 12, 65),
    "w4.batch1": Size(4, 4, 128, 64, 1, 65),
    "gpt.readme": Size(4, 4, 128, 64, 12, 24),
    "gpt.small": Size(2, 2, 64, 32, 8, 65),
    "gpt.384": Size(6, 6, 384, 256, 4, 65),
    "gpt.768": Size(4, 12, 768, 256, 2, 8192),
}


class Wrong(Exception):
    """A wrong result."""


def check_losses(losses):
    if not all(math.isfinite(loss) for loss in losses):
        raise Wrong("the loss is not finite")
    if not losses[-1] < losses[0]:
        raise Wrong("the loss does not fall")


def calls_in_chunk(run):
    """Warms up first. Batches grow until one takes as long as a chunk, so that run's overhead does not count."""
    start, calls, batches = clock(), 1, 0
    while batches < 2 or clock() - start < WARM_UP:
        before = clock()
        run(calls)
        passed = clock() - before
        per_call = passed / calls
        calls *= 2 if passed < CHUNK else 1
        batches += 1
    return max(1, int(CHUNK / per_call))


def time_chunk(run, calls):
    if calls > 3:  # the first call has cold caches
        run(1)
    start = clock()
    run(calls)
    return (clock() - start) / calls


def answer_requests(prepare):
    """prepare(name) returns a remark, a function run(calls), and optionally how many of the figure's units a call has;
    or None for an unknown workload."""
    if len(sys.argv) > 1:  # a figure that needs a separate process
        print("none")
        return
    now, answer = None, None
    for line in sys.stdin:
        name = line.strip()
        if name != now:
            now, answer, run = name, None, None  # frees the memory of the previous one first
            try:
                prepared = prepare(name)
            except Wrong as wrong:
                answer = f"wrong {wrong}"
            else:
                if prepared is None:
                    answer = "none"
                else:
                    remark, run, per = (*prepared, 1)[:3]
                    calls = calls_in_chunk(run)
                del prepared
        print(answer or f"{time_chunk(run, calls) / per:.9g} {remark}".strip(), flush=True)



# ---- small models ----

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
    """The models of w1.NAME, toys.NAME or seeds.NAME."""
    family, rest = workload.split(".", 1)
    return read("w1" if family == "w1" else rest, SEEDS if family == "seeds" else 1)


def check_first(loss, expected):
    if not abs(loss - expected) <= 1e-5 * abs(expected):
        raise Wrong(f"the first loss is {loss:.8g}, in Heed {expected:.8g}")
