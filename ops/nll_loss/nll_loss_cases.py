# SPDX-License-Identifier: MIT
"""Random cases of aclnnNLLLoss, aclnnNLLLossBackward and their 2d forms."""
import ctypes

import numpy
import torch

import elements
import layouts

LANDMARKS = (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 2.0**-24, 2.0**-149, 1000.0)
FAR = (-(2**63), -(2**31), -1, 2**31, 2**62)  # outside of every range


class Problem:
    """What forward and backward share: shapes, self, target, weight, reduction, ignoreIndex."""

    def __init__(self, case, two_dimensional):
        self.case, self.dtype = case, case.pick(*elements.FLOATS)
        classes = int(case.pick(1, 1, 2, 3, 5, 8, 16, 33, 100, 1000))
        limit = max(layouts.element_limit(case.random) // classes, 1)
        if two_dimensional:
            batch = layouts.sizes(case.random, 3, limit)
            shape = [batch[0], classes, *batch[1:]]
        else:
            batch = [] if case.chance(0.15) else layouts.sizes(case.random, 1, limit)
            shape = [*batch, classes]
        self.axis = 1 if len(shape) > 1 else 0
        self.shape, self.batch, self.classes = shape, batch, classes
        self.reduction = case.parameter("reduction", int(case.random.integers(3)))
        self.ignored = case.parameter("ignoreIndex", int(case.pick(
            -100, -100, int(case.random.integers(classes)), 0, classes, 255, -1, 2**62, -(2**63))))

    def draw(self, count):
        return self.case.numbers(count, 3, LANDMARKS)

    def tensors(self):
        case = self.case
        self.self = case.input("self", self.dtype, self.shape, self.draw)
        self.target = target(case, self.batch, self.classes, self.ignored,
                             case.pick(elements.INT64, elements.INT64, elements.INT32, elements.UINT8))
        signed = case.chance(0.2)
        weights = lambda count: self.draw(count) if signed else numpy.abs(case.numbers(count, 2, (0.0, 1.0)))
        self.weight = case.input("weight", self.dtype, [self.classes], weights)

    def counted(self):
        """For each target whether it counts, and the class it names (0 where it does not)."""
        t = self.target.values
        counts = (t != self.ignored) & (t >= 0) & (t < self.classes)
        return counts, numpy.where(counts, t, 0)

    def torch_target(self):
        """The targets as PyTorch takes them, and whether some were out of range."""
        return legal_targets(self.target.values, self.classes, self.ignored)


def target(case, shape, classes, ignored, dtype):
    """Classes, one in eight ignored, and in some cases a few out of range."""
    lawless, all_ignored = case.chance(0.25), case.chance(0.05)
    limits = numpy.iinfo(dtype.storage)

    def draw(count):
        drawn = case.random.integers(0, classes, count)
        if limits.min <= ignored <= limits.max:
            drawn = numpy.where((case.random.random(count) < 0.125) | all_ignored, ignored, drawn)
        if lawless:
            outside = case.random.choice(numpy.array([classes, classes + 7, *FAR]), count)
            drawn = numpy.where(case.random.random(count) < 0.1, outside, drawn)
        return numpy.clip(drawn, limits.min, limits.max)

    return case.input("target", dtype, shape, draw)


def legal_targets(targets, classes, ignored):
    outside = (targets != ignored) & ((targets < 0) | (targets >= classes))
    return torch.from_numpy(numpy.where(outside, ignored, targets).astype("i8")), outside


def sum_slack(terms):
    """Sums of both signs cancel: then their error is relative to the sum of the magnitudes, some roundings to FLOAT."""
    with numpy.errstate(all="ignore"):
        total, magnitude = abs(terms.sum()), numpy.abs(terms).sum()
        return 0.0 if not numpy.isfinite(magnitude) or total == magnitude else 4 * elements.FLOAT_EPSILON * magnitude


def forward(case, two_dimensional):
    p = Problem(case, two_dimensional)
    p.tensors()
    shape = p.batch if p.reduction == 0 else case.pick([], [1])
    out = case.output("out", case.pick(p.dtype, p.dtype, *elements.CAST_TARGETS), shape)
    total = case.output("totalWeightOut", case.pick(p.dtype, p.dtype, *elements.CAST_TARGETS), case.pick([], [1]))
    case.call("aclnnNLLLoss2d" if two_dimensional else "aclnnNLLLoss", p.self, p.target, p.weight,
              ctypes.c_int64(p.reduction), ctypes.c_int64(p.ignored), out, total)

    counts, classes = p.counted()
    with numpy.errstate(all="ignore"):
        weights = numpy.where(counts, p.weight.values[classes], 0)
        values = numpy.take_along_axis(p.self.values, numpy.expand_dims(classes, p.axis), p.axis).squeeze(p.axis)
        terms = numpy.where(counts, -weights * values, 0)
        formula, slack = terms, 0.0
        total_formula, total_slack = weights.sum(), sum_slack(weights)
        if p.reduction:
            formula, slack = terms.sum(), sum_slack(terms)
        if p.reduction == 1:
            # An error of the total weight is one of the mean.
            formula, slack = formula / total_formula, numpy.abs(
                (slack + numpy.abs(formula / total_formula) * total_slack) / total_formula)
            slack = slack if numpy.isfinite(slack) else 0.0
    targets, outside = p.torch_target()
    function = torch.ops.aten.nll_loss2d_forward if two_dimensional else torch.ops.aten.nll_loss_forward
    peer, peer_total = function(torch.from_numpy(p.self.values), targets, torch.from_numpy(p.weight.values),
                                p.reduction, p.ignored)
    case.note({"target_out_of_range": outside})
    case.expect(out, formula, peer.numpy(), p.dtype, slack)
    if p.reduction:
        case.expect(total, total_formula, peer_total.numpy(), p.dtype, total_slack)
    else:
        case.untouched(total)


def backward(case, two_dimensional):
    p = Problem(case, two_dimensional)
    grad = case.input("gradOutput", p.dtype, p.batch if p.reduction == 0 else case.pick([], [1]), p.draw)
    p.tensors()
    total = case.input("totalWeight", p.dtype, case.pick([], [1]), lambda count: numpy.abs(
        case.numbers(count, 3, (0.0, -1.0, numpy.inf, numpy.nan))))
    out_dtype = p.dtype if two_dimensional else case.pick(p.dtype, p.dtype, *elements.CAST_TARGETS)
    out = case.output("out", out_dtype, p.shape)
    case.call("aclnnNLLLoss2dBackward" if two_dimensional else "aclnnNLLLossBackward", grad, p.self, p.target, p.weight,
              ctypes.c_int64(p.reduction), ctypes.c_int64(p.ignored), total, out)

    counts, classes = p.counted()
    with numpy.errstate(all="ignore"):
        g = grad.values.reshape(()) if p.reduction else grad.values
        g = g / total.values.reshape(()) if p.reduction == 1 else g
        chosen = numpy.arange(p.classes).reshape([-1] + [1] * (len(p.shape) - 1 - p.axis))
        here = numpy.expand_dims(counts, p.axis) & (numpy.expand_dims(classes, p.axis) == chosen)
        formula = numpy.where(here, numpy.expand_dims(-(g * p.weight.values[classes]), p.axis), 0)
    targets, outside = p.torch_target()
    function = torch.ops.aten.nll_loss2d_backward if two_dimensional else torch.ops.aten.nll_loss_backward
    peer = function(torch.from_numpy(numpy.asarray(grad.values)), torch.from_numpy(p.self.values), targets,
                    torch.from_numpy(p.weight.values), p.reduction, p.ignored, torch.from_numpy(total.values))
    case.note({"target_out_of_range": outside})
    case.expect(out, formula, peer.numpy(), p.dtype)


CASES = {
    "aclnnNLLLoss": lambda case: forward(case, False),
    "aclnnNLLLoss2d": lambda case: forward(case, True),
    "aclnnNLLLossBackward": lambda case: backward(case, False),
    "aclnnNLLLoss2dBackward": lambda case: backward(case, True),
}
