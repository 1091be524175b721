// SPDX-License-Identifier: MIT
// The smooth L1 loss as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

[[maybe_unused]] const bool added[] = {
    add_torch("aclnnSmoothL1Loss",
              [](const Call& call) {
                return [self = torch_view(call, "self"), target = torch_view(call, "target"),
                        result = torch_view(call, "result"),
                        reduction = static_cast<int64_t>(call.number("reduction"))]() mutable {
                  // With a reduction out= would grow `result` to hold all losses: PyTorch allocates them either way.
                  if (reduction == at::Reduction::None)
                    at::smooth_l1_loss_out(result, self, target, reduction, 1);
                  else
                    result.copy_(at::smooth_l1_loss(self, target, reduction, 1));
                };
              }),
    add_torch("aclnnSmoothL1LossBackward",
              [](const Call& call) {
                return [g = torch_view(call, "gradOut"), self = torch_view(call, "self"),
                        target = torch_view(call, "target"), out = torch_view(call, "gradInput"),
                        reduction = static_cast<int64_t>(call.number("reduction"))]() mutable {
                  at::smooth_l1_loss_backward_out(out, g, self, target, reduction, 1);
                };
              }),
};

}  // namespace
}  // namespace descend::bench
