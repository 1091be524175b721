#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the checker costs: both phases and the synchronisation of large calls, without and with DESCEND_CHECK=1.

Each function runs in a process of its own, in turn without and with the checker; the best of the calls after the first
two counts.  Prints the table of docs/checker.md.
"""
import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "torch"))
import aclnn  # noqa: E402

CODES = {"float32": 0, "float16": 1, "int64": 9}
CALLS = 7


class Code:
    def __init__(self, code):
        self.code = code


class Call:
    """A function's arguments, made one after the other."""

    def __init__(self, library, dtype):
        self.library, self.dtype = library, dtype
        one = numpy.ones(1, numpy.float32)
        self.one = aclnn.scalar(library, one, Code(0))

    def tensor(self, *shape, values=None):
        if values is None:  # a stretch of random numbers, repeated: what they are costs nothing
            some = numpy.random.default_rng(0).standard_normal(1 << 16).astype(self.dtype)
            values = numpy.resize(some, shape)
        strides = [int(numpy.prod(shape[k + 1:])) for k in range(len(shape))]
        memory = aclnn.Memory(self.library, values)
        memory.array = numpy.empty(values.size, values.dtype)
        return aclnn.tensor(self.library, shape, strides, 0, Code(CODES[str(values.dtype)]), 2, memory)

    def classes(self, count, *shape):
        return self.tensor(*shape, values=numpy.random.default_rng(0).integers(0, count, shape))

    def ints(self, *numbers):
        return aclnn.int_array(self.library, numbers)


def arguments(call, function, n):
    """The size in words, and the arguments."""
    f, i64, d = ctypes.c_float, ctypes.c_int64, ctypes.c_double
    t, ones, line = call.tensor, [call.one] * 3, 2**24 * n
    rows, planes, small, large = (1024 * n, 32000), (8 * n, 21, 256, 256), (n, 16, 64, 64, 64), (n, 16, 128, 128, 128)
    positions = (planes[0], *planes[2:])
    mean = (ctypes.c_char_p(b"mean"), i64(-100), d(0), d(0))
    words = lambda shape: " x ".join(map(str, shape))
    weights = lambda count: t(count, values=numpy.full(count, 2**-6 / n, call.dtype))  # FLOAT16 holds their sum
    return {
        "aclnnElu": lambda: (line, t(line), *ones, t(line)),
        "aclnnInplaceElu": lambda: (line, t(line), *ones),
        "aclnnEluBackward": lambda: (line, t(line), *ones, ctypes.c_bool(False), t(line), t(line)),
        "aclnnSmoothL1Loss": lambda: (line, t(line), t(line), i64(1), f(1), t()),
        "aclnnSmoothL1LossBackward": lambda: (line, t(), t(line), t(line), i64(1), f(1), t(line)),
        "aclnnNLLLossBackward": lambda: (
            words(rows), t(), t(*rows), call.classes(rows[1], rows[0]), weights(rows[1]), i64(1), i64(-100), t(),
            t(*rows)),
        "aclnnCrossEntropyLoss": lambda: (
            words(rows), t(*rows), call.classes(rows[1], rows[0]), None, *mean, ctypes.c_bool(False), t(), t(*rows),
            t(), t(rows[0])),
        "aclnnCrossEntropyLossGrad": lambda: (
            words(rows), t(), t(*rows), call.classes(rows[1], rows[0]), None, None, None, *mean, t(*rows)),
        "aclnnNLLLoss2d": lambda: (
            words(planes), t(*planes), call.classes(21, *positions), weights(21), i64(1), i64(-100), t(), t()),
        "aclnnNLLLoss2dBackward": lambda: (
            words(planes), t(), t(*planes), call.classes(21, *positions), weights(21), i64(1), i64(-100), t(),
            t(*planes)),
        "aclnnUpsampleNearest3d": lambda: (
            words(small), t(*small), call.ints(*large[2:]), d(0), d(0), d(0), t(*large)),
        "aclnnUpsampleNearest3dBackward": lambda: (
            words(large), t(*large), call.ints(*large[2:]), call.ints(*small), d(0), d(0), d(0), t(*small)),
    }[function]()


FUNCTIONS = ["aclnnElu", "aclnnInplaceElu", "aclnnEluBackward", "aclnnSmoothL1Loss", "aclnnSmoothL1LossBackward",
             "aclnnNLLLossBackward", "aclnnCrossEntropyLoss", "aclnnCrossEntropyLossGrad", "aclnnNLLLoss2d",
             "aclnnNLLLoss2dBackward", "aclnnUpsampleNearest3d", "aclnnUpsampleNearest3dBackward"]


def measure(options):
    """One function here and now: its size, and the best time in seconds."""
    library = aclnn.Library(options.prefix)
    size, *given = arguments(Call(library, options.dtype), options.one, options.times)
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        aclnn.call(library, options.one, given)
        times.append(time.perf_counter() - began)
    print(json.dumps([str(size), min(times[2:])]), flush=True)
    os._exit(0)  # what is still alive is no finding here


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", default="build/prefix", help="where Descend is installed")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=1, help="how many times larger than on a small machine")
    parser.add_argument("--filter", default="", help="a part of the functions' names")
    parser.add_argument("--processes", type=int, default=3, help="of each kind")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--dtype", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return measure(options)
    print("| function | size | FLOAT | | FLOAT16 | |\n|---|---|---|---|---|---|")
    for function in FUNCTIONS:
        cells, size = [], ""
        for dtype in ("float32", "float16") if options.filter in function else ():
            best = [float("inf")] * 2
            for k in [0, 1] * options.processes:
                environment = {**os.environ, "DESCEND_DEVICE": options.device, "DESCEND_CHECK": str(k)}
                done = subprocess.run([sys.executable, __file__, "--prefix", options.prefix, "--times",
                                       str(options.times), "--one", function, "--dtype", dtype],
                                      stdout=subprocess.PIPE, text=True, check=True, env=environment)
                size, seconds = json.loads(done.stdout)
                best[k] = min(best[k], seconds)
            cells += [f"{best[0] * 1e3:.3g} → {best[1] * 1e3:.3g}", f"{best[1] / best[0]:.1f}x"]
        if cells:
            print(f"| {function} | {size} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
