"""Random differential test of Heed against PyTorch.

Every case is generated from a seed, run in both libraries and compared (compare.py). Nine of ten cases are graphs of
operations (graphs.py, drawers.py, tests/ops/operations.def) with first and second derivatives; the others are
optimisers, modules, generators and files (scripts.py). A failing case is shrunk (shrink.py) and printed as a program in
both languages.

    build/torch/bin/python tests/differential/run.py build/shared/libheed.so --cases 2000 --seed 1    # after make torch shared
    ... --cases 1 --seed 1234      # repeat one case
    ... --only sum_dim,gather      # only these operations
    ... --kind modules             # only this kind
    ... --self-test                # injected faults must be found and shrunk

`make torch` installs PyTorch in build/torch. Exits with status 1 after a failure.
"""
import argparse
import collections
import random
import sys
import time
import warnings

import torch

import compare
import graphs
import scripts
from bind import Heed
from shrink import shrink


def draw(seed, kind, only):
    kind = kind or ("graphs" if only or random.Random(f"kind {seed}").random() < 0.9 else "scripts")
    return graphs.draw(seed, only) if kind == "graphs" else scripts.draw(seed, None if kind == "scripts" else kind)


def check(heed, case):
    return compare.check(heed, case) if isinstance(case, graphs.Graph) else case.check(heed)


def report(heed, seed, case, failure):
    """Shrinks a failing case and prints it."""
    print(f"---- seed {seed}: {failure}")
    case, failure = shrink(case, failure, lambda c: check(heed, c))
    in_torch, in_c = case.programs(heed)
    print(f"Shrunk: {failure}\n\n# PyTorch {torch.__version__}", *in_torch, "\n/* Heed */", *in_c, "", sep="\n", flush=True)
    return case


def campaign(heed, options):
    counts, failed, start = collections.Counter(), 0, time.time()
    for seed in range(options.seed, options.seed + options.cases):
        if options.verbose:
            print(f"seed {seed}", flush=True)
        case = draw(seed, options.kind, options.only)
        counts.update(case.names())
        failure = check(heed, case)
        if failure:
            failed += 1
            report(heed, seed, case, failure)
    print("Cases of each operation or kind:")
    print(*(f"{name} {count}" for name, count in sorted(counts.items())), sep=", ")
    print("Declared differences that occurred:")
    print(*(f"{count:6} {reason}" for reason, count in compare.known.counts.most_common()), sep="\n")
    print(f"{options.cases} cases from seed {options.seed} in {time.time() - start:.0f} s: {failed} failed")
    return failed


def self_test(heed):
    """Injects a fault into the result of an operation; the test must find it and shrink it to one node."""
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
        for seed in range(2000):
            case = graphs.draw(seed)
            failure = name in case.names() and check(heed, case)
            if failure:
                break
        else:
            sys.exit(f"The fault in {name} was not found")
        case = report(heed, seed, case, failure)
        sizes = [node.array.size for node in case.nodes if isinstance(node, graphs.Leaf)]
        if case.names() != [name] or max(sizes) > 4:
            sys.exit(f"The fault in {name} was shrunk only to {case.names()} with {max(sizes)} elements")
    print("Self-test: every fault was found and shrunk")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--kind", choices=["graphs", "scripts", *scripts.KINDS])
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
