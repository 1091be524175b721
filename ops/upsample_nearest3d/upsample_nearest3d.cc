// SPDX-License-Identifier: MIT
// aclnnUpsampleNearest3d: the contract, the plan and the entry points.
#include "ops/upsample_nearest3d/upsample_nearest3d.h"

#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "ops/upsample_nearest3d/upsample_nearest3d_plan.h"

namespace descend {
namespace {

[[maybe_unused]] const bool listed = add_to_catalog<UpsampleNearest3d>();

}  // namespace

const Spec<UpsampleNearest3d::Params>& UpsampleNearest3d::spec() {
  using P = Params;
  static const auto not_empty = where<Stage::kShape>(
      "has C, D, H and W above 0",
      [](const aclTensor& t, const P&) {
        const auto sizes = upsample_sizes(t);
        return std::all_of(sizes.begin() + 1, sizes.end(), [](int64_t size) { return size > 0; });
      },
      [](aclTensor& t, P&) { t.shape[upsample_order(t)[1]] = 0; });
  static const auto has_the_size = where(
      "has self's N and C and outputSize's D, H and W, in the order that self's format says",
      [](const aclTensor& t, const P& p) {
        const auto from = upsample_sizes(*p.self), to = upsample_dims(t.shape, upsample_order(*p.self));
        return from[0] == to[0] && from[1] == to[1] &&
               std::equal(to.begin() + 2, to.end(), p.outputSize->values.begin());
      },
      [](aclTensor& t, P&) {
        t.shape[4] += 1;
        t.strides = row_major(t.shape);
      });
  static const Spec<P>& spec = *new Spec<P>(
      "aclnnUpsampleNearest3d", "A volume at another size, each element taken from the nearest place of the old one.",
      upsample_products(),
      input("self", &P::self, "the volume; (N, D, H, W, C) if its format is NDHWC, otherwise (N, C, D, H, W)",
            rank(5, 5), dtype_in(UpsampleDtypes{}), not_empty)
          .read_first(),
      ints("outputSize", &P::outputSize, "D, H and W of out", length(3), upsample_above_0()),
      attribute("scalesD", &P::scalesD, "what D is multiplied with; all three count if all are above 0, else none"),
      attribute("scalesH", &P::scalesH, "what H is multiplied with"),
      attribute("scalesW", &P::scalesW, "what W is multiplied with"),
      output("out", &P::out, "the volume at its new size", rank(5, 5), same_dtype(&P::self), has_the_size));
  return spec;
}

void UpsampleNearest3d::plan(const Params& p, Planner& planner) {
  if (size_of(*p.out) == 0) return;
  const UpsampleOrder order = upsample_order(*p.self);
  UpsampleNearest3dArgs args{upsample_view(*p.self, order), upsample_view(*p.out, order), {}, p.self->dtype};
  const bool scaled = upsample_uses_scales(p.scalesD, p.scalesH, p.scalesW);
  const double scales[] = {p.scalesD, p.scalesH, p.scalesW};
  for (int axis = kDepth; axis <= kWidth; ++axis)
    args.factor[axis] = scaled ? static_cast<float>(1 / scales[axis - kDepth])
                               : upsample_quotient(args.input.size[axis], args.output.size[axis]);
  planner.launch(kUpsampleNearest3d, args, std::array{p.out, p.self});
}

}  // namespace descend

aclnnStatus aclnnUpsampleNearest3dGetWorkspaceSize(const aclTensor* self, const aclIntArray* outputSize, double scalesD,
                                                   double scalesH, double scalesW, aclTensor* out,
                                                   uint64_t* workspaceSize, aclOpExecutor** executor) {
  return descend::plan<descend::UpsampleNearest3d>({self, outputSize, scalesD, scalesH, scalesW, out}, workspaceSize,
                                                   executor);
}

aclnnStatus aclnnUpsampleNearest3d(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream) {
  return descend::run("aclnnUpsampleNearest3d", workspace, workspaceSize, executor, stream);
}
