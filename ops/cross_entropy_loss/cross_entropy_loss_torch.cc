// SPDX-License-Identifier: MIT
// The cross entropy as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

constexpr int64_t kIgnored = -100;

// PyTorch's weights have the scores' dtype.
at::Tensor weights(const Call& call, const at::Tensor& like) { return torch_view(call, "weight").to(like.dtype()); }

int64_t reduction(const Call& call) { return call.number("none") != 0 ? at::Reduction::None : at::Reduction::Mean; }

[[maybe_unused]] const bool added[] = {
    add_torch("aclnnCrossEntropyLoss",
              [](const Call& call) {
                const at::Tensor input = torch_view(call, "input");
                return [input, target = torch_view(call, "target"), weight = weights(call, input),
                        loss = torch_view(call, "loss"), log_prob = torch_view(call, "logProb"),
                        total = at::empty({}, input.options()), reduction = reduction(call)]() mutable {
                  at::log_softmax_out(log_prob, input, 1);
                  at::nll_loss_forward_out(loss, total, log_prob, target, weight, reduction, kIgnored);
                };
              }),
    // The gradient at logProb, then the gradient at the scores.
    add_torch("aclnnCrossEntropyLossGrad",
              [](const Call& call) -> std::function<void()> {
                if (call.number("smoothing") != 0) return {};
                const at::Tensor log_prob = torch_view(call, "logProb"), target = torch_view(call, "target");
                const at::Tensor weight = weights(call, log_prob);
                return
                    [g = torch_view(call, "gradLoss"), log_prob, target, weight, out = torch_view(call, "out"),
                     picked = at::empty(target.sizes(), weight.options()), total = at::empty({}, weight.options()),
                     inner = at::empty(log_prob.sizes(), log_prob.options()), reduction = reduction(call)]() mutable {
                      if (reduction == at::Reduction::Mean) {
                        at::index_select_out(picked, weight, 0, target);
                        at::sum_out(total, picked, at::IntArrayRef{});
                      }
                      at::nll_loss_backward_out(inner, g, log_prob, target, weight, reduction, kIgnored, total);
                      at::_log_softmax_backward_data_out(out, inner, log_prob, 1, log_prob.scalar_type());
                    };
              }),
};

}  // namespace
}  // namespace descend::bench
