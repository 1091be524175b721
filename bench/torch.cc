// SPDX-License-Identifier: MIT
// Tells the benchmarks that PyTorch is there.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include "bench/peer.h"

namespace descend::bench {
namespace {

void set_threads(int threads) {
  // The cheapest way to call PyTorch: no gradients are recorded, no versions counted.
  static const c10::InferenceMode& mode = *new c10::InferenceMode;
  (void)mode;
  at::set_num_threads(threads);
}
[[maybe_unused]] const bool used = add_library({"torch", TORCH_VERSION, set_threads});

}  // namespace
}  // namespace descend::bench
