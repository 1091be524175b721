# SPDX-License-Identifier: MIT
"""Random cases of aclnnElu, aclnnInplaceElu and aclnnEluBackward."""
import ctypes

import numpy
import torch

import elements
import layouts
from elements import BF16, DOUBLE, FLOAT, FLOAT16, INT8, INT32, INT64

LANDMARKS = (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 2.0**-24, -(2.0**-24), 2.0**-149, -(2.0**-130),
             -1e-8, -17.0, -88.0, -104.0, 60000.0, -60000.0, 3e38, -3e38)


def wide(dtype, values):
    """What the formula is computed in: more than the operator has."""
    return values.astype(numpy.longdouble if dtype is DOUBLE else "f8")


def scalars(case, dtype, negative_alpha=True):
    """alpha, scale and inputScale as handles, and as the numbers they count as."""
    handles, numbers = [], []
    for name in ("alpha", "scale", "inputScale"):
        value = case.pick(1.0, 1.0, 1.6732632423543772, 0.5, 0.0, 2.0, 0.1, float(abs(case.random.normal())))
        if case.chance(0.15) and (negative_alpha or name != "alpha"):
            value = -value
        if name == "inputScale" and 0 in numbers:
            # 0 times an exponential that overflows: from e^709 on PyTorch, in double, says NaN, the exact formula 0.
            value = abs(value)
        handle, number = case.number(name, value, FLOAT, FLOAT, DOUBLE, FLOAT16, BF16, INT32, INT64, INT8)
        handles.append(handle)
        numbers.append(number if dtype is DOUBLE else float(numpy.float32(number)))
    return handles, numbers


def forward(case, in_place):
    dtype = case.pick(FLOAT, FLOAT16, BF16, DOUBLE)
    shape = layouts.shape(case.random)
    draw = lambda count: case.numbers(count, landmarks=LANDMARKS)
    aliased = not in_place and case.chance(0.1)
    self = case.input("selfRef" if in_place else "self", dtype, shape, draw, shares_memory=not (in_place or aliased))
    handles, (alpha, scale, input_scale) = scalars(case, dtype)
    out = self
    if aliased:  # in the same memory: in place, or shifted by one element when there is room for it
        view = case.chance(0.5) and self.view.shifted(case.pick(-1, 1)) or self.view
        out = case.tensor("out", dtype, view, self.stored, shared_with=self)
    elif not in_place:
        out = case.output("out", case.pick(dtype, dtype, *elements.CAST_TARGETS), shape)
    if in_place:
        case.call("aclnnInplaceElu", self, *handles)
    else:
        case.call("aclnnElu", self, *handles, out)

    values = wide(dtype, self.values)
    with numpy.errstate(all="ignore"):
        formula = numpy.where(values > 0, values, alpha * numpy.expm1(values * input_scale)) * scale
        # For DOUBLE PyTorch has no more digits than we do: it rounds x * inputScale, alpha * scale and two results.
        exponent = numpy.minimum(numpy.abs(values * input_scale), 1000)
        slack = numpy.abs(formula) * 3 * 2.0**-53 + numpy.abs(alpha * scale) * exponent * numpy.exp(
            numpy.minimum(values * input_scale, 700)) * 2.0**-53
        slack = numpy.where((values <= 0) & numpy.isfinite(slack), slack, 0) if dtype is DOUBLE else 0.0
    peer = torch.from_numpy(self.values)
    if in_place:
        torch.ops.aten.elu_(peer, alpha, scale, input_scale)
    else:
        peer = torch.ops.aten.elu(peer, alpha, scale, input_scale)
    case.expect(out, formula, peer.numpy(), dtype, torch_slack=slack)


def elu(case):
    forward(case, in_place=False)


def inplace_elu(case):
    forward(case, in_place=True)


def elu_backward(case):
    dtype = case.pick(*elements.FLOATS)
    shape = layouts.shape(case.random)
    draw = lambda count: case.numbers(count, landmarks=LANDMARKS)
    grad = case.input("gradOutput", dtype, shape, draw)
    is_result = case.parameter("isResult", case.chance(0.5))
    handles, (alpha, scale, input_scale) = scalars(case, dtype, negative_alpha=not is_result)
    # ELU's result is never far below -alpha * scale; that a slope FLOAT cannot hold counts as infinite is documented.
    known = case.input("selfOrResult", dtype, shape, lambda count: numpy.where(
        (drawn := draw(count)) < -1e30, -60000.0 if is_result else drawn, drawn))
    out = case.output("gradInput", case.pick(dtype, dtype, *elements.CAST_TARGETS), shape)
    case.call("aclnnEluBackward", grad, *handles, ctypes.c_bool(is_result), known, out)

    g, v = grad.values, known.values
    with numpy.errstate(all="ignore"):
        if is_result:
            negative = (g * input_scale) * (v + alpha * scale)
        else:
            negative = ((g * input_scale) * (alpha * scale)) * numpy.exp(v * input_scale)
        formula = numpy.where(v <= 0, negative, g * scale)
    peer = torch.ops.aten.elu_backward(torch.from_numpy(g), alpha, scale, input_scale, is_result, torch.from_numpy(v))
    case.expect(out, formula, peer.numpy(), dtype, deviating={"elu_backward_nan": numpy.isnan(v)})


CASES = {"aclnnElu": elu, "aclnnInplaceElu": inplace_elu, "aclnnEluBackward": elu_backward}
