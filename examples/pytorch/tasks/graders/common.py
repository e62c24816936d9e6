"""What the graders of all tasks share.

A grader is a text taskN.txt (formulas.py) and a module taskN.py with

    NAMES                     the functions and classes that the task asks for
    FORBIDDEN                 names of PyTorch's functions that do what the task builds
    grade(softmax)            gets them in this order; returns if every case passes

Each call of the learner's code belongs to a case; the first case that fails ends the grading.
"""
import contextlib
import dis
import math
import os
import sys
import sysconfig
import traceback
import types
import warnings

import torch
from torch.overrides import TorchFunctionMode, resolve_name

FOLDER = os.path.dirname(os.path.abspath(__file__))
TASKS = os.path.dirname(FOLDER)
sys.path.append(os.path.dirname(TASKS))  # attention_check.py is in the folder of tasks or above it
import attention_check as attention_check_module  # noqa: E402
from grade import ENDS  # noqa: E402
from graders.formulas import Formulas  # noqa: E402

attention_check = attention_check_module.attention_check
GRADERS = (FOLDER + os.sep, os.path.join(TASKS, "grade.py"), os.path.abspath(attention_check_module.__file__))
LIBRARIES = (os.path.dirname(torch.__file__) + os.sep, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"),
             "<frozen")


# What this imports takes seconds on a slow machine; they are not those of the learner's code.
torch.use_deterministic_algorithms(torch.are_deterministic_algorithms_enabled(),
                                   warn_only=torch.is_deterministic_algorithms_warn_only_enabled())


class Stop(BaseException):
    """Ends the grading. Not an Exception, which the learner's code might catch."""


class Wrong(Stop):
    """A case failed. Its text says why."""


class NotBegun(Stop):
    """Nothing has been written into the gap."""


# ---- cases ----


class Current:
    """The case that is graded."""

    formulas = None  # of the task
    number = 0
    text = ""
    begun = False  # whether one of the functions is written
    warned = set()  # texts and lines

    @staticmethod
    def tell(text):
        """Called at the beginning of each case."""


def case(text):
    """Begins a case; its text names the input: "x has 3 rows and 4 columns, dim 1"."""
    Current.number += 1
    Current.text = text
    Current.tell(text)


def say(name, *args):
    """The sentence of this name, or `name` itself, with these arguments."""
    return Current.formulas.say(name, *args)


def fail(name, *args):
    """The case fails; says why, and what to do."""
    raise Wrong(say(name, *args))


def right(group, name, **names):
    """What the formula `name` of a group computes."""
    return changed(group, name, (), **names)


def changed(group, name, changes, **names):
    """The same with changes {name: expression}; None if they cannot be computed."""
    return Current.formulas.values(group, names, changes).get(name)


def mistakes(group, wanted, **names):
    """What each mistake of a group makes of these formulas, "a b", and why it is one."""
    return Current.formulas.mistakes(group, wanted, **names)


# ---- numbers ----


def near(yours, expected):
    """Where yours is expected, to 1e-6 (relative, if expected is larger than 1); a bool tensor."""
    yours, expected = yours.detach().double(), expected.detach().double()
    return (yours == expected) | (expected.isfinite() & ((yours - expected).abs() <= 1e-6 * expected.abs().clamp(min=1)))


def equal(a, b):
    """Shapes and numbers; NaN equals NaN, which some mistakes give."""
    return a.shape == b.shape and bool((near(a, b) | (a.isnan() & b.isnan())).all())


def is_near(yours, expected):
    """The same of two numbers."""
    return yours == expected or (math.isfinite(expected) and abs(yours - expected) <= 1e-6 * max(1, abs(expected)))


def show(title, x, expected=None):
    """Prints at most 4 x 4 numbers of x below a title, wrong ones in brackets. Of more than two dims, those of the first
    matrix with a wrong number."""
    x = x.detach()
    matrices = x.reshape(-1, *x.shape[-2:]) if x.dim() > 1 else x.reshape(1, 1, -1)
    wrong = torch.zeros_like(matrices, dtype=torch.bool)
    if expected is not None:
        wrong = ~near(matrices, expected.reshape(matrices.shape))
    found = wrong.flatten(1).any(1).nonzero()
    m = int(found[0]) if len(found) else 0
    if len(matrices) > 1:
        title += f", sequence or head {m}"
    if max(matrices.shape[1:]) > 4:
        title += ", its first rows and columns"
    print(f"\n  {title}")
    for numbers, marks in zip(matrices[m, :4, :4].tolist(), wrong[m, :4, :4].tolist()):
        print("   " + "".join(f" {'[' if bad else ' '}{x:8.4g}{']' if bad else ' '}" for x, bad in zip(numbers, marks)))


# ---- what the learner's code returns ----


NOTHING = {"RESUME", "NOP", "EXTENDED_ARG", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
ADVICE = {  # by the type of what should be a tensor
    "builtin_function_or_method": " Do the brackets of a call lack?",
    "method": " Do the brackets of a call lack?",
    "function": " Do the brackets of a call lack?",
    "float": " item and float take a number out of its tensor, and out of the graph.",
    "list": " torch.tensor makes one of a list of numbers, torch.stack of a list of tensors.",
    "ndarray": " NumPy's functions record no graph: use PyTorch's.",
}


def writes(function):
    """Whether a function does more than return None."""
    code = getattr(function, "__code__", None)
    return code is None or any(step.opname not in NOTHING for step in dis.get_instructions(code))


def answered(what, yours, function=None):
    """Fails unless the learner's function returned a tensor; `what` names it. None is a forgotten return, or not begun, or an
    empty gap if another one is filled or an earlier case has passed."""
    if yours is None and function is not None and writes(function):
        fail(f"{what}: your code returns None. Does a return lack?")
    if yours is None and (Current.begun or Current.number > 1):
        fail(f"{what}: your code returns None. Is this gap still empty?")
    if yours is None:
        raise NotBegun
    if isinstance(yours, tuple):
        fail(f"{what} should be a tensor; yours is a tuple of {len(yours)}. "
             + ("A comma at the end of a line makes a tuple." if len(yours) == 1 else "Return the tensor alone."))
    if not torch.is_tensor(yours):
        kind = type(yours).__name__
        fail(f"{what} should be a tensor; yours is of type {kind}.{ADVICE.get(kind, '')}")


def returned(what, yours, shape, function=None):
    """Also fails unless it has this shape."""
    answered(what, yours, function)
    if yours.shape != torch.Size(shape):
        fail(f"{what} should have the shape {text_of(shape)}; yours has {text_of(yours.shape)}.")


def text_of(shape):
    return "(" + ", ".join(map(str, shape)) + ")"


def first_wrong(x, yours, expected):
    """The matrix of x, an input with the same dims in front, that belongs to the first matrix in which yours is wrong."""
    while x.dim() > 2:
        fits = yours.shape == expected.shape
        i = next((i for i in range(len(x)) if not equal(yours[i], expected[i])), 0) if fits else 0
        x, yours, expected = x[i], yours[i] if fits else yours, expected[i] if fits else expected
    return x


def attempt(f, *args):
    """f(*args); None if the mistake does not fit these shapes."""
    try:
        return f(*args)
    except (RuntimeError, IndexError):
        return None


def unchanged(what, x, before):
    """Fails if x, an input, is no longer what it was before the call."""
    if not torch.equal(x, before):
        fail(f"Your code changes {what}, which belongs to the caller.")


def call(what, function, **inputs):
    """What function gives for the inputs, in their order. Fails unless it is a tensor, and if an input has changed."""
    before = {name: x.clone() for name, x in inputs.items() if torch.is_tensor(x)}
    yours = function(*inputs.values())
    answered(what, yours, function)
    for name, x in before.items():
        unchanged(name, inputs[name], x)
    return yours


def matches(what, yours, expected):
    """Whether yours, a tensor, equals expected. Fails unless it has the same dtype."""
    answered(what, yours)
    if yours.dtype != expected.dtype:
        makes = " torch.zeros, ones, rand and tensor make f32 unless they get a dtype." if yours.dtype == torch.float32 else ""
        fail(f"{what} should have the dtype {expected.dtype}; yours has {yours.dtype}.{makes}")
    return equal(yours, expected)


def compare(what, yours, expected, mistakes=(), otherwise=""):
    """Fails unless yours equals expected. Shows both, and says which of the mistakes, pairs of a result (None: could not be
    computed) and why, gives yours; otherwise says `otherwise`."""
    if matches(what, yours, expected):
        return
    fits = yours.shape == expected.shape
    why = next((why for result, why in mistakes if result is not None and equal(yours, result)), None)
    if not fits and why is None:
        returned(what, yours, expected.shape)
    show(f"{what}, as your code computes it{' (wrong numbers in brackets)' if fits else ''}", yours,
         expected if fits else None)
    show(f"{what}, as it should be", expected, yours if fits else None)
    if not fits:
        fail(f"{what} should have the shape {text_of(expected.shape)}; yours has {text_of(yours.shape)}. {why}")
    fail(why or otherwise)


# ---- forbidden functions ----


class Forbidding(TorchFunctionMode):
    """While it is entered, the learner's calls of the forbidden functions fail: by any name, through modules too. A name
    stands for torch.name, Tensor.name, F.name, torch.special.name and the operators of torch.ops. Graders may call them."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        found = (resolve_name(function) or f"torch.{name}") if self.forbids(name) else ""
        frame = sys._getframe(1)
        while frame.f_code.co_filename.startswith(LIBRARIES):  # functions in Python that call it
            if not found and self.forbids(frame.f_code.co_name):
                found = f"{frame.f_code.co_name.lstrip('_')} of {frame.f_globals['__name__']}"
            frame = frame.f_back
        if found and not frame.f_code.co_filename.startswith(GRADERS):
            fail(f"Your code calls {found}, which is what this task builds. Do it without. (Line {frame.f_lineno}.)")
        return function(*args, **(kwargs or {}))

    def forbids(self, name):
        name = name.split(".")[0].lstrip("_")
        return (name[len("special_"):] if name.startswith("special_") else name) in self.names


# ---- how the grading ends ----


def print_case():
    print(f"\n  Case {Current.number}: {Current.text}." if Current.number else "")


def is_own(file):
    """Whether it has the learner's code."""
    return not file.startswith(GRADERS + LIBRARIES)


def show_warning(message, *_):
    """A warning of PyTorch, with the learner's line, once."""
    frame = sys._getframe(1)
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    text = str(message).split("\n")[0]
    if frame is not None and (text, frame.f_lineno) not in Current.warned:
        Current.warned.add((text, frame.f_lineno))
        print(f"  Line {frame.f_lineno}, a warning: {text}")


def describe(error):
    """What an exception is, and where in the learner's code it happens. Its attribute `advice` says more."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        frames.append(traceback.FrameSummary(error.filename, error.lineno, "", line=(error.text or "").strip()))
    own = [frame for frame in frames if is_own(frame.filename)]
    text = f"Python reports an error {'in your code' if own else 'while your code is graded'}: {type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}\n"
    if own:
        file = f"{os.path.basename(own[-1].filename)}, " if os.path.exists(own[-1].filename) else ""
        text += f"  It happens in {file}line {own[-1].lineno}{own[-1].line and ': '}{own[-1].line}"
    else:
        line = [frame for frame in frames if frame.filename.startswith(GRADERS)][-1].line
        text += f"  The grader calls your code so: {line}"
    if isinstance(error, NotImplementedError) and not own:
        text += "\n  The class has no forward: is it named so, and indented as a part of the class?"
    if isinstance(error, EOFError):
        text += "\n  Nobody answers input() here: what your code needs is in its arguments."
    return text + (f"\n  {error.advice}" if hasattr(error, "advice") else "")


BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType)


def check_answers(names, answers):
    """Functions and classes are asked for, not what they return."""
    for name, answer in zip(names, answers):
        module = getattr(getattr(answer, "func", answer), "__module__", None) or ""
        if isinstance(getattr(answer, "func", answer), BUILT_IN) or (module.split(".")[0] == "torch" and not torch.is_tensor(answer)):
            fail(f"{name} is PyTorch's own, of {module or 'torch'}: your code does not define it.")
        wanted = "class" if name[0].isupper() else "function"
        given = "a tensor" if torch.is_tensor(answer) else "a class" if isinstance(answer, type) else (
            f"of type {type(answer).__name__}")
        if wanted == "class" and (isinstance(answer, torch.nn.Module) or not callable(answer)):
            fail(f"{name} should be a class; what you give is {given}. Give the class itself, not an object of it: no brackets.")
        if wanted == "function" and (isinstance(answer, type) or not callable(answer)):
            fail(f"{name} should be a function; what you give is {given}. Give the function itself, not what it returns: no "
                 "brackets.")


@contextlib.contextmanager
def settings():
    """For small tensors more threads only wait for each other. What torch.empty returns becomes NaN, so that code that
    forgets to write a number is never right by chance. Nothing is compiled, as Forbidding would not see what that calls."""
    threads = torch.get_num_threads()
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        dynamo = "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")
        eager = torch.compiler.set_stance("force_eager") if dynamo else contextlib.nullcontext()
        with eager, torch.random.fork_rng(devices=[]), torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show_warning
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.set_num_threads(threads)


def run(task, answers):
    """Grades what answers() returns, and says how it ended: "done", "wrong" or "not begun"."""
    Current.formulas, Current.number, Current.text, Current.warned = task.formulas, 0, "", set()
    try:
        with settings():
            given = answers()
            check_answers(task.NAMES, given)
            Current.begun = any(writes(answer) for answer in given if not isinstance(answer, type))
            with Forbidding(task.FORBIDDEN):
                task.grade(*given)
    except NotBegun:
        print("\n  Nothing is written yet: put your code where the file says so.")
        return "not begun"
    except Wrong as wrong:
        print_case()
        print(f"  {wrong}")
        return "wrong"
    except SystemExit:
        print_case()
        print(ENDS)
        return "wrong"
    except Exception as error:
        print_case()
        print(f"  {describe(error)}")
        return "wrong"
    print(f"\n  Done: {Current.number} cases are right.")
    return "done"
