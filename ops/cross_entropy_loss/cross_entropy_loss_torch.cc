// SPDX-License-Identifier: MIT
// The cross entropy as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

constexpr int64_t kIgnored = -100;

// PyTorch's weights have the scores' dtype.
at::Tensor weights(const Call& call, const at::Tensor& like) { return torch_view(call, "weight").to(like.dtype()); }

[[maybe_unused]] const bool added[] = {
    add_peer("aclnnCrossEntropyLoss",
             [](const Call& call) {
               const at::Tensor input = torch_view(call, "input");
               return [input, target = torch_view(call, "target"), weight = weights(call, input),
                       loss = torch_view(call, "loss"), log_prob = torch_view(call, "logProb")]() mutable {
                 at::log_softmax_out(log_prob, input, 1);
                 at::nll_loss_out(loss, log_prob, target, weight, at::Reduction::Mean, kIgnored);
               };
             }),
    // The gradient at logProb, then the gradient at the scores.
    add_peer("aclnnCrossEntropyLossGrad",
             [](const Call& call) -> std::function<void()> {
               if (call.number("smoothing") != 0) return {};
               const at::Tensor log_prob = torch_view(call, "logProb");
               return [g = torch_view(call, "gradLoss"), log_prob, target = torch_view(call, "target"),
                       weight = weights(call, log_prob), out = torch_view(call, "out")]() mutable {
                 const at::Tensor total = weight.index_select(0, target).sum();
                 const at::Tensor inner =
                     at::nll_loss_backward(g, log_prob, target, weight, at::Reduction::Mean, kIgnored, total);
                 at::_log_softmax_backward_data_out(out, inner, log_prob, 1, log_prob.scalar_type());
               };
             }),
};

}  // namespace
}  // namespace descend::bench
