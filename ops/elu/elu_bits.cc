// SPDX-License-Identifier: MIT
// The calls of ELU whose bits never change.
#include "aclnnop/aclnn_elu.h"
#include "aclnnop/aclnn_elu_backward.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"
#include "tests/harness/dtypes.h"

namespace descend::test {
namespace {

struct Numbers {
  double alpha, scale, inputScale;
  std::string words() const { return cat("numbers ", alpha, " ", scale, " ", inputScale); }
};
// With an inputScale of 1 there are quicker formulas, which are exact for factors of 1.
const Numbers kUsual{0.3, 0.7, 1};
const std::vector<Numbers> kNumbers{{1, 1, 1},     {0.3, 0.7, 1.1}, {1.3, 0.9, -0.4},
                                    {1, 1e-30, 7}, {1e30, 1, 1e-3}, {0.3, 1e-33, 1}};

// x: where exp ends and where ELU bends.
std::vector<double> inputs(DataType dtype) {
  return mixed_values(dtype, 1, {-0.21, -87.5, -104, -110, 89, -1e-3, 1e-3, -17.25, -120, -121, -184.25, -708, -745});
}

void forward(BitCall& call, DataType in, DataType result, const Sizes& shape, const Numbers& n, Way way) {
  call.run(aclnnEluGetWorkspaceSize, aclnnElu, call.in(in, shape, inputs(in), way.in), call.number(n.alpha),
           call.number(n.scale), call.number(n.inputScale), call.out(result, shape, way.out));
}
void in_place(BitCall& call, DataType dtype, const Sizes& shape, const Numbers& n, Layout layout) {
  call.run(aclnnInplaceEluGetWorkspaceSize, aclnnInplaceElu, call.in_out(dtype, shape, inputs(dtype), layout),
           call.number(n.alpha), call.number(n.scale), call.number(n.inputScale));
}
void backward(BitCall& call, DataType in, DataType result, const Sizes& shape, const Numbers& n, bool is_result,
              Way way) {
  call.run(aclnnEluBackwardGetWorkspaceSize, aclnnEluBackward, call.in(in, shape, mixed_values(in, 2), way.in),
           call.number(n.alpha), call.number(n.scale), call.number(n.inputScale), is_result,
           call.in(in, shape, inputs(in), way.in), call.out(result, shape, way.out));
}

// Both gradients and, under a name of its own, the value.
void add(Bits& bits, DataType in, DataType result, const Sizes& shape, const std::string& more, const Numbers& n,
         Way way) {
  const std::string words = cat(label(in, shape), more);
  bits.add("aclnnElu " + words, way.words(), [=](BitCall& call) { forward(call, in, result, shape, n, way); });
  if (in == DataType::kDouble) return;
  for (bool is_result : {false, true})
    bits.add(cat("aclnnEluBackward ", words, is_result ? " from the result" : ""), way.words(),
             [=](BitCall& call) { backward(call, in, result, shape, n, is_result, way); });
}

[[maybe_unused]] const bool added = add_bits("elu", [](Bits& bits) {
  for (DataType t : kFloatsAndDouble) {
    for (const Way& way : all_ways()) add(bits, t, t, {7, 5, 37}, "", kUsual, way);
    for (Layout layout : output_layouts())
      bits.add("aclnnElu " + label(t, {7, 5, 37}), "in place, " + name(layout), [=](BitCall& call) {
        in_place(call, t, {7, 5, 37}, kUsual, layout);
      });
    add(bits, t, t, {9, 67}, " repeated", kUsual, {.in = Layout::kBroadcast});
    // Of whole vectors, and of rows that a GPU's blocks share.
    for (const Sizes& shape : {Sizes{2, 72, 136}, Sizes{24, 72}})  // of larger tiles, and of smaller ones
      for (const Way& way : all_ways()) add(bits, t, t, shape, "", kUsual, way);
    add(bits, t, t, {3, 4104}, " repeated", kUsual, {.in = Layout::kBroadcast});
    for (const Numbers& n : kNumbers) add(bits, t, t, {997}, ", " + n.words(), n, {});
    for (DataType result : kOutputs)
      if (result != t) add(bits, t, result, {997}, " to " + descend::name(result), kUsual, {});
    for (const Layout layout : {Layout::kContiguous, Layout::kOffset})
      bits.add(cat("aclnnElu ", descend::name(t), " of 1 to 67 elements"), name(layout), [=](BitCall& call) {
        for (int64_t n = 1; n <= 67; ++n) forward(call, t, t, {n}, kUsual, {layout, layout});
      });
  }
  for (DataType t : kFloats) add(bits, t, t, {70001}, "", kUsual, {});
});

}  // namespace
}  // namespace descend::test
