// SPDX-License-Identifier: MIT
// Noticing a fork.
#include "src/backends/cuda/fork.h"

#include <pthread.h>

#include <atomic>

namespace descend {
namespace {

std::atomic<bool> is_the_parents{false};

}  // namespace

void cuda_is_used() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_the_parents = true; });
  (void)registered;
}

bool cuda_is_the_parents() { return is_the_parents.load(std::memory_order_relaxed); }

Status cuda_is_the_parents_status() {
  return {Code::kNoDevice, "CUDA cannot be used in a process that was forked after its parent had used it",
          "fork before aclInit and any other call, or set DESCEND_DEVICE=cpu"};
}

}  // namespace descend
