// SPDX-License-Identifier: MIT
// The cross entropy as the page defines it, one element at a time.  Shares nothing with the kernels.
#include <cmath>

#include "ops/cross_entropy_loss/cross_entropy_loss.h"
#include "src/reference/points.h"

namespace descend {
namespace {

// The labels and weights of a call.
struct Labels {
  const aclTensor& target;
  const aclTensor* weight;
  int64_t classes, ignored;

  // The class of a row; -1 for one that does not count.
  int64_t of(int64_t row) const {
    const Real label = value(target, {row});
    if (label == static_cast<Real>(ignored) || label < 0 || label >= static_cast<Real>(classes)) return -1;
    return static_cast<int64_t>(label);
  }
  Real weight_of(int64_t one) const { return weight ? value(*weight, {one}) : 1; }
  Real weights() const {
    Real sum = 0;
    for (int64_t j = 0; j < classes; ++j) sum += weight_of(j);
    return sum;
  }
};

// A number a row, or one for all rows.
Real number(const aclTensor& t, int64_t row) { return t.shape.empty() ? value(t, {}) : value(t, {row}); }

void set_only(const aclTensor& t, Real v) {
  Point only;
  only.assign(t.shape.size(), 0);
  set(t, only, v, t.dtype);
}

}  // namespace

void CrossEntropyLoss::reference(const Params& p) {
  const int64_t rows = p.input->shape[0], classes = p.input->shape[1];
  const Labels labels{*p.target, p.weightOptional, classes, p.ignoreIndex};
  const auto reduction = *cross_entropy_reduction(p.reductionOptional);
  const bool zloss = has_extension(kZlossExtension);
  const Real smoothing = p.labelSmoothing, scale = zloss ? p.lseSquareScaleForZloss : 0;
  Real loss_sum = 0, zloss_sum = 0, weight_sum = 0, counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    Real most = -INFINITY, tail = 0, others = 0, weighted = 0;
    int64_t at = 0;  // of the largest score
    for (int64_t j = 0; j < classes; ++j)
      if (const Real x = value(*p.input, {i, j}); x > most) most = x, at = j;
    for (int64_t j = 0; j < classes; ++j)
      if (j != at) others += std::exp(value(*p.input, {i, j}) - most);
    tail = std::log1p(others) + (std::isfinite(most) ? 0 : NAN);  // Inf - Inf
    const int64_t label = labels.of(i);
    Real nll = 0;
    for (int64_t j = 0; j < classes; ++j) {
      const Real log_prob = value(*p.input, {i, j}) - most - tail;
      if (smoothing != 0) weighted += labels.weight_of(j) * log_prob;
      if (j == label) nll = -(1 - smoothing) * labels.weight_of(j) * log_prob;
    }
    for (int64_t j = 0; j < classes; ++j)
      set(*p.logProbOut, {i, j}, value(*p.input, {i, j}) - most - tail, p.logProbOut->dtype);
    const bool counts = label >= 0;
    const Real lse = most + tail, square = counts && scale != 0 ? scale * lse * lse : 0;
    const Real loss = counts ? nll - (smoothing != 0 ? smoothing / static_cast<Real>(classes) * weighted : 0) : 0;
    if (reduction == CrossEntropyReduction::kNone) set(*p.lossOut, {i}, loss + square, p.lossOut->dtype);
    if (zloss && p.returnZloss) {
      set(*p.lseForZlossOut, {i}, lse, p.lseForZlossOut->dtype);
      if (reduction == CrossEntropyReduction::kNone) set(*p.zlossOut, {i}, square, p.zlossOut->dtype);
    }
    loss_sum += loss, zloss_sum += square;
    if (counts) weight_sum += labels.weight_of(label), counted += 1;
  }
  if (reduction == CrossEntropyReduction::kNone) return;
  if (reduction == CrossEntropyReduction::kMean) loss_sum /= weight_sum, zloss_sum /= counted;
  set_only(*p.lossOut, scale != 0 ? loss_sum + zloss_sum : loss_sum);
  if (zloss && p.returnZloss) set_only(*p.zlossOut, zloss_sum);
}

void CrossEntropyLossGrad::reference(const Params& p) {
  const int64_t rows = p.logProb->shape[0], classes = p.logProb->shape[1];
  const Labels labels{*p.target, p.weightOptional, classes, p.ignoreIndex};
  const bool mean = *cross_entropy_reduction(p.reductionOptional) == CrossEntropyReduction::kMean;
  const bool zloss = has_extension(kZlossExtension) && p.lseForZlossOptional && p.lseSquareScaleForZloss != 0;
  const Real smoothing = p.labelSmoothing, weights = labels.weights();
  Real total = 0, counted = 0;
  for (int64_t i = 0; i < rows; ++i)
    if (const int64_t label = labels.of(i); label >= 0) total += labels.weight_of(label), counted += 1;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t label = labels.of(i);
    const Real g = number(*p.gradLoss, i) / (mean ? total : 1);
    const Real a = label >= 0 ? g * (1 - smoothing) * labels.weight_of(label) : 0;
    const Real s = g * smoothing / static_cast<Real>(classes);
    Real rest = smoothing != 0 ? s * weights : 0;  // what exp(logProb) is multiplied with besides a
    if (zloss && label >= 0) {
      const Real both = number(*p.gradLoss, i) + (p.gradZlossOptional ? number(*p.gradZlossOptional, i) : 0);
      const Real lse = value(*p.lseForZlossOptional, {i});
      rest += 2 * static_cast<Real>(p.lseSquareScaleForZloss) * lse * both / (mean ? counted : 1);
    }
    for (int64_t j = 0; j < classes; ++j) {
      Real v = 0;
      if (label >= 0) {
        const Real x = value(*p.logProb, {i, j}), probability = std::exp(x), less_one = std::expm1(x);
        // a * exp(x) - a, where that loses nothing to the subtraction.
        v = j != label                                 ? probability * (a + rest)
            : std::isinf(probability) || std::isinf(a) ? probability * (a + rest) - a
                                                       : a * less_one + probability * rest;
        if (smoothing != 0) v -= s * labels.weight_of(j);
      }
      if (mean && total == 0) v = NAN;
      set(*p.out, {i, j}, v, p.out->dtype);
    }
  }
}

}  // namespace descend
