// SPDX-License-Identifier: MIT
#include "src/plan/reference_plan.h"

#include <cstring>
#include <new>

namespace descend {

std::vector<std::byte> move_to_host_copy(aclTensor& t) {
  const size_t item = size_of(t.dtype);
  const auto n = static_cast<size_t>(size_of(t));
  size_t bytes = 0;
  if (__builtin_mul_overflow(n, item, &bytes)) throw std::bad_alloc();
  std::vector<std::byte> copy(bytes);
  Dims index;
  index.assign(t.shape.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    int64_t at = t.offset;
    for (size_t k = 0; k < index.size(); ++k) at += index[k] * t.strides[k];
    std::memcpy(copy.data() + i * item, static_cast<const std::byte*>(t.data) + at * static_cast<int64_t>(item), item);
    for (size_t k = index.size(); k-- > 0 && ++index[k] == t.shape[k];) index[k] = 0;
  }
  t.strides = row_major(t.shape);
  t.offset = 0;
  t.data = copy.data();
  return copy;
}

}  // namespace descend
