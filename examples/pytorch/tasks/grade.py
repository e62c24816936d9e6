"""Grades the tasks of this folder.

    python grade.py                 what is done so far
    python grade.py 4               grades task4_*.py
    python grade.py 4 --hint 1      and gives a hint; --hint 2: both

In a notebook, for functions and classes that are defined there:

    from grade import grade
    grade(1, softmax)
    grade(4, MySelfAttention, hint=1)

The command runs your code in a process of its own, which an endless loop or os._exit cannot harm. In a notebook, a loop in
Python is interrupted. Needs torch alone.
"""
import _thread
import argparse
import concurrent.futures
import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 10  # of computing; MOST of waiting, too
MOST = 60
MARK = "\x1e"  # begins a message of the process to the command
LATE = f"  Your code still runs after {SECONDS} seconds. Does a loop never end?"
ENDS = "  Your code ends the program before the cases are through. Return instead."


def numbers():
    return sorted(int(path.name[4:].split("_")[0]) for path in HERE.glob("task*_*.py"))


def file_of(number):
    (path,) = HERE.glob(f"task{number}_*.py")
    return path


def print_end(outcome, sentences, hint, command):
    """The questions if the task is done, and hints."""
    if outcome == "done":
        print("\nAsk yourself:", *(f"  - {sentences[f'question {i}']}" for i in (1, 2)), sep="\n")
    elif not hint:
        print(f"\nA hint: {command}")
    for i in range(1, hint + 1):
        print(f"\nHint {i}: {sentences[f'hint {i}']}")


# ---- in this process ----


def grade(number, *answers, hint=0):
    """Grades functions or classes, in the order of the task's file; without them, the file. True if the task is done."""
    if callable(number):
        print("The number of the task comes first: grade(4, MySelfAttention).")
        return False
    if number not in numbers():
        print(f"There is no task {number} in PyTorch. There are {', '.join(map(str, numbers()))}.")
        return False
    if not answers:
        print(f"This grades {file_of(number).name}. What is defined in a notebook is graded by grade({number}, name).\n")
        return grade_file(number, hint) == "done"
    common, task = import_task(number)
    if len(answers) != len(task.NAMES):
        print(f"Task {number} asks for {len(task.NAMES)}: grade({number}, {', '.join(task.NAMES)}). You give {len(answers)}.")
        return False
    given = [getattr(answer, "__name__", name) for answer, name in zip(answers, task.NAMES)]
    if given != [*task.NAMES] and sorted(given) == sorted(task.NAMES):
        print(f"Task {number} asks for another order: grade({number}, {', '.join(task.NAMES)}).")
        return False
    print(f"Task {number}: {task.formulas.say('title')}")
    done, late = threading.Event(), threading.Event()

    def interrupt():
        late.set()
        if hasattr(signal, "pthread_kill"):  # wakes what sleeps, too
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            _thread.interrupt_main()

    if threading.current_thread() is threading.main_thread():
        threading.Thread(target=watch, args=(done, interrupt), daemon=True).start()
    try:
        outcome = common.run(task, lambda: answers)
    except KeyboardInterrupt:
        if not late.is_set():
            raise
        common.print_case()
        print(LATE)
        outcome = "wrong"
    finally:
        done.set()
    print_end(outcome, task.formulas.sentences, hint, f"grade({number}, {', '.join(given)}, hint=1)")
    return outcome == "done"


def import_task(number):
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    common, task = importlib.import_module("graders.common"), importlib.import_module(f"graders.task{number}")
    task.formulas = common.Formulas(number)
    return common, task


def watch(done, end):
    """A thread: calls end() after SECONDS of computing, or MOST of waiting, unless it is done."""
    computed, waited = time.process_time() + SECONDS, time.monotonic() + MOST
    while not done.wait(0.1):
        if time.process_time() > computed or time.monotonic() > waited:
            return end()


# ---- in a process of its own ----


def inside(number):
    """The process: grades the file and sends messages."""
    common, task = import_task(number)

    def tell(**message):
        print(MARK + json.dumps(message), flush=True)

    def answers():
        spec = importlib.util.spec_from_file_location(file_of(number).stem, file_of(number))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        missing = [name for name in task.NAMES if not hasattr(module, name)]
        if missing:
            common.fail(f"{file_of(number).name} does not define {missing[0]}.")
        return [getattr(module, name) for name in task.NAMES]

    def late():
        tell(late=True)
        os._exit(1)

    common.Current.tell = lambda text: tell(case=text)
    threading.Thread(target=watch, args=(threading.Event(), late), daemon=True).start()
    tell(title=task.formulas.say("title"), sentences=task.formulas.sentences)
    tell(outcome=common.run(task, answers))


def run_process(number, write):
    """Runs it and returns its messages as one dict. write gets what it prints; if it was ended, also why."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:replace"}
    process = subprocess.Popen([sys.executable, "-B", HERE / "grade.py", str(number), "--inside"], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    told, cases = {}, 0

    def end():
        """Ends the process, and those that the learner's code leaves."""
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()

    timer = threading.Timer(2 * MOST, lambda: (told.update(late=True), end()))
    timer.start()
    for line in process.stdout:
        text, mark, message = line.decode(errors="replace").partition(MARK)
        write(text)
        if mark:
            message = json.loads(message)
            told.update(message)
            cases += "case" in message
            if "title" in message:
                write(f"Task {number}: {message['title']}\n")
            if "outcome" in message:
                break
    code = 0 if "outcome" in told else process.wait()
    timer.cancel()
    end()
    process.wait()
    if "title" not in told:
        sys.exit("The grader does not start. " + ("Its error stands above: does a file of this folder lack?"
                 if importlib.util.find_spec("torch") else "Is PyTorch installed?"))
    if "outcome" not in told:
        told["outcome"] = "wrong"
        write(f"\n  Case {cases}: {told['case']}.\n" if cases else "\n")
        if "late" in told:
            write(f"{LATE}\n")
        elif code < 0:
            write(f"  Your code is ended by signal {-code}.\n")
        else:
            write(f"{ENDS}\n")
    return told


def grade_file(number, hint=0):
    """Grades the file; returns "done", "wrong" or "not begun"."""
    told = run_process(number, sys.stdout.write)
    print_end(told["outcome"], told["sentences"], hint, f"python grade.py {number} --hint 1")
    return told["outcome"]


def print_table():
    states = {"done": "done", "not begun": "not begun", "wrong": "not yet right"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, told in zip(numbers(), pool.map(lambda number: run_process(number, lambda text: None), numbers())):
            print(f"{number:2}  {told['title']:52} {states[told['outcome']]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Grades a task. Without a number: what is done so far.")
    parser.add_argument("number", nargs="?", type=int, choices=numbers())
    parser.add_argument("--hint", type=int, choices=(1, 2), default=0)
    parser.add_argument("--symptoms", action="store_true", help="of the classes of task 10 as they are now")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.symptoms:
        os.environ["SYMPTOMS"] = "1"  # for the process
    if args.inside:
        inside(args.number)
    elif args.number is None:
        print_table()
    else:
        sys.exit(grade_file(args.number, args.hint) != "done")


if __name__ == "__main__":
    main()
