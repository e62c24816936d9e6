"""Random differential test of Heed against PyTorch.

Every case is a random graph of operations (graphs.py, drawers.py, tests/ops/operations.def), generated from a seed, run in
both libraries with first and second derivatives, and compared (compare.py). A failing case is printed as a program in
both languages: if a value is wrong, the node and what it needs.

    build/torch/bin/python tests/differential/run.py build/shared/libheed.so --cases 2000 --seed 1    # after make torch shared
    ... --cases 1 --seed 1234      # repeat one case
    ... --only sum_dim,gather      # only these operations
    ... --self-test                # injected faults must be found

`make torch` installs PyTorch in build/torch. Exits with status 1 after a failure.
"""
import argparse
import collections
import sys
import time
import warnings

import torch

import compare
import graphs
from bind import Heed


def report(heed, seed, graph, failure):
    print(f"---- seed {seed}: {failure}")
    if failure.what in ("value", "error") and failure.node < len(graph.nodes):
        graph = graph.needed_by(failure.node)
    in_torch, in_c = graph.programs(heed)
    print(f"# PyTorch {torch.__version__}", *in_torch, "\n/* Heed */", *in_c, "", sep="\n", flush=True)


def campaign(heed, options):
    counts, failed, start = collections.Counter(), 0, time.time()
    for seed in range(options.seed, options.seed + options.cases):
        if options.verbose:
            print(f"seed {seed}", flush=True)
        graph = graphs.draw(seed, options.only)
        counts.update(graph.names())
        failure = compare.check(heed, graph)
        if failure:
            failed += 1
            report(heed, seed, graph, failure)
    print("Cases of each operation:")
    print(*(f"{name} {count}" for name, count in sorted(counts.items())), sep=", ")
    print("Declared differences that occurred:")
    print(*(f"{count:6} {reason}" for reason, count in compare.known.counts.most_common()), sep="\n")
    print(f"{options.cases} cases from seed {options.seed} in {time.time() - start:.0f} s: {failed} failed")
    return failed


def self_test(heed):
    """Injects a fault into the result of an operation; the test must find it in one of 300 cases of that operation."""
    def perturbed(pointer):
        return heed.call("mul_scalar", pointer, 1.001) if heed.struct(pointer).dtype < 2 else pointer

    def transposed(pointer):
        return heed.call("transpose", pointer, 0, -1) if heed.struct(pointer).ndim > 1 else pointer

    def steeper(pointer):  # the same value, a different gradient
        if not heed.struct(pointer).requires_grad:
            return pointer
        zero = heed.call("sub", pointer, heed.call("detach", pointer))
        return heed.call("add", pointer, heed.call("mul_scalar", zero, 1e-3))

    for name, change in (("mul", perturbed), ("gather", perturbed), ("matmul", transposed), ("softmax", perturbed),
                         ("sum_dim", perturbed), ("tanh", steeper), ("layer_norm", steeper)):
        graphs.fault = lambda called, result: change(result) if called == name else result
        if not any(compare.check(heed, graphs.draw(seed, [name])) for seed in range(300)):
            sys.exit(f"The fault in {name} was not found")
    print("Self-test: every fault was found")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--verbose", action="store_true", help="print each seed, to see which one crashes")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    heed = Heed(options.library)
    if options.self_test:
        return self_test(heed)
    sys.exit(1 if campaign(heed, options) else 0)


main()
