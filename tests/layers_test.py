#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The include directions: which folder may see which.  docs/architecture.md says why."""
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PUBLIC = ["acl/", "aclnn/", "aclnnop/"]
ENGINE = {  # folder below src/: the folders below src/ it may include besides itself
    "base": [],
    "tensor": ["base"],
    "device": ["base"],
    "observe": ["tensor", "base"],
    "runtime": ["observe", "device", "tensor", "base"],
    "plan": ["observe", "runtime", "device", "tensor", "base"],
    "acl": ["observe", "runtime", "device", "base"],
    "aclnn": ["observe", "plan", "runtime", "tensor", "base"],
    "trace": ["observe", "device", "tensor", "base"],
    "check": ["observe", "runtime", "device", "tensor", "base", "backends/cpu/parallel.h"],
    "backends": ["device", "base"],
    "reference": ["tensor", "base"],
    "loops": ["device", "tensor", "base", "backends/cpu/parallel.h", "backends/cuda/launch.h"],
}
SINGLE_ARROWS = {  # (folder, file): what the table above does not give
    ("src/plan", "src/loops/copy_kernels.h"),  # the engine's own kernel: its arguments, plain data
    ("src/check", "src/loops/inspect_kernels.h"),  # and the other one
    ("src/backends/reference", "src/backends/cpu/device.h"),  # it is the cpu device, without kernels
}
SEES_PUBLIC_HEADERS = {"acl", "aclnn"}
OPERATOR = [  # (file name ends in, what of its own folder it may include, folders below src/), the first that fits
    (r"_(test|bits|bench|torch|onednn)\.cc|_test\.h|_example\.c", None, None),
    (r"_reference\.cc", r"\w+(?<!_kernels)\.h", ["reference"]),
    (r"_cpu\.cc|_cpu-inl\.h|_cuda\.cu|\.cuh", r"\w+_kernels\.h|\w+_cpu-inl\.h|\w+_cpu\.cc|\w+_formulas\.inc|\w+\.cuh",
     ["loops", "device", "tensor", "base"]),
    (r"_kernels\.h", r"\w+_kernels\.h", ["device", "tensor", "base"]),
    (r"\.cc|\.h", r"\w+\.h|include/aclnnop/\w+\.h", ["plan", "tensor", "base"]),
]


def allowed(file, include):
    """Whether the file, named from the repository's root, may contain #include "include"."""
    if include.startswith("hwy/") or include == "descend_abi.h":
        return True  # Highway spells its own headers so; the other is made by the build
    parts = file.split("/")
    is_public = include.startswith(tuple(PUBLIC))
    if parts[0] == "src":
        folder = parts[1]
        if folder not in ENGINE:
            return False  # a new layer first says what it may see
        own = "/".join(parts[:3]) if folder == "backends" else f"src/{folder}"  # no backend sees another
        seen = [f"src/{each}" for each in ENGINE[folder]] + [own]
        if (own, include) in SINGLE_ARROWS:
            return True
        return is_public and folder in SEES_PUBLIC_HEADERS or reaches(seen, include)
    own = "/".join(parts[:2]) + "/"
    if parts[2] == "include":
        return is_public
    pattern, own_files, folders = next(row for row in OPERATOR if re.search(f"(?:{row[0]})$", file))
    if folders is None:
        return True
    if include.startswith(own):
        return re.fullmatch(own_files, include[len(own):]) is not None
    return is_public and pattern == OPERATOR[-1][0] or reaches([f"src/{each}" for each in folders], include)


def reaches(seen, include):
    return any(include == each or include.startswith(each + "/") for each in seen)


def includes(root):
    """(file, included) for every quoted include below src/ and ops/."""
    for folder in ("src", "ops"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".c", ".cu", ".cuh", ".cpp"):
                for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
                    yield str(path.relative_to(root)), include


class Layers(unittest.TestCase):
    def test_every_include_points_down(self):
        found = list(includes(SOURCE))
        self.assertGreater(len(found), 20)
        wrong = [f"{file} includes {include}" for file, include in found if not allowed(file, include)]
        self.assertEqual(wrong, [])

    def test_wrong_arrows_are_seen(self):
        for file, include in [("src/base/log.h", "src/tensor/dims.h"), ("src/tensor/dims.cc", "src/device/device.h"),
                              ("src/device/kernel.cc", "src/backends/cpu/parallel.h"),
                              ("src/runtime/context.cc", "src/plan/plan.h"), ("src/plan/plan.h", "acl/acl.h"),
                              ("src/acl/stream.cc", "src/plan/plan.h"), ("src/loops/copy_cpu-inl.h", "src/plan/plan.h"),
                              ("src/loops/copy_cpu-inl.h", "src/backends/cpu/stream.h"),
                              ("src/backends/cuda/device.cc", "src/backends/cpu/device.h"),
                              ("src/plan/planner.cc", "src/loops/copy_cpu-inl.h"),
                              ("src/backends/cpu/device.cc", "src/runtime/context.h"),
                              ("src/reference/points.h", "src/loops/copy_cpu-inl.h"),
                              ("src/base/log.cc", "acl/acl_base.h"), ("src/utilities/log.h", "src/base/log.h"), ("src/tensor/dims.h", "ops/elu/elu.h"),
                              ("ops/elu/elu.cc", "ops/relu/relu.h"), ("ops/elu/elu_cpu.cc", "ops/elu/elu.h"),
                              ("ops/elu/elu_cpu.cc", "src/plan/plan.h"), ("ops/elu/elu.cc", "src/loops/copy_cpu-inl.h"),
                              ("ops/elu/elu_reference.cc", "ops/elu/elu_kernels.h"),
                              ("ops/elu/elu_reference.cc", "src/loops/copy_cpu-inl.h"),
                              ("ops/elu/elu_kernels.h", "src/plan/plan.h"),
                              ("ops/elu/include/aclnnop/aclnn_elu.h", "src/plan/plan.h")]:
            self.assertFalse(allowed(file, include), f"{file} includes {include}")

    def test_right_arrows_pass(self):
        for file, include in [("src/acl/stream.cc", "acl/acl_rt.h"), ("src/plan/plan.cc", "src/tensor/tensor.h"),
                              ("src/loops/copy_cpu-inl.h", "src/backends/cpu/parallel.h"),
                              ("ops/elu/elu.cc", "aclnnop/aclnn_elu.h"), ("ops/elu/elu.cc", "ops/elu/elu_kernels.h"),
                              ("ops/elu/elu_cpu.cc", "hwy/highway.h"), ("ops/elu/elu_test.cc", "src/plan/catalog.h"),
                              ("ops/elu/elu_reference.cc", "src/reference/points.h")]:
            self.assertTrue(allowed(file, include), f"{file} includes {include}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
