#!/usr/bin/env python3
"""Times Heed beside PyTorch and JAX: run.py BENCH_HEED, as called by make bench. bench/README.md explains the table.

Environment: PEERS (words among pytorch, tuned, jax, loop; none; default all), PYTHON (the Python that has them),
THREADS (default "1 2"), ROUNDS (15), WORKLOADS (prefixes of names), CLOCK=cpu, and NAME=COMMAND of another peer in OTHER, for
example OTHER="before=../old/build/bench_heed".
"""
import collections
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(os.environ.get("ROUNDS", "15"))
LONG, ROUNDS_LONG, ROUNDS_ALONE = 1, 5, 3  # seconds of a workload after which fewer rounds suffice
TIMED, ONCE, START = range(3)  # kinds of workloads, as in serve.h
Workload = collections.namedtuple("Workload", "name kind unit scale")


class Failed(Exception):
    """A peer crashed, printed nonsense or has a wrong result."""


class Program:
    """Answers names of workloads with figures. It is suspended in between, so that its threads do not spin."""

    def __init__(self, name, command, **environment):
        self.name, self.command, self.environment, self.process = name, shlex.split(command), environment, None

    def start(self, *arguments):
        return subprocess.Popen([*self.command, *arguments], env={**os.environ, **self.environment}, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, workload):
        """Seconds and a remark; None if the program does not have the workload."""
        if self.process is None:
            self.process = self.start()
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(workload.name + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line == "":
            status = self.process.wait()
            self.process = None
            raise Failed(f"it ended with status {status}")
        self.process.send_signal(signal.SIGSTOP)
        return self.read(line)

    def ask_alone(self, workload):
        """The figure of a process of its own: what it prints, or the time until it does."""
        begin = time.perf_counter()
        process = self.start(workload.name)
        line = process.stdout.readline()
        passed = time.perf_counter() - begin
        process.kill()
        process.wait()
        answer = self.read(line)
        return answer and (passed if workload.kind == START else answer[0], answer[1])

    @staticmethod
    def read(line):
        word, _, remark = line.strip().partition(" ")
        if word == "none":
            return None
        try:
            figure = float(word)
        except ValueError:
            raise Failed(line.strip() or "no answer") from None
        if not 0 <= figure < math.inf:
            raise Failed(line.strip())
        return figure, remark

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def find_peers():
    python = os.environ.get("PYTHON") or next(
        (p for p in ("build/torch/bin/python", "python3") if subprocess.run([p, "-c", "import torch"], check=False,
                                                                           stderr=subprocess.DEVNULL).returncode == 0), None)
    wanted = os.environ.get("PEERS", "pytorch tuned jax loop").split()
    tuned = {"BENCH_TUNED": "1", "MALLOC_MMAP_THRESHOLD_": "2000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000",
             "MALLOC_TOP_PAD_": "67108864"}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if "avx512f" in file.read():
            tuned["ATEN_CPU_CAPABILITY"] = "avx512"
    scripts = {"pytorch": ("PyTorch", "torch", "pytorch.py", {}), "tuned": ("PyTorch tuned", "torch", "pytorch.py", tuned),
               "jax": ("JAX", "jax", "jax_training.py", {}), "loop": ("JAX loop", "jax", "jax_training.py", {"BENCH_LOOP": "1"})}
    for word in wanted if python and wanted != ["none"] else []:
        name, module, script, environment = scripts[word]
        version = subprocess.run([python, "-c", f"import {module}; print({module}.__version__)"], check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
        if version:
            print(f"{name}: {module} {version}")
            yield Program(name, f"{python} -B {HERE}/peers/{script}", **environment)
    if os.environ.get("OTHER"):
        yield Program(*os.environ["OTHER"].split("=", 1))


def count_outside(count):
    """How many of the sorted ratios are outside the interval at each end: the most for which the median of all is outside
    with a probability of at most 5 %. Each ratio is below it with probability 1/2, so that the number below is binomial."""
    outside, below = 0, 0.5 ** count
    while True:
        below += math.comb(count, outside + 1) * 0.5 ** count
        if 2 * below > 0.05:
            return outside
        outside += 1


def interval(ratios):
    ratios, k = sorted(ratios), count_outside(len(ratios))
    return ratios[k], statistics.median(ratios), ratios[-1 - k]


def measure(programs, workload):
    """The figures of each program, one a round, or why there are none. Each round begins with another program."""
    figures = {p: [] for p in programs}
    for number in range(ROUNDS if workload.kind == TIMED else min(ROUNDS, ROUNDS_ALONE)):
        for i in range(len(programs)):
            program = programs[(number + i) % len(programs)]
            found = figures[program]
            if not isinstance(found, list) or (sum(found) > LONG and len(found) >= ROUNDS_LONG and workload.kind == TIMED):
                continue
            try:
                answer = program.ask(workload) if workload.kind == TIMED else program.ask_alone(workload)
            except Failed as failed:
                figures[program] = f"failed: {failed}"
                continue
            if answer is None:
                figures[program] = ""
            else:
                found.append(answer[0])
    return figures


def print_row(workload, threads, heed, peers, figures):
    """Heed's minimum, and the median and interval of the ratios; true if the interval of one is below 1."""
    own, cells, behind = figures[heed], [], False
    if isinstance(own, list):
        least = min(own)
        cells.append(f"{workload.scale / least if '/s' in workload.unit else workload.scale * least:.3g} {workload.unit}")
    else:
        cells.append(own)
    for peer in peers:
        if isinstance(own, list) and isinstance(figures[peer], list):
            low, middle, high = interval([b / a for a, b in zip(own, figures[peer])])
            behind |= high < 1
            cells.append(f"{middle:.3g} [{low:.3g}, {high:.3g}]" + (" behind" if high < 1 else ""))
        else:
            cells.append(figures[peer] if isinstance(figures[peer], str) else "")
    print("|", " | ".join([f"`{workload.name}`", str(threads), *cells]), "|", flush=True)
    return behind, any("failed" in cell for cell in cells)


def main():
    heed = Program("Heed", sys.argv[1])
    os.environ["BENCH_HEED"] = os.path.abspath(sys.argv[1])
    peers = list(find_peers())
    prefixes = os.environ.get("WORKLOADS", "").split()
    listed = subprocess.run([sys.argv[1], "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    workloads = [Workload(name, int(kind), unit, float(scale)) for name, kind, unit, scale in map(str.split, listed.splitlines())]
    behind, any_failed = [], False
    try:
        for threads in os.environ.get("THREADS", "1 2").split():
            for name in ("HEED_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
                os.environ[name] = threads
            print("\n|", " | ".join(["workload", "threads", "Heed", *(p.name for p in peers)]), "|")
            print("|", " | ".join(["---"] * (3 + len(peers))), "|", flush=True)
            for workload in workloads:
                if not prefixes or any(workload.name == p or workload.name.startswith(p + ".") for p in prefixes):
                    is_behind, failed = print_row(workload, threads, heed, peers, measure([heed, *peers], workload))
                    behind += [f"{workload.name} ({threads})"] if is_behind else []
                    any_failed |= failed
            for program in (heed, *peers):
                program.stop()
    finally:
        for program in (heed, *peers):
            program.stop()
    if peers:
        print(f"\nHeed is behind in {len(behind)} rows" + (": " + ", ".join(behind) if behind else ""))
    sys.exit(1 if any_failed else 0)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
main()
