# SPDX-License-Identifier: MIT
"""Random cases of aclnnCrossEntropyLoss and aclnnCrossEntropyLossGrad."""
import ctypes

import numpy
import torch

import elements
import layouts
from elements import FLOAT, FLOAT_EPSILON, INT32, INT64
from nll_loss_cases import legal_targets, target as draw_target

LANDMARKS = (0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 2.0**-24, -80.0, -200.0)


class Problem:
    """What the loss and its gradient share: sizes, target, weight and parameters."""

    def __init__(self, case):
        self.case, self.dtype = case, case.pick(*elements.FLOATS)
        self.classes = int(case.pick(1, 2, 3, 5, 8, 16, 17, 33, 100, 1000))
        limit = max(layouts.element_limit(case.random) // self.classes, 1)
        self.rows = layouts.sizes(case.random, 1, limit)[0]
        self.reduction = case.pick("none", "mean", "sum")
        # A null pointer means "mean".
        self.text = None if self.reduction == "mean" and case.chance(0.3) else self.reduction
        case.parameter("reduction", self.text)
        self.ignored = case.parameter("ignoreIndex", int(case.pick(
            -100, -100, int(case.random.integers(self.classes)), -1, self.classes, 2**62)))
        self.smoothing = case.parameter("labelSmoothing", float(case.pick(
            0.0, 0.0, 0.1, 0.5, 1.0, case.random.random())))
        self.weighted = case.chance(0.5)

    def draw(self, count):
        return self.case.numbers(count, 3, LANDMARKS)

    def target_and_weight(self):
        case = self.case
        dtype = case.pick(INT64, INT32) if case.library.product.startswith("Ascend950") else INT64
        self.target = draw_target(case, [self.rows], self.classes, self.ignored, dtype)
        draw = lambda count: numpy.abs(case.numbers(count, 2, (0.0, 1.0)))
        self.weight = case.input("weight", FLOAT, [self.classes], draw) if self.weighted else None
        t = self.target.values
        self.counts = (t != self.ignored) & (t >= 0) & (t < self.classes)
        self.chosen = numpy.where(self.counts, t, 0)
        self.weights = self.weight.values if self.weighted else numpy.ones(self.classes)
        self.row_weights = numpy.where(self.counts, self.weights[self.chosen], 0)
        self.total = self.row_weights.sum()
        self.torch_target, outside = legal_targets(t, self.classes, self.ignored)
        self.torch_weight = torch.from_numpy(self.weights) if self.weighted else None
        case.note({"target_out_of_range": outside})

    def text_argument(self):
        return None if self.text is None else ctypes.c_char_p(self.text.encode())

    def loss_shape(self):
        return [self.rows] if self.reduction == "none" else self.case.pick([], [1])


def log_softmax(x):
    shifted = x - x.max(axis=1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))


def cross_entropy_loss(case):
    p = Problem(case)
    x = case.input("input", p.dtype, [p.rows, p.classes], p.draw)
    p.target_and_weight()
    loss = case.output("lossOut", p.dtype, p.loss_shape())
    log_prob = case.output("logProbOut", p.dtype, [p.rows, p.classes])
    zloss = case.output("zlossOut", p.dtype, loss.view.shape)
    lse = case.output("lseForZlossOut", p.dtype, [p.rows])
    returns_zloss = case.parameter("returnZloss", case.chance(0.2))
    scale = case.parameter("lseSquareScaleForZloss", case.pick(0.0, 0.5))
    case.call("aclnnCrossEntropyLoss", x, p.target, p.weight, p.text_argument(), ctypes.c_int64(p.ignored),
              ctypes.c_double(p.smoothing), ctypes.c_double(scale), ctypes.c_bool(returns_zloss), loss, log_prob, zloss,
              lse)

    with numpy.errstate(all="ignore"):
        logs = log_softmax(x.values)
        # The sum of exponentials has a relative error of a few roundings, its logarithm the same as an absolute one.
        log_slack = 4 * FLOAT_EPSILON
        chosen = numpy.take_along_axis(logs, p.chosen[:, None], 1)[:, 0]
        rows = -(1 - p.smoothing) * p.row_weights * chosen
        slack = (1 - p.smoothing) * p.row_weights * log_slack
        if p.smoothing:
            rows = rows - p.smoothing / p.classes * (p.weights * logs).sum(axis=1)
            slack = slack + p.smoothing * p.weights.mean() * log_slack
        rows, slack = numpy.where(p.counts, rows, 0), numpy.where(p.counts, slack, 0)
        formula = rows if p.reduction == "none" else rows.sum()
        if p.reduction != "none":
            slack = slack.sum()
        if p.reduction == "mean":
            formula, slack = formula / p.total, slack / p.total if p.total else 0.0
    peer_input = torch.from_numpy(x.values)
    peer = torch.nn.functional.cross_entropy(peer_input, p.torch_target, p.torch_weight, ignore_index=p.ignored,
                                             reduction=p.reduction, label_smoothing=p.smoothing)
    case.expect(log_prob, logs, torch.log_softmax(peer_input, 1).numpy(), p.dtype, log_slack)
    case.expect(loss, formula, peer.numpy(), p.dtype, slack)
    case.untouched(zloss)
    case.untouched(lse)


def torch_gradient(p, gradient, logs):
    """The gradient at the input of log-softmax: of what cross_entropy does after it, through log-softmax's backward."""
    logs = torch.from_numpy(logs).requires_grad_()
    keywords = {"ignore_index": p.ignored, "reduction": p.reduction}
    loss = torch.nn.functional.nll_loss(logs, p.torch_target, p.torch_weight, **keywords) * (1 - p.smoothing)
    if p.smoothing:
        rows = -(logs * p.torch_weight if p.weighted else logs).sum(1)
        rows = rows.masked_fill(p.torch_target == p.ignored, 0) * (p.smoothing / p.classes)
        loss = loss + {"none": rows, "sum": rows.sum(), "mean": rows.sum() / p.total}[p.reduction]
    at_logs, = torch.autograd.grad(loss, logs, torch.from_numpy(gradient).reshape(loss.shape))
    return torch._log_softmax_backward_data(at_logs, logs.detach(), 1, torch.float64).numpy()


def cross_entropy_loss_grad(case):
    p = Problem(case)
    grad = case.input("gradLoss", p.dtype, p.loss_shape(),
                      lambda count: case.numbers(count, 2, (0.0, 1.0, numpy.inf, numpy.nan)))
    # Logarithms of probabilities, or, for what is left of them in a half, numbers of that size.
    draw = lambda count: numpy.minimum(case.numbers(count, 3), 3) - 1 if case.chance(0.5) else -numpy.abs(p.draw(count))
    log_prob = case.input("logProb", p.dtype, [p.rows, p.classes], draw)
    p.target_and_weight()
    out = case.output("out", p.dtype, [p.rows, p.classes])
    case.call("aclnnCrossEntropyLossGrad", grad, log_prob, p.target, p.weight, None, None, p.text_argument(),
              ctypes.c_int64(p.ignored), ctypes.c_double(p.smoothing),
              ctypes.c_double(case.parameter("lseSquareScaleForZloss", case.pick(0.0, 0.5))), out)

    with numpy.errstate(all="ignore"):
        g = numpy.broadcast_to(grad.values, [p.rows])
        divisor = p.total if p.reduction == "mean" else 1.0
        a = g * (1 - p.smoothing) / divisor * p.row_weights
        s = g * p.smoothing / p.classes / divisor if p.smoothing else numpy.zeros_like(g)
        picked = numpy.arange(p.classes) == p.chosen[:, None]
        probability = numpy.exp(log_prob.values)
        terms = [probability * (a + s * p.weights.sum())[:, None], -numpy.where(picked, a[:, None], 0),
                 -(s[:, None] * p.weights)]
        formula = numpy.where(p.counts[:, None], terms[0] + terms[1] + terms[2], 0)
        # Up to three terms cancel, each with an error of some roundings to FLOAT.
        magnitude = sum(numpy.abs(term) for term in terms)
        cancels = magnitude > numpy.abs(formula)
        slack = numpy.where(cancels & numpy.isfinite(magnitude) & p.counts[:, None], 6 * FLOAT_EPSILON * magnitude, 0)
        skipped = ~p.counts[:, None] & ~numpy.isfinite(probability * (1 + numpy.abs(g))[:, None])
    empty_mean = p.reduction == "mean" and p.total == 0
    if empty_mean:
        formula, slack = numpy.full_like(formula, numpy.nan), 0.0
    deviating = {"cross_entropy_all_ignored": numpy.full(formula.shape, empty_mean),
                 "cross_entropy_ignored_row": skipped & (not empty_mean)}
    case.expect(out, formula, torch_gradient(p, grad.values, log_prob.values), p.dtype, slack, deviating=deviating)


CASES = {"aclnnCrossEntropyLoss": cross_entropy_loss, "aclnnCrossEntropyLossGrad": cross_entropy_loss_grad}
