# SPDX-License-Identifier: MIT
"""Random cases of aclnnUpsampleNearest3d and aclnnUpsampleNearest3dBackward."""
import ctypes

import numpy
import torch

import elements
from case import NCDHW, ND, NDHWC

DTYPES = (elements.FLOAT, elements.FLOAT16, elements.BF16, elements.DOUBLE)
LANDMARKS = (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 2.0**-24, 2.0**-149)
TO_NDHWC, TO_NCDHW = (0, 2, 3, 4, 1), (0, 4, 1, 2, 3)


def in_format(format_code, shape):
    """The dimensions of a tensor that is (N, C, D, H, W)."""
    return [shape[i] for i in TO_NDHWC] if format_code == NDHWC else list(shape)


def from_format(format_code, array):
    return array.transpose(TO_NCDHW) if format_code == NDHWC else array


def axis_size(case, most):
    return int(case.pick(1, 1, 2, 3, 4, 5, 7, 8, 12, int(case.random.integers(1, most))))


class Sizes:
    """N, C, the three input and output sizes, and the scales."""

    def __init__(self, case):
        self.batch, self.channels = (int(case.pick(1, 1, 2, 3, 5, 17)) for _ in range(2))
        most = 30 if case.chance(0.05) else 14
        self.input = [axis_size(case, most) for _ in range(3)]
        kind = case.pick("any", "any", "double", "same", "multiple")
        self.output = [{"any": axis_size(case, most), "double": 2 * size, "same": size,
                        "multiple": size * int(case.pick(1, 2, 3))}[kind] for size in self.input]
        limit = 200_000 if case.chance(0.03) else 12_000
        while self.batch * self.channels * max(numpy.prod(self.input), numpy.prod(self.output)) > limit:
            self.batch, self.channels = max(self.batch // 2, 1), max(self.channels // 2, 1)
            self.input, self.output = ([max(size * 3 // 4, 1) for size in sizes] for sizes in (self.input, self.output))
        self.scales = self.draw_scales(case)
        # All three or none.
        self.used = self.scales if all(scale > 0 for scale in self.scales) else None

    def draw_scales(self, case):
        matching = [out / size for out, size in zip(self.output, self.input)]
        kind = case.pick("none", "matching", "matching", "near", "any", "one is not")
        if kind == "none":
            return [0.0] * 3
        if kind == "near":  # as a program has them that computed the sizes from the scales
            return [scale * (1 + case.random.random() / out) for scale, out in zip(matching, self.output)]
        if kind == "any":
            return [float(numpy.exp2(case.random.uniform(-3, 3))) for _ in range(3)]
        if kind == "one is not":
            matching[int(case.random.integers(3))] = case.pick(0.0, -1.0, float("nan"), float("-inf"))
        return matching

    def parameters(self, case):
        return [ctypes.c_double(case.parameter(name, scale))
                for name, scale in zip(("scalesD", "scalesH", "scalesW"), self.scales)]


def sources(in_size, out_size, scale):
    """Which input each output takes: float32, as the contract says."""
    ratio = numpy.float32(1 / scale) if scale else numpy.float32(in_size) / numpy.float32(out_size)
    return numpy.minimum(numpy.floor(numpy.arange(out_size, dtype="f4") * ratio), in_size - 1).astype("i8")


def torch_sources(in_size, out_size, scale):
    """The same in PyTorch's CPU code for gradients, which does not look at scales for these two sizes."""
    if out_size in (in_size, 2 * in_size):
        return numpy.arange(out_size) // (out_size // in_size)
    return sources(in_size, out_size, scale)


def owners(in_size, out_size, scale):
    """Which input's gradient each output goes to, or -1."""
    ratio = numpy.float32(scale) if scale else numpy.float32(out_size) / numpy.float32(in_size)
    ends = numpy.minimum(numpy.ceil(numpy.arange(in_size + 1, dtype="f4") * ratio), out_size).astype("i8")
    owner = numpy.full(out_size, -1)
    for i in range(in_size):
        owner[ends[i]:ends[i + 1]] = i
    return owner


def forward(case):
    sizes, dtype = Sizes(case), case.pick(*DTYPES)
    batch = 0 if case.chance(0.03) else sizes.batch
    format_code = case.pick(ND, NCDHW, NDHWC, NDHWC)
    self = case.input("self", dtype, in_format(format_code, [batch, sizes.channels, *sizes.input]),
                      lambda count: case.numbers(count, 6, LANDMARKS), format_code)
    size = case.int_array("outputSize", sizes.output)
    scales = sizes.parameters(case)
    out = case.output("out", dtype, in_format(format_code, [batch, sizes.channels, *sizes.output]), format_code)
    case.call("aclnnUpsampleNearest3d", self, size, *scales, out)

    values = from_format(format_code, self.values)
    used = sizes.used or [None] * 3
    chosen = [sources(*axis) for axis in zip(sizes.input, sizes.output, used)]
    formula = values[:, :, chosen[0][:, None, None], chosen[1][:, None], chosen[2]]
    # PyTorch computes indices in the tensor's dtype: for float32 it is asked where elements come from, for every dtype.
    places = torch.arange(int(numpy.prod(sizes.input)), dtype=torch.float32).reshape(1, 1, *sizes.input)
    places = torch.ops.aten.upsample_nearest3d(places, sizes.output, *used)[0, 0].long().numpy()
    peer = values.reshape(batch, sizes.channels, int(numpy.prod(sizes.input)))[:, :, places]
    order = TO_NDHWC if format_code == NDHWC else range(5)
    case.expect(out, formula.transpose(order), peer.transpose(order), dtype, exact=True)


def box_sums(values, owner_of, sizes):
    """Sums over the boxes of outputs that each input owns."""
    for axis, (owner, size) in enumerate(zip(owner_of, sizes), start=2):
        shape = list(values.shape)
        shape[axis] = size
        summed = numpy.zeros(shape, values.dtype)
        index = [slice(None)] * axis
        for o, i in enumerate(owner):
            if i >= 0:
                summed[(*index, i)] += values[(*index, o)]
        values = summed
    return values


def backward(case):
    sizes, dtype = Sizes(case), case.pick(*DTYPES)
    batch, channels = sizes.batch, sizes.channels
    if case.chance(0.03):
        batch, channels = case.pick((0, channels), (batch, 0))
    formats = [case.pick(ND, NCDHW, NDHWC, NDHWC) for _ in range(2)]
    shape = [batch, channels, *sizes.input]
    grad = case.input("gradOut", dtype, in_format(formats[0], [batch, channels, *sizes.output]),
                      lambda count: case.numbers(count, 2, LANDMARKS), formats[0])
    out_size = case.int_array("outputSize", sizes.output)
    # For NDHWC tensors either order is accepted.
    in_size = case.int_array("inputSize", in_format(case.pick(ND, formats[1]), shape))
    scales = sizes.parameters(case)
    out = case.output("gradInput", dtype, in_format(formats[1], shape), formats[1])
    case.call("aclnnUpsampleNearest3dBackward", grad, out_size, in_size, *scales, out)
    if batch * channels == 0:
        case.untouched(out)
        return

    values = from_format(formats[0], grad.values)
    used = sizes.used or [None] * 3
    owner_of = [owners(*axis) for axis in zip(sizes.input, sizes.output, used)]
    theirs = [torch_sources(*axis) for axis in zip(sizes.input, sizes.output, used)]
    with numpy.errstate(all="ignore"):
        wide = numpy.longdouble if dtype is elements.DOUBLE else "f8"  # more than the operator has
        formula = box_sums(values.astype(wide), owner_of, sizes.input)
        magnitude = box_sums(numpy.abs(values), owner_of, sizes.input)
        terms = box_sums(numpy.ones_like(values), owner_of, sizes.input)
        # The contract adds one after the other: each addition rounds once.
        rounding = 2.0**-53 if dtype is elements.DOUBLE else elements.FLOAT_EPSILON
        slack = numpy.maximum(terms - 1, 0) * rounding * magnitude
    differs = numpy.zeros(sizes.input, bool)
    for axis, (ours, other, size) in enumerate(zip(owner_of, theirs, sizes.input)):
        changed = numpy.zeros(size, bool)
        moved = ours != other
        changed[ours[moved & (ours >= 0)]] = True
        changed[other[moved]] = True
        differs |= changed.reshape([-1 if i == axis else 1 for i in range(3)])
    peer = torch.ops.aten.upsample_nearest3d_backward(torch.from_numpy(values.copy()), sizes.output, shape, *used)
    peer = peer.numpy()
    order = TO_NDHWC if formats[1] == NDHWC else range(5)
    mask = numpy.broadcast_to(differs, shape).transpose(order)
    case.expect(out, formula.transpose(order), peer.transpose(order), dtype, slack.transpose(order),
                torch_slack=slack.transpose(order), deviating={"upsample_backward_owner": mask})


CASES = {"aclnnUpsampleNearest3d": forward, "aclnnUpsampleNearest3dBackward": backward}
