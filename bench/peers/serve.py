"""The request loop of the peers in Python, with the answers of bench/serve.c; and the sizes of bench/gpt_sizes.h."""

import math
import os
import sys
import time
from collections import namedtuple

WARM_UP, CHUNK = 0.1, 0.01  # seconds; as in serve.c
TRAINED = 2  # steps after which a loss must have fallen
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
    start, calls, batches = time.perf_counter(), 1, 0
    while batches < 2 or time.perf_counter() - start < WARM_UP:
        before = time.perf_counter()
        run(calls)
        passed = time.perf_counter() - before
        per_call = passed / calls
        calls *= 2 if passed < CHUNK else 1
        batches += 1
    return max(1, int(CHUNK / per_call))


def time_chunk(run, calls):
    if calls > 3:  # the first call has cold caches
        run(1)
    start = time.perf_counter()
    run(calls)
    return (time.perf_counter() - start) / calls


def answer_requests(prepare):
    """prepare(name) returns a remark and a function run(calls), or None for an unknown workload."""
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
                    remark, run = prepared
                    calls = calls_in_chunk(run)
                del prepared
        print(answer or f"{time_chunk(run, calls):.9g} {remark}".strip(), flush=True)
