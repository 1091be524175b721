// SPDX-License-Identifier: MIT
// The nearest upsampling as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

// As (N, C, D, H, W), whatever the format.
at::Tensor volume(const Call& call, const std::string& name) {
  const at::Tensor view = torch_view(call, name);
  return call.tensor(name).spec().format == ACL_FORMAT_NDHWC ? view.permute({0, 4, 1, 2, 3}) : view;
}

[[maybe_unused]] const bool added[] = {
    add_torch("aclnnUpsampleNearest3d",
              [](const Call& call) {
                return [self = volume(call, "self"), out = volume(call, "out"),
                        size = call.ints("outputSize")]() mutable { at::upsample_nearest3d_out(out, self, size); };
              }),
    add_torch("aclnnUpsampleNearest3dBackward",
              [](const Call& call) -> std::function<void()> {
                const at::Tensor gradInput = volume(call, "gradInput");
                // PyTorch 2.10 ends with an illegal instruction here on Neoverse N1 and V1.
                const bool half = gradInput.element_size() == 2;
                if (half && !gradInput.is_contiguous()) return nullptr;
                return [g = volume(call, "gradOut"), out = gradInput, size = call.ints("outputSize"),
                        from = gradInput.sizes().vec()]() mutable {
                  at::upsample_nearest3d_backward_out(out, g, size, from);
                };
              }),
};

}  // namespace
}  // namespace descend::bench
