#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the operators on one NVIDIA GPU beside PyTorch, on PyTorch's own tensors.

Every case: our call on a stream of its own, PyTorch eager, and with --compile torch.compile; before each timed call as
many bytes as the cache holds twice are written, so that nothing is found in it.  Medians of device time between events.
The limit is the bandwidth of a copy, measured in the same run.  Compiling takes minutes: --peers FILE takes
torch.compile's times from an earlier run on such a card instead.
"""
import argparse
import ctypes
import functools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import triton

import report

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/torch"))
import aclnn

FLUSH = 256 << 20
COPIED = 1 << 30  # floats
WARM_MS, TIMED_MS = 20, 100
CODES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 27, torch.float64: 11, torch.int64: 9}
ND, NDHWC = 2, 27
aten = torch.ops.aten
MEAN = ctypes.c_char_p(b"mean")


class Ours(aclnn.Library):
    """The installed libraries on PyTorch's tensors, and a stream of theirs."""

    def __init__(self, prefix):
        super().__init__(prefix)
        self.stream = self.made(self.runtime.aclrtCreateStream)
        self.flushed = self.allocate(FLUSH)
        self.one = ctypes.c_void_p(self.objects.aclCreateScalar(ctypes.byref(ctypes.c_float(1)), 0))

    def made(self, make):
        handle = ctypes.c_void_p()
        self.must(make(ctypes.byref(handle)))
        return handle

    def must(self, status):
        self.check("a call", status)

    def tensor(self, t, form=ND):
        shape, strides, rank = aclnn.int64s(t.shape), aclnn.int64s(t.stride()), ctypes.c_uint64(t.dim())
        return ctypes.c_void_p(self.objects.aclCreateTensor(
            shape, rank, CODES[t.dtype], strides, ctypes.c_int64(0), form, shape, rank, ctypes.c_void_p(t.data_ptr())))

    def ints(self, values):
        return ctypes.c_void_p(aclnn.int_array(self, values).value)

    def call(self, function, *arguments):
        """A function that makes the call once, without waiting."""
        one, two = getattr(self.operators, function + "GetWorkspaceSize"), getattr(self.operators, function)
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]  # live as long as the function
        arguments = [self.tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments]

        def run(_=tensors):
            size, executor = ctypes.c_uint64(), ctypes.c_void_p()
            self.must(one(*arguments, ctypes.byref(size), ctypes.byref(executor)))
            assert size.value == 0
            self.must(two(None, ctypes.c_uint64(0), executor, self.stream))
        return run

    def flush(self):
        size = ctypes.c_size_t(FLUSH)
        self.must(self.runtime.aclrtMemsetAsync(self.flushed, size, 0, size, self.stream))

    def wait(self):
        self.must(self.runtime.aclrtSynchronizeStream(self.stream))

    def microseconds(self, run):
        """As theirs(): a few calls to see how long they take, some to get warm, and those that are timed."""
        few = 5
        run()
        self.wait()
        began = time.perf_counter()
        for _ in range(few):
            self.flush()
            run()
        self.wait()
        each = (time.perf_counter() - began) / few * 1e3
        for _ in range(max(1, int(WARM_MS / each))):
            run()
        pairs = []
        for _ in range(max(1, int(TIMED_MS / each))):
            self.flush()
            pairs.append([self.made(self.runtime.aclrtCreateEvent) for _ in range(2)])
            self.must(self.runtime.aclrtRecordEvent(pairs[-1][0], self.stream))
            run()
            self.must(self.runtime.aclrtRecordEvent(pairs[-1][1], self.stream))
        self.wait()
        times = []
        for first, last in pairs:
            elapsed = ctypes.c_float()
            self.must(self.runtime.aclrtEventElapsedTime(ctypes.byref(elapsed), first, last))
            times.append(elapsed.value * 1e3)
            for event in (first, last):
                self.must(self.runtime.aclrtDestroyEvent(event))
        return statistics.median(times)


def size(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def theirs(run):
    return triton.testing.do_bench(run, warmup=WARM_MS, rep=TIMED_MS, return_mode="median") * 1e3


@functools.cache
def copying(moved):
    """The time of a copy that reads and writes so many bytes."""
    a = torch.empty(moved // 8, dtype=torch.float32, device="cuda").normal_()
    b = torch.empty_like(a)
    return theirs(lambda: b.copy_(a))


def compiled(function, arguments):
    """torch.compile's time of the function, compiled for these shapes alone."""
    torch._dynamo.reset()  # or it compiles for any shape, the second time
    fast = torch.compile(function, dynamic=False)
    fast(*arguments)
    return theirs(lambda: fast(*arguments))


def cases(ours, quick):
    """(name, kind of layout, bytes, our call, eager, function to compile and its arguments)"""
    f = ctypes.c_float
    i64, double = ctypes.c_int64, ctypes.c_double
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        d = str(dtype)[6:]
        n = 1 << (26 if quick else 28)
        side = 1 << (13 if quick else 14)
        power = n.bit_length() - 1
        x, y, g = (torch.empty(n, dtype=dtype, device="cuda").normal_() for _ in range(3))
        out, g0 = torch.empty_like(x), torch.tensor(1.0, dtype=dtype, device="cuda")
        smooth = lambda gg, a, b, r: aten.smooth_l1_loss_backward(gg, a, b, r, 1.0)
        loss = lambda a, b, r: aten.smooth_l1_loss(a, b, r, 1.0)
        elu = lambda gg, a, r: aten.elu_backward(gg, 1.0, 1.0, 1.0, r, a)
        for reduction, gg, moved in ((0, g, size(x, y, g, x)), (1, g0, size(x, y, x))):
            yield (f"smooth_l1_bwd {('none', 'mean')[reduction]} {d} [2^{power}]", "line", moved,
                   ours.call("aclnnSmoothL1LossBackward", gg, x, y, i64(reduction), f(1), out), smooth,
                   (gg, x, y, reduction))
        yield (f"smooth_l1 none {d} [2^{power}]", "line", size(x, y, x),
               ours.call("aclnnSmoothL1Loss", x, y, i64(0), f(1), out), loss, (x, y, 0))
        yield (f"smooth_l1 mean {d} [2^{power}]", "line", size(x, y),
               ours.call("aclnnSmoothL1Loss", x, y, i64(1), f(1), g0), loss, (x, y, 1))
        for result in (True, False):
            yield (f"elu_bwd is_result={result} {d} [2^{power}]", "line", size(x, g, x),
                   ours.call("aclnnEluBackward", g, ours.one, ours.one, ours.one, ctypes.c_bool(result), x, out), elu,
                   (g, x, result))
        yield (f"elu {d} [2^{power}]", "line", size(x, x),
               ours.call("aclnnElu", x, ours.one, ours.one, ours.one, out), lambda a: aten.elu(a, 1.0, 1.0, 1.0), (x,))
        square = lambda t: t.view(side, side)
        yield (f"elu_bwd transposed self {d} [{side}^2]", "other", size(x, g, x),
               ours.call("aclnnEluBackward", square(g), ours.one, ours.one, ours.one, ctypes.c_bool(False),
                         square(x).t(), square(out)), elu, (square(g), square(x).t(), False))
        row = y[:side].view(1, -1)
        yield (f"smooth_l1_bwd none broadcast target {d} [{side}^2]", "other", size(x, g, x),
               ours.call("aclnnSmoothL1LossBackward", square(g), square(x), row, i64(0), f(1), square(out)), smooth,
               (square(g), square(x), row, 0))
        del x, y, g, out, row

        for N, C, H, W in ((8, 21, 512, 512), (16, 150, 256, 256)):
            s = torch.empty(N, C, H, W, dtype=dtype, device="cuda").normal_()
            t = torch.randint(0, C, (N, H, W), device="cuda")
            w = torch.rand(C, dtype=dtype, device="cuda")
            total = torch.tensor(1000.0, dtype=dtype, device="cuda")
            go, out = torch.ones(N, H, W, dtype=dtype, device="cuda"), torch.empty_like(s)
            for reduction, gg in ((0, go), (1, total)):
                yield (f"nll_loss2d_bwd red={reduction} {d} {(N, C, H, W)}", "line",
                       size(s, t) + (size(go) if reduction == 0 else 0),
                       ours.call("aclnnNLLLoss2dBackward", gg, s, t, w, i64(reduction), i64(-100), total, out),
                       lambda gg, s, t, w, r, total: aten.nll_loss2d_backward(gg, s, t, w, r, -100, total),
                       (gg, s, t, w, reduction, total), False)
            sl, ol = s.to(memory_format=torch.channels_last), out.to(memory_format=torch.channels_last)
            yield (f"nll_loss2d_bwd channels_last red=0 {d} {(N, C, H, W)}", "other", size(s, t, go),
                   ours.call("aclnnNLLLoss2dBackward", go, sl, t, w, i64(0), i64(-100), total, ol),
                   lambda gg, s, t, w, total: aten.nll_loss2d_backward(gg, s, t, w, 0, -100, total),
                   (go, sl, t, w, total), False)
            # Of self each position reads one element, and with it the 32 bytes it is in.
            yield (f"nll_loss2d mean {d} {(N, C, H, W)}", "gather", size(t) + t.numel() * 32,
                   ours.call("aclnnNLLLoss2d", s, t, w, i64(1), i64(-100), total, total.clone()),
                   lambda s, t, w: aten.nll_loss2d_forward(s, t, w, 1, -100), (s, t, w), False)
            del s, t, go, out, sl, ol

        for N, C, D, H, W, k in ((1, 32, 64, 64, 64, 2), (2, 64, 32, 64, 64, 2), (1, 16, 48, 96, 96, 3)):
            o = [D * k, H * k, W * k]
            go = torch.empty(N, C, *o, dtype=dtype, device="cuda").normal_()
            gi = torch.empty(N, C, D, H, W, dtype=dtype, device="cuda").normal_()
            last = torch.channels_last_3d
            sizes, inputs = ours.ints(o), ours.ints([N, C, D, H, W])
            none = [double(0)] * 3
            for text, kind, a, b in (("", "line", go, gi),
                                     (" channels_last", "other", go.to(memory_format=last), gi.to(memory_format=last))):
                yield (f"upsample_nearest3d_bwd{text} {d} {(N, C, D, H, W)} x{k}", kind, size(a, b),
                       ours.call("aclnnUpsampleNearest3dBackward", a, sizes, inputs, *none, b),
                       lambda a, o, i: aten.upsample_nearest3d_backward(a, o, i, None, None, None),
                       (a, o, [N, C, D, H, W]), False)
                yield (f"upsample_nearest3d{text} {d} {(N, C, D, H, W)} x{k}", kind, size(a, b),
                       ours.call("aclnnUpsampleNearest3d", b, sizes, *none, a),
                       lambda b, o: aten.upsample_nearest3d(b, o, None, None, None), (b, o), False)
            del go, gi, a, b

        for N, C in ((4096, 32000), (4096, 50257), (4096, 128256), (1 << 17, 1000), (1 << 17, 1001), (1 << 20, 128)):
            if quick and C == 128256:
                continue
            lp = torch.log_softmax(torch.randn(N, C, device="cuda"), 1).to(dtype)
            t = torch.randint(0, C, (N,), device="cuda")
            g1, total = (torch.tensor(v, dtype=dtype, device="cuda") for v in (1.0, float(N)))
            out = torch.empty_like(lp)

            def gradient(g1, lp, t, total):
                gn = aten.nll_loss_backward(g1, lp, t, None, 1, -100, total)
                return aten._log_softmax_backward_data(gn, lp, 1, lp.dtype)

            def forward(lp, t):
                logs = aten._log_softmax(lp, 1, False)
                return logs, aten.nll_loss_forward(logs, t, None, 1, -100)
            yield (f"cross_entropy_grad mean {d} {(N, C)}", "line", size(lp, lp, t),
                   ours.call("aclnnCrossEntropyLossGrad", g1, lp, t, None, None, None, MEAN, i64(-100), double(0),
                             double(0), out), gradient, (g1, lp, t, total))
            lse = torch.empty(N, dtype=dtype, device="cuda")
            yield (f"cross_entropy mean {d} {(N, C)}", "line", size(lp, lp, t),
                   ours.call("aclnnCrossEntropyLoss", lp, t, None, MEAN, i64(-100), double(0), double(0),
                             ctypes.c_bool(False), g1, out, total, lse), forward, (lp, t))
            del lp, t, out, lse


def small_calls(prefix):
    """Host time of both phases, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/small_calls"
        source = pathlib.Path(__file__).with_name("small_calls.c")
        subprocess.run(["gcc", "-O2", source, f"-I{prefix}/include", f"-I{prefix}/include/aclnn", f"-L{prefix}/lib64",
                        "-lopapi", "-lnnopbase", "-lascendcl", f"-Wl,-rpath,{prefix}/lib64",
                        f"-Wl,-rpath-link,{prefix}/lib64", "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: float(microseconds) for name, microseconds in map(str.split, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", required=True, help="where Descend is installed")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/h200.json"))
    parser.add_argument("--report", action="store_true", help="write docs/benchmarks/h200.md and its picture, too")
    parser.add_argument("--commit", default="", help="what the libraries were built from")
    parser.add_argument("--filter", default="")
    parser.add_argument("--quick", action="store_true", help="smaller tensors")
    compile_times = parser.add_mutually_exclusive_group()
    compile_times.add_argument("--compile", action="store_true", help="time torch.compile, too")
    compile_times.add_argument("--peers", type=pathlib.Path, help="a file with torch.compile's times of an earlier run")
    options = parser.parse_args()
    torch.manual_seed(0)
    known = {}
    if options.peers:
        known = {row["case"]: row for row in json.loads(options.peers.read_text())["rows"]}
    small = small_calls(options.prefix)
    print("host time of a small call:", ", ".join(f"{name} {t:.2f} us" for name, t in small.items()), flush=True)
    ours = Ours(options.prefix)
    copy = 8 * COPIED / copying(8 * COPIED) / 1e6
    print(f"{torch.cuda.get_device_name()}, copy {copy:.3f} TB/s, torch {torch.__version__}", flush=True)
    rows, began = [], time.monotonic()
    for name, kind, moved, call, eager, arguments, *compiles in cases(ours, options.quick):
        if options.filter not in name:
            continue
        row = {"case": name, "kind": kind, "bytes": moved, "ours_us": ours.microseconds(call)}
        try:
            row["eager_us"] = theirs(lambda: eager(*arguments))
        except (RuntimeError, torch.OutOfMemoryError) as error:
            row["eager_error"] = str(error)[:100]
        if name in known:
            row["compile_us"] = known[name].get("compile_us")
        elif options.compile and compiles != [False]:
            try:
                row["compile_us"] = compiled(eager, arguments)
            except Exception as error:  # whatever a compiler throws is no time
                row["compile_error"] = str(error)[:100]
        best = min((row[key] for key in ("eager_us", "compile_us") if row.get(key)), default=math.nan)
        row["share"] = moved / row["ours_us"] / 1e6 / copy
        row["copy_us"] = copying(moved)
        rows.append(row)
        print(f"{time.monotonic() - began:5.0f} s {name:60s} {moved / 1e6:8.1f} MB {row['ours_us']:9.1f} us {row['share']:6.1%} of copy "
              f"{best / row['ours_us']:6.2f}x", flush=True)
        torch.cuda.empty_cache() if "[" not in name else None
        options.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                                            "compile": report.IN_THIS_RUN if options.compile else report.EARLIER,
                                            "date": time.strftime("%Y-%m-%d"), "commit": options.commit,
                                            "copy_tbs": copy, "small_us": small, "rows": rows}, indent=1))
    if options.report:
        report.write(options.json, pathlib.Path("docs/benchmarks"))


if __name__ == "__main__":
    main()
