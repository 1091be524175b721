# SPDX-License-Identifier: MIT
"""Random differential test of every operator against PyTorch on the CPU.  Ends in one line: N passed, N failed."""
import argparse
import mmap
import os
import pathlib
import signal
import sys
import time
import traceback

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CASES, LIMIT = 6500, 120  # how many cases, and after how many seconds one counts as hanging
SHOWN = 20  # failures that are printed; all are counted
# A tenth as many cases again where a product accepts more: INT32 targets of the cross entropy loss.
SECOND_PRODUCT, SECOND_FUNCTIONS = "Ascend950", "CrossEntropyLoss"


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="./dev test --torch", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="where the cases begin (1 unless given)")
    parser.add_argument("--cases", type=int, default=CASES, help=f"how many in all ({CASES} unless given)")
    parser.add_argument("--operator", default="", help="only functions whose names contain this")
    parser.add_argument("--case", type=int, help="one case by its own seed, with everything about it printed")
    parser.set_defaults(within="")  # what the names of functions contain besides
    return parser.parse_args(arguments)


def all_cases():
    files = sorted(SOURCE.glob("ops/*/*_cases.py"))
    sys.path += [str(file.parent) for file in files]
    found = {}
    for file in files:
        found.update(__import__(file.stem).CASES)
    return found


def reproducer(function, seed):
    """The command that runs one case again, with the settings that it depends on."""
    settings = [f"{name}={os.environ[name]} " for name in ("DESCEND_DEVICE", "DESCEND_SOC") if name in os.environ]
    return f"{''.join(settings)}./dev test --torch --operator {function} --case {seed}"


def run_case(library, function, body, seed, shows):
    """Runs one case and prints it if it failed or is asked for.  Returns whether it passed, and where it deviated."""
    import case as cases
    case = cases.Case(library, function, seed)
    try:
        body(case)
    except Exception as error:  # whatever goes wrong is this case's failure, and the others go on
        known = type(error).__name__ == "Refused"
        case.problems.append(str(error) if known else traceback.format_exc().replace("\n", "\n      "))
    finally:
        case.free()
    if case.problems and shows(function) or shows is always:
        print(f"{'FAILED' if case.problems else 'passed'} {function}, case {seed}", flush=True)
        for line in case.described:
            print(f"    {line}")
        for problem in case.problems:
            print(f"    PROBLEM {problem}")
        for name, count in case.deviating.items():
            print(f"    deviation {name} at {count} elements")
        print(f"    again: {reproducer(function, seed)}", flush=True)
    return not case.problems, case.deviating


def always(_):
    return True


class Progress:
    """Numbers that parent and child both see: which case is next, how many passed and failed, and the name of the
    function that runs."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 256)
        self.numbers = memoryview(self.memory).cast("q")

    next = property(lambda self: self.numbers[0], lambda self, value: self.numbers.__setitem__(0, value))
    passed = property(lambda self: self.numbers[1])
    failed = property(lambda self: self.numbers[2])

    def count(self, good):
        self.numbers[1 if good else 2] += 1

    def begin(self, function):
        self.next += 1
        self.memory[128:256] = function.encode().ljust(128, b"\0")

    def function(self):
        return self.memory[128:256].rstrip(b"\0").decode()


def work(options, progress):
    """What the child process does: every case from the next one on."""
    import aclnn
    import deviations
    import judge
    import torch
    torch.set_num_threads(2)
    library = aclnn.Library(os.environ.get("DESCEND_PREFIX") or SOURCE / "build/prefix")
    chosen = {name: body for name, body in all_cases().items() if options.operator in name}
    if options.operator in chosen:  # a whole name is that function alone
        chosen = {options.operator: chosen[options.operator]}
    chosen = {name: body for name, body in chosen.items() if options.within in name}
    if not chosen and options.within:
        return 0
    if not chosen:
        print(f"No function's name contains '{options.operator}'.")
        return 2
    if options.case is not None:
        return max(not run_case(library, name, body, options.case, always)[0] for name, body in chosen.items())

    names = list(chosen)
    missing = {name for name in names if not library.has(name)}
    if progress.next == 0:
        print(f"PyTorch {torch.__version__} on the CPU, product {library.product}, seed {options.seed}, "
              f"{options.cases} cases", flush=True)
        for what, good in judge.can_fail() if progress.passed == 0 else ():
            progress.count(good)
            if not good:
                print(f"FAILED the comparison itself: {what}")
        for name in sorted(missing):
            progress.count(False)
            print(f"FAILED {name}: libopapi.so has no such function; none of its cases can run")

    shown, deviating = [], {}

    def shows(function):
        shown.append(function)
        return len(shown) <= SHOWN and shown.count(function) <= SHOWN // 4

    passed, failed = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    while progress.next < options.cases:
        index = progress.next
        name = names[index % len(names)]
        progress.begin(name)
        if name in missing:
            continue
        signal.alarm(LIMIT)
        good, where = run_case(library, name, chosen[name], options.seed + index, shows)
        progress.count(good)
        (passed if good else failed)[name] += 1
        for deviation, count in where.items():
            cases, total = deviating.get(deviation, (0, 0))
            deviating[deviation] = (cases + 1, total + count)
    signal.alarm(0)
    for name in names:
        print(f"  {name}: {passed[name]} passed" + (f", {failed[name]} failed" if failed[name] else ""))
    if deviating:
        print("Where we differ from PyTorch on purpose:")
    for name, (cases, total) in sorted(deviating.items()):
        print(f"  {name}: {total} elements in {cases} cases: {deviations.REASONS[name]}")
    return 0


def run_in_child(options, progress):
    """Runs the cases in a child, so that a crash is one failed case.  Returns its status, negative for a signal."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work(options, progress)
        except Exception:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(int(status))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_all(options, progress):
    """Every case, and whether they could run; behind one that ended its process a new child goes on."""
    progress.next = 0
    status = run_in_child(options, progress)
    while status < 0 and progress.next > 0:
        seed = options.seed + progress.next - 1
        progress.count(False)
        print(f"FAILED {progress.function()}, case {seed}: the process was ended by {signal.Signals(-status).name}")
        print(f"    again: {reproducer(progress.function(), seed)}", flush=True)
        status = run_in_child(options, progress)
    if options.case is not None:
        if status < 0:
            print(f"The process was ended by {signal.Signals(-status).name}.")
        progress.count(status == 0)
    elif status != 0:
        progress.count(False)
    return status == 0


def main():
    options = options_of(sys.argv[1:])
    progress, began = Progress(), time.monotonic()
    ran = run_all(options, progress)
    if ran and options.case is None and "DESCEND_SOC" not in os.environ:
        os.environ["DESCEND_SOC"] = SECOND_PRODUCT
        options.cases, options.within = options.cases // 10, SECOND_FUNCTIONS
        run_all(options, progress)
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{progress.passed} passed, {progress.failed} failed", flush=True)
    return 0 if progress.failed == 0 and progress.passed else 1


if __name__ == "__main__":
    sys.exit(main())
