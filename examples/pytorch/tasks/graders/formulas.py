"""Reads the text of a task, grade/taskN.txt beside the tasks in C: the sentences of both graders, the formulas of what is
right and those of known mistakes. formulas.c there describes it."""
import contextlib
import math
import os
import re

import torch

TASKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACES = [os.path.join(TASKS, *path, "grade") for path in (("..",), ("..", "..", "tasks"))]  # of the kit, of the repository


def keep(f):
    """Sums and the like keep their dim."""
    return lambda x, *dim: f(x, dim[0], keepdim=True) if dim else f(x)


FUNCTIONS = {
    "__builtins__": {},
    "inf": math.inf,
    "t": lambda x: x.transpose(-2, -1),
    "transpose": torch.transpose,
    "permute": lambda x, *dims: x.permute(dims),
    "reshape": lambda x, *sizes: x.reshape([int(size) for size in sizes]),
    "narrow": lambda x, dim, start, length: x.narrow(dim, int(start), int(length)),
    "select": lambda x, dim, index: x.select(dim, index),
    "cat": lambda a, b, dim: torch.cat([a, b], dim),
    "stack": lambda *tensors: torch.stack(tensors),
    "flip": lambda x, dim: x.flip(dim),
    "unsqueeze": torch.unsqueeze,
    "expand_as": lambda x, y: x.expand_as(y),
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "number": lambda x: x.double(),
    "triu": lambda x, diagonal: x.triu(diagonal),
    "tril": lambda x, diagonal: x.tril(diagonal),
    "hide": lambda x, mask, score: x if mask is None else x.masked_fill(mask, score),
    "softmax": torch.softmax,
    "safesoftmax": lambda x, dim: torch.softmax(x, dim).nan_to_num(0),
    "log_softmax": torch.log_softmax,
    "pick": lambda x, index: x.gather(1, index[:, None]),
    "columns": lambda x, index: x[:, index],
    "cross_entropy": lambda x, targets: torch.nn.functional.cross_entropy(x.flatten(0, -2), targets.flatten()),
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": lambda x: x.sqrt() if torch.is_tensor(x) else math.sqrt(x),
    "floor": torch.floor,
    "sum": keep(torch.sum),
    "mean": keep(torch.mean),
    "amax": keep(torch.amax),
}


class Formulas:
    """The text of a task."""

    def __init__(self, number):
        self.sentences, self.groups, last = {}, {}, None
        place = next(place for place in PLACES if os.path.exists(place))
        with open(os.path.join(place, f"task{number}.txt"), encoding="utf-8") as file:
            text = re.sub(r"\n +", "  ", re.sub(r"(?m)^#.*\n", "", file.read()))
        for line in re.sub(r"\{[^{}|]*\|([^{}]*)\}", r"\1", text).splitlines():  # {C|Python}
            head, *sentence = line.split("  ")
            if line.startswith("== "):
                formulas, mistakes = self.groups.setdefault(line[3:], ({}, []))
            elif line.startswith("wrong: "):
                changes = dict(change.split(" = ", 1) for change in head[7:].split("; "))
                assert {*changes} <= {*formulas}, line
                mistakes.append((changes, " ".join(sentence)))
            elif re.match(r"\w+ = ", line):
                name, expression = line.split(" = ", 1)
                formulas[name] = expression.replace("  ", " ")
            elif line:
                name, first = head.split(": ", 1)
                self.sentences[name] = " ".join([first, *sentence])

    def say(self, name, *args):
        """The sentence of this name, or `name` itself, with these arguments."""
        text = self.sentences.get(name, name)
        return text % args if args else text

    def values(self, group, names, changes=()):
        """All names and formulas of a group, of which some are changed. Those that cannot be computed are missing."""
        values = {**FUNCTIONS, **names}
        for name, expression in self.groups[group][0].items():
            values.pop(name, None)
            with contextlib.suppress(RuntimeError, IndexError, TypeError, NameError, AttributeError), torch.no_grad():
                values[name] = eval(compile(dict(changes).get(name, expression), __file__, "eval"), values)
        return values

    def mistakes(self, group, wanted, **names):
        """What its mistakes make of these formulas, "a b", and why they are wrong; None: cannot be computed."""
        result, why = [], ""
        for changes, text in reversed(self.groups[group][1]):  # mistakes without a sentence share the next one
            why = self.say(text) if text else why
            values = self.values(group, names, changes)
            filled = re.sub(r"\{(\w+)\}", lambda match: f"{float(values[match[1]]):.4g}", why)
            result = [(values.get(name), filled) for name in wanted.split()] + result
        return result
