# SPDX-License-Identifier: MIT
"""Random cases of aclnnSmoothL1Loss and aclnnSmoothL1LossBackward."""
import ctypes

import numpy
import torch

import elements
import layouts

LANDMARKS = (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 0.5, 2.0**-24, 2.0**-149, 60000.0, -60000.0)
LARGEST = (3e38, -3e38)  # not in sums: whether they overflow on the way is not for PyTorch in double to say
REDUCTIONS = ("none", "mean", "sum")


def inputs(case, names, reduction):
    """Tensors that broadcast together, of mixed dtypes, and the shape they broadcast to."""
    landmarks = LANDMARKS + (LARGEST if reduction == 0 else ())
    # Few magnitudes, and halves: differences of 0, of beta and on both sides of beta have to come.
    halves = case.chance(0.3)
    draw = lambda count: numpy.rint(case.numbers(count, 1) * 2) / 2 if halves else case.numbers(count, 2, landmarks)
    whole = layouts.shape(case.random)
    equal_dtypes, equal_shapes = case.chance(0.4), case.chance(0.5)
    dtype = case.pick(*elements.FLOATS)
    tensors = []
    for name in names:
        shape = whole if equal_shapes else layouts.parts_of(case.random, whole)
        if name == "gradOut" and case.chance(0.4):
            shape = case.pick([], [1])
        tensors.append(case.input(name, dtype if equal_dtypes else case.pick(*elements.FLOATS), shape, draw))
    return tensors, numpy.broadcast_shapes(*[tensor.view.shape for tensor in tensors])


def parameters(case):
    reduction = case.parameter("reduction", int(case.random.integers(3)))
    beta = case.pick(1.0, 1.0, 0.0, 0.5, 0.1, 2.0, 1e-3, 100.0, float(abs(case.random.normal())), float("inf"))
    return reduction, case.parameter("beta", float(numpy.float32(beta)))


def loss(self, target, beta):
    with numpy.errstate(all="ignore"):
        distance = numpy.abs(self - target)
        return numpy.where(distance < beta, 0.5 * distance * distance / (beta or 1), distance - 0.5 * beta)


def smooth_l1_loss(case):
    reduction, beta = parameters(case)
    (self, target), whole = inputs(case, ("self", "target"), reduction)
    dtype = elements.promote(self.dtype, target.dtype)
    shape = whole if reduction == 0 else case.pick([], [1], [1, 1, 1])
    result = case.output("result", case.pick(dtype, dtype, *elements.CAST_TARGETS), shape)
    case.call("aclnnSmoothL1Loss", self, target, ctypes.c_int64(reduction), ctypes.c_float(beta), result)

    formula = loss(self.values, target.values, beta)
    with numpy.errstate(all="ignore"):
        if reduction:
            formula = formula.sum() / (formula.size if reduction == 1 else numpy.float64(1))
    peer = torch.ops.aten.smooth_l1_loss(*torch.broadcast_tensors(torch.from_numpy(self.values),
                                                                  torch.from_numpy(target.values)), reduction, beta)
    case.expect(result, formula, peer.numpy(), dtype)


def smooth_l1_loss_backward(case):
    reduction, beta = parameters(case)
    (grad, self, target), whole = inputs(case, ("gradOut", "self", "target"), 0)
    dtype = elements.promote(grad.dtype, self.dtype, target.dtype)
    out = case.output("gradInput", case.pick(dtype, *elements.FLOATS), whole)
    case.call("aclnnSmoothL1LossBackward", grad, self, target, ctypes.c_int64(reduction), ctypes.c_float(beta), out)

    count = numpy.broadcast_shapes(self.view.shape, target.view.shape)
    divisor = float(numpy.prod(count)) if reduction == 1 else 1.0
    with numpy.errstate(all="ignore"):
        x = self.values - target.values
        slope = numpy.where(numpy.abs(x) < beta, x / (beta or 1), numpy.sign(x))
        formula = grad.values * slope / divisor
        at_zero = numpy.broadcast_to((x == 0) & (beta == 0), whole)
    # PyTorch divides by the element count of what it is given as self, and wants all of one shape: where gradOut is
    # larger than the loss, its sum's gradient is divided here.
    larger = whole != count
    tensors = [torch.from_numpy(tensor.values).expand(whole if larger else count) for tensor in (self, target)]
    peer = torch.ops.aten.smooth_l1_loss_backward(torch.from_numpy(grad.values), *tensors, 2 if larger else reduction,
                                                  beta)
    if larger:
        peer /= divisor
    case.expect(out, formula, peer.numpy(), dtype, deviating={"smooth_l1_backward_beta_0": at_zero})


CASES = {"aclnnSmoothL1Loss": smooth_l1_loss, "aclnnSmoothL1LossBackward": smooth_l1_loss_backward}
