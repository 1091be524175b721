// SPDX-License-Identifier: MIT
// aclnnUpsampleNearest3dBackward: the contract, the plan and the entry points.
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"

#include "ops/upsample_nearest3d/upsample_nearest3d_plan.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<UpsampleNearest3dBackward>();

bool fits(const aclIntArray& size, const std::array<int64_t, 5>& dims) {
  return std::equal(dims.begin(), dims.end(), size.values.begin());
}

}  // namespace

const Spec<UpsampleNearest3dBackward::Params>& UpsampleNearest3dBackward::spec() {
  using P = Params;
  static const auto is_the_output_size = where(
      "is the D, H and W of gradOut",
      [](const aclIntArray& a, const P& p) {
        const auto sizes = upsample_sizes(*p.gradOut);
        return std::equal(sizes.begin() + 2, sizes.end(), a.values.begin());
      },
      [](aclIntArray& a, P&) { a.values[2] += 1; });
  // The page contradicts itself on the order for NDHWC, so both are taken: gradInput's shape says which it is.
  static const auto is_the_input_size = where(
      "is gradInput's (N, C, D, H, W), or its (N, D, H, W, C) where a tensor's format is NDHWC",
      [](const aclIntArray& a, const P& p) {
        const auto [n, c, d, h, w] = upsample_sizes(*p.gradInput);
        const bool either = p.gradInput->format == Format::kNdhwc || p.gradOut->format == Format::kNdhwc;
        return fits(a, {n, c, d, h, w}) || (either && fits(a, {n, d, h, w, c}));
      },
      [](aclIntArray& a, P&) { a.values[4] += 1; });
  static const auto has_a_volume = where<Stage::kShape>(
      "has D, H and W above 0",
      [](const aclTensor& t, const P&) {
        const auto sizes = upsample_sizes(t);
        return sizes[2] > 0 && sizes[3] > 0 && sizes[4] > 0;
      },
      [](aclTensor& t, P&) { t.shape[upsample_order(t)[3]] = 0; });
  static const auto has_its_batch = where<Stage::kShape>(
      "has the N and C of gradOut",
      [](const aclTensor& t, const P& p) {
        const auto sizes = upsample_sizes(t), other = upsample_sizes(*p.gradOut);
        return sizes[0] == other[0] && sizes[1] == other[1];
      },
      [](aclTensor& t, P&) {
        t.shape[upsample_order(t)[1]] += 1;
        t.strides = row_major(t.shape);
      });
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnUpsampleNearest3dBackward", "The gradient of the nearest upsampling of volumes with respect to its input.",
      upsample_products(),
      input("gradOut", &P::gradOut,
            "gradient at the output; (N, D, H, W, C) if its format is NDHWC, otherwise (N, C, D, H, W)", rank(5, 5),
            dtype_in(UpsampleDtypes{}))
          .read_first(),
      ints("outputSize", &P::outputSize, "D, H and W of gradOut", length(3), upsample_above_0(), is_the_output_size),
      ints("inputSize", &P::inputSize, "the dimensions of gradInput", length(5), is_the_input_size),
      attribute("scalesD", &P::scalesD, "what D was multiplied with; all three count if all are above 0, else none"),
      attribute("scalesH", &P::scalesH, "what H was multiplied with"),
      attribute("scalesW", &P::scalesW, "what W was multiplied with"),
      output("gradInput", &P::gradInput,
             "gradient at the input; (N, D, H, W, C) if its format is NDHWC, otherwise (N, C, D, H, W)", rank(5, 5),
             same_dtype(&P::gradOut), has_a_volume, has_its_batch));
  return spec;
}

void UpsampleNearest3dBackward::plan(const Params& p, Planner& planner) {
  if (size_of(*p.gradInput) == 0) return;
  UpsampleNearest3dArgs args{upsample_view(*p.gradInput, upsample_order(*p.gradInput)),
                             upsample_view(*p.gradOut, upsample_order(*p.gradOut)),
                             {},
                             p.gradOut->dtype};
  const bool scaled = upsample_uses_scales(p.scalesD, p.scalesH, p.scalesW);
  const double scales[] = {p.scalesD, p.scalesH, p.scalesW};
  for (int axis = kDepth; axis <= kWidth; ++axis)
    args.factor[axis] = scaled ? static_cast<float>(scales[axis - kDepth])
                               : upsample_quotient(args.output.size[axis], args.input.size[axis]);
  planner.launch(kUpsampleNearest3dBackward, args, std::array{p.gradInput, p.gradOut});
}

}  // namespace descend

aclnnStatus aclnnUpsampleNearest3dBackwardGetWorkspaceSize(const aclTensor* gradOut, const aclIntArray* outputSize,
                                                           const aclIntArray* inputSize, double scalesD, double scalesH,
                                                           double scalesW, aclTensor* gradInput,
                                                           uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::UpsampleNearest3dBackward>(
      {gradOut, outputSize, inputSize, scalesD, scalesH, scalesW, gradInput}, workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearest3dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                           aclrtStream stream) {
  return descend::run("aclnnUpsampleNearest3dBackward", workspace, workspaceSize, executor, stream);
}
