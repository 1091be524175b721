# SPDX-License-Identifier: MIT
"""The numbers of a run of descend_bench: what follows from them, and which of them are below a bar."""
import collections
import json
import math
import pathlib
import re
import tomllib

NOISE = 0.95  # a ratio from here on counts as no slower: two runs differ by as much
REASONS = pathlib.Path(__file__).with_name("reasons.toml")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def quotient(a, b):
    return a / b if a and b else None


class Results:
    """A report's JSON; each case has the quotients that are read off it."""

    def __init__(self, path):
        self.report = json.loads(path.read_text())
        if self.report["schema"] != 1:
            raise SystemExit(f"{path} is of another version of the benchmarks")
        self.cache = self.report["cache_bytes"] or 32 << 20
        self.cases = self.report["cases"]
        for case in self.cases:
            case["name"] = f"{case['function']} {case['label']}"
            case["bytes"] = case["bytes_read"] + case["bytes_written"]
            case["ratio"] = quotient(case["torch"], case["ours"])
            case["onednn_ratio"] = quotient(case["onednn"], case["ours"])
            case["share"] = quotient(case["limit"], case["ours"])
            case["speedup"] = quotient(case["ours_one_thread"], case["ours"])
            case["limit_speedup"] = quotient(case["limit_one_thread"], case["limit"])

    def by_function(self):
        functions = collections.defaultdict(list)
        for case in self.cases:
            functions[case["function"]].append(case)
        return dict(sorted(functions.items()))

    def in_cache(self, case):
        """The fastest call of the same kind (function, dtype, what its label says after the shape) that a cache holds."""
        kind = (case["function"], re.sub(r" [\dx]+", "", case["label"], count=1))
        fitting = [other for other in self.cases if 1 << 20 <= other["bytes"] <= self.cache // 2
                   and (other["function"], re.sub(r" [\dx]+", "", other["label"], count=1)) == kind]
        return max(fitting, key=lambda other: other["bytes"] / other["ours"], default=None)


class Bar:
    """Something asked for of some points: a value of each, and the least it should be."""

    def __init__(self, name, title, points, value, least):
        self.name, self.title, self.points, self.value, self.least = name, title, points, value, least
        self.missed = sorted((case for case in points if value(case) < least), key=value)

    def text(self):
        return f"{len(self.points) - len(self.missed)} of {len(self.points)} points"


def bars(results):
    """All of them; a run without such points has an empty one."""
    cases, threads = results.cases, results.report["threads"]
    large = [case for case in cases if case["bytes"] > results.cache]  # from there on the limit is as fast as memory
    least = 0.9 * threads
    # Where that many times one thread would be more than 85 % of what the memory gives, it is not asked for.
    shared = [case for case in cases if case["speedup"] and 0.85 * case["ours_one_thread"] >= least * case["limit"]]
    return [
        Bar("torch", "no slower than PyTorch", [case for case in cases if case["ratio"]], lambda case: case["ratio"], NOISE),
        Bar("onednn", "no slower than oneDNN", [case for case in cases if case["onednn_ratio"]],
            lambda case: case["onednn_ratio"], NOISE),
        Bar("limit", "contiguous, larger than the caches: 85 % of the limit",
            [case for case in large if case["layout"] == "contiguous"], lambda case: case["share"], 0.85),
        Bar("limit", "transposed, broadcast or channels-last, larger than the caches: 60 % of the limit",
            [case for case in large if case["layout"] != "contiguous"], lambda case: case["share"], 0.6),
        Bar("threads", f"{threads} threads {least:.1f} times as fast as one, where the memory allows it", shared,
            lambda case: case["speedup"], least),
    ]


def small_calls(results):
    """(what, measured, asked for, whether it is reached) of calls on 16 elements."""
    rows = []
    for case in results.cases:
        if case["name"] == "aclnnEluBackward FLOAT 16 from input":
            ratio = case["ratio"] or math.nan
            rows.append(("both phases on 16 elements, times as fast as `at::elu_backward_out`", f"{ratio:.2f}", "3",
                         ratio >= 3))
            rows.append(("phase one of it", f"{1e9 * case['phase_one']:.0f} ns", "200 ns", case["phase_one"] <= 200e-9))
    return rows


class Reasons:
    """reasons.toml: why points are below a bar, by patterns of their names; the first that fits counts."""

    def __init__(self, path=REASONS):
        self.all = tomllib.loads(path.read_text())["reason"]
        self.used = set()

    def of(self, bar, case):
        """The reason's text, or nothing."""
        for index, reason in enumerate(self.all):
            if bar in reason["bars"] and re.search(reason["points"], case["name"]):
                self.used.add(index)
                return reason["text"].strip()
        return None

    def unused(self):
        return [reason["points"] for index, reason in enumerate(self.all) if index not in self.used]
