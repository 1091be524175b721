// SPDX-License-Identifier: MIT
// The negative log likelihood loss as the pages define it, one element at a time.  Shares nothing with the kernels.
#include "ops/nll_loss/nll_loss.h"
#include "src/reference/points.h"

namespace descend {
namespace {

// The class a position's target names; -1 for none.
int64_t class_at(const aclTensor& target, const Point& position, int64_t ignoreIndex, int64_t classes) {
  const auto t = static_cast<int64_t>(value(target, position));
  return t != ignoreIndex && t >= 0 && t < classes ? t : -1;
}

// Element c of the weights in row-major order, whatever their rank.
Real weight_of(const aclTensor& weight, int64_t c) {
  Point at;
  at.assign(weight.shape.size(), 0);
  for (size_t k = at.size(); k-- > 0; c /= weight.shape[k]) at[k] = c % weight.shape[k];
  return value(weight, at);
}

// The position's index into self at class c.
Point with_class(const Point& position, size_t dimension, int64_t c) {
  Point at;
  for (size_t k = 0; k <= position.size(); ++k) at.push_back(k == dimension ? c : position[k < dimension ? k : k - 1]);
  return at;
}

Point only_point(const aclTensor& t) {
  Point at;
  at.assign(t.shape.size(), 0);
  return at;
}

void forward(const NLLLossParams& p) {
  const DataType dtype = p.self->dtype;
  Real sum = 0, total = 0;
  for_each_point(p.target->shape, [&](const Point& position) {
    const int64_t c = class_at(*p.target, position, p.ignoreIndex, class_count(*p.self));
    const Real weight = c < 0 ? 0 : weight_of(*p.weight, c);
    const Real loss = c < 0 ? 0 : -weight * value(*p.self, with_class(position, class_dimension(*p.self), c));
    if (p.reduction == kNLLNone) return set(*p.out, position, loss, dtype);
    sum += loss;
    total += weight;
  });
  if (p.reduction == kNLLNone) return;
  set(*p.out, only_point(*p.out), p.reduction == kNLLMean ? sum / total : sum, dtype);
  set(*p.totalWeightOut, only_point(*p.totalWeightOut), total, dtype);
}

void backward(const NLLLossBackwardParams& p) {
  const size_t dimension = class_dimension(*p.self);
  const Real divisor = p.reduction == kNLLMean ? value(*p.totalWeight, only_point(*p.totalWeight)) : 1;
  for_each_point(p.out->shape, [&](const Point& at) {
    const Point position = without_classes(at, dimension);
    const int64_t c = class_at(*p.target, position, p.ignoreIndex, class_count(*p.self));
    if (c < 0 || c != at[dimension]) return set(*p.out, at, 0, p.self->dtype);
    const bool reduced = p.reduction != kNLLNone;
    const Real gradient = value(*p.gradOutput, reduced ? only_point(*p.gradOutput) : position) / divisor;
    set(*p.out, at, -(gradient * weight_of(*p.weight, c)), p.self->dtype);
  });
}

}  // namespace

void NLLLoss::reference(const Params& p) { forward(p); }
void NLLLoss2d::reference(const Params& p) { forward(p); }
void NLLLossBackward::reference(const Params& p) { backward(p); }
void NLLLoss2dBackward::reference(const Params& p) { backward(p); }

}  // namespace descend
