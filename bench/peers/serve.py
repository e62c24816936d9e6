"""The request loop of the peers in Python, with the answers of bench/serve.c; and the sizes of bench/gpt_sizes.h.

Import it first: with several threads it starts a process for each, which waits until a workload seeds.NAME is
requested, and then runs the program from there on, with one thread, for its share of the seeds.
"""

import math
import os
import sys
import time
from collections import namedtuple
from multiprocessing import Pipe

WARM_UP, CHUNK = 0.1, 0.01  # seconds; as in serve.c
TRAINED = 2  # steps after which a loss must have fallen
clock = time.process_time if os.environ.get("CLOCK") == "cpu" else time.perf_counter
THREADS = WORKERS = int(os.environ.get("OMP_NUM_THREADS", "1"))
WORKER = None  # number of this process, if it is one of several
pipes = []  # to all workers; in a worker, to the program that started it
waiting = []  # a worker's first request

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


def start_workers():
    global THREADS, WORKER
    for number in range(WORKERS if THREADS > 1 and len(sys.argv) == 1 else 0):
        ours, theirs = Pipe()
        if os.fork() == 0:
            for pipe in pipes:
                pipe.close()
            ours.close()
            pipes[:] = [theirs]
            THREADS, WORKER = 1, number
            os.environ["OMP_NUM_THREADS"] = "1"
            if hasattr(os, "sched_setaffinity"):  # Linux
                mine = sorted(os.sched_getaffinity(0))
                os.sched_setaffinity(0, [mine[number % len(mine)]])
            try:
                waiting.append(theirs.recv())
            except EOFError:  # never asked
                os._exit(0)
            return
        theirs.close()
        pipes.append(ours)


def work(prepare):
    """Answers a name with an error or a pair (remark, calls' worth); a number with None, after that many calls."""
    while True:
        try:
            request = waiting.pop() if waiting else pipes[0].recv()
        except EOFError:
            return
        if isinstance(request, int):
            run(request)
            pipes[0].send(None)
            continue
        run = None
        try:
            remark, run, per = prepare(request)
            pipes[0].send((remark, per))
        except Exception as error:
            pipes[0].send(f"{type(error).__name__}: {error}")


def prepare_in_workers(name):
    for pipe in pipes:
        pipe.send(name)
    answers = [pipe.recv() for pipe in pipes]
    for answer in answers:
        if isinstance(answer, str):
            raise Wrong(answer)

    def run(calls):
        for pipe in pipes:
            pipe.send(calls)
        for pipe in pipes:
            pipe.recv()

    return answers[0][0], run, sum(per for _, per in answers)


def answer_requests(prepare):
    """prepare(name) returns a remark, a function run(calls), and optionally how many of the figure's units a call has;
    or None for an unknown workload."""
    if WORKER is not None:
        work(prepare)
        return
    if len(sys.argv) > 1:  # a figure that needs a separate process
        print("none")
        return
    now, answer = None, None
    for line in sys.stdin:
        name = line.strip()
        if name != now:
            now, answer, run = name, None, None  # frees the memory of the previous one first
            divided = pipes and name.startswith("seeds.") and not name.endswith(".stacked")
            try:
                prepared = prepare_in_workers(name) if divided else prepare(name)
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


start_workers()
