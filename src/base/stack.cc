// SPDX-License-Identifier: MIT
// How much of its stack the calling thread has left.
#include "src/base/stack.h"

#include <pthread.h>

#include <cstdint>

namespace descend {
namespace {

struct Stack {
  uintptr_t begin = 0, end = 0;
};

Stack stack_of_thread() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  size_t bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  return {reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes};
}

}  // namespace

size_t stack_left() noexcept {
  static thread_local const Stack stack = stack_of_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= stack.begin && here < stack.end ? here - stack.begin : SIZE_MAX;
}

}  // namespace descend
