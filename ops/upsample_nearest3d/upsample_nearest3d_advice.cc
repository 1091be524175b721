// SPDX-License-Identifier: MIT
// What the checker is told of calls of the nearest upsampling: the limits that the page states, and that it copies.
#include <cmath>

#include "ops/upsample_nearest3d/upsample_nearest3d.h"

namespace descend {
namespace {

constexpr int64_t kMostOfDimension = int64_t{1} << 20;
constexpr double kMostOfProduct = 2147483648.0;  // 2^31
constexpr double kMostBytes = 60.0 * 1024 * 1024 * 1024;

// `large` is what the gradient's page calls gradOut, `small` gradInput; the forward function has them the other way.
void advise_sizes(const char* large_name, const aclTensor& large, const char* small_name, const aclTensor& small,
                  const std::array<double, 3>& scales, Advice& advice) {
  using Remark = Advice::Remark;
  const auto outer = upsample_sizes(large), inner = upsample_sizes(small);
  const std::pair<const char*, const aclTensor*> tensors[] = {{large_name, &large}, {small_name, &small}};
  for (const auto& [name, t] : tensors) {
    if (size_of(*t) == 0) advice.note(Remark::kEmpty, name, cat("it is ", describe(*t)));
    for (int64_t d : t->shape)
      if (d > kMostOfDimension)
        advice.note(Remark::kTooLarge, name, cat("a dimension is at most 2^20; it is ", describe(*t)));
  }
  const auto d = [](int64_t value) { return static_cast<double>(value); };
  const double batch = d(outer[0]) * d(outer[1]);
  const double elements = d(outer[2]) * d(outer[3]) * d(outer[4]) + d(inner[2]) * d(inner[3]) * d(inner[4]) +
                          d(outer[2]) * d(outer[3]) * d(inner[4]) + d(outer[2]) * d(inner[3]) * d(inner[4]);
  if (batch * elements * sizeof(float) >= kMostBytes)
    advice.note(Remark::kTooLarge, large_name,
                cat("the page's formula for memory stays below 60 GiB; it is ",
                    batch * elements * sizeof(float) / (1 << 30), " GiB"));
  if (batch * d(outer[2]) * d(outer[3]) >= kMostOfProduct)
    advice.note(Remark::kTooLarge, large_name, cat("N*C*D*H is below 2^31; it is ", describe(large)));
  if (d(inner[4]) * d(inner[3]) >= kMostOfProduct)
    advice.note(Remark::kTooLarge, small_name, cat("W*H is below 2^31; it is ", describe(small)));
  // Without all three there are none.
  if (!(scales[0] > 0 && scales[1] > 0 && scales[2] > 0)) return;
  constexpr const char* kNames[] = {"scalesD", "scalesH", "scalesW"};
  for (size_t k = 0; k < 3; ++k)
    if (outer[k + 2] != static_cast<int64_t>(std::floor(d(inner[k + 2]) * scales[k])))
      advice.note(Remark::kScales, kNames[k],
                  cat("outputSize is ", outer[k + 2], ", floor(", inner[k + 2], " * ", scales[k], ") is ",
                      std::floor(d(inner[k + 2]) * scales[k])));
}

}  // namespace

void UpsampleNearest3d::advise(const Params& p, Advice& advice) {
  advise_sizes("out", *p.out, "self", *p.self, {p.scalesD, p.scalesH, p.scalesW}, advice);
  advice.only_moves = true;
}
void UpsampleNearest3dBackward::advise(const Params& p, Advice& advice) {
  advise_sizes("gradOut", *p.gradOut, "gradInput", *p.gradInput, {p.scalesD, p.scalesH, p.scalesW}, advice);
}

}  // namespace descend
