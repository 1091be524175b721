// SPDX-License-Identifier: MIT
// The negative log likelihood loss as PyTorch computes it, for the benchmarks.
#include "bench/torch.h"

namespace descend::bench {
namespace {

struct Arguments {
  at::Tensor self, target, weight;
  int64_t reduction, ignore_index;
  explicit Arguments(const Call& call)
      : self(torch_view(call, "self")),
        target(torch_view(call, "target")),
        weight(torch_view(call, "weight")),
        reduction(static_cast<int64_t>(call.number("reduction"))),
        ignore_index(static_cast<int64_t>(call.number("ignoreIndex"))) {}
};

template <auto& function> std::function<void()> forward(const Call& call) {
  return [a = Arguments(call), out = torch_view(call, "out"), total = torch_view(call, "totalWeightOut")]() mutable {
    function(out, total, a.self, a.target, a.weight, a.reduction, a.ignore_index);
  };
}
template <auto& function> std::function<void()> backward(const Call& call) {
  at::Tensor out = torch_view(call, "out");
  if (!out.is_contiguous()) out = at::empty(out.sizes(), out.options());  // PyTorch writes no other layout
  return [a = Arguments(call), g = torch_view(call, "gradOutput"), total = torch_view(call, "totalWeight"),
          out]() mutable { function(out, g, a.self, a.target, a.weight, a.reduction, a.ignore_index, total); };
}

[[maybe_unused]] const bool added[] = {
    add_torch("aclnnNLLLoss", forward<at::nll_loss_forward_out>),
    add_torch("aclnnNLLLoss2d", forward<at::nll_loss2d_forward_out>),
    add_torch("aclnnNLLLossBackward", backward<at::nll_loss_backward_out>),
    add_torch("aclnnNLLLoss2dBackward", backward<at::nll_loss2d_backward_out>),
};

}  // namespace
}  // namespace descend::bench
