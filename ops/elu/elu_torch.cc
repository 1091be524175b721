// SPDX-License-Identifier: MIT
// ELU as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

[[maybe_unused]] const bool added[] = {
    add_torch("aclnnElu",
              [](const Call& call) {
                return [self = torch_view(call, "self"), out = torch_view(call, "out")]() mutable {
                  at::elu_out(out, self);
                };
              }),
    add_torch("aclnnInplaceElu",
              [](const Call& call) {
                return [self = torch_view(call, "selfRef"), alpha = call.number("alpha")]() mutable {
                  at::elu_(self, alpha);
                };
              }),
    add_torch("aclnnEluBackward",
              [](const Call& call) {
                return [g = torch_view(call, "gradOutput"), v = torch_view(call, "selfOrResult"),
                        out = torch_view(call, "gradInput"), is_result = call.number("isResult") != 0]() mutable {
                  at::elu_backward_out(out, g, 1, 1, 1, is_result, v);
                };
              }),
};

}  // namespace
}  // namespace descend::bench
