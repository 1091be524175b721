// SPDX-License-Identifier: MIT
// Whether views share bytes.
#pragma once
#include <cstdint>

#include "src/tensor/tensor.h"

namespace descend {

// The bytes a view reaches, relative to the address 0: [begin, end).  Empty views reach none.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// False when an element's address cannot be computed without leaving the address space.  The dtype must have a size and
// the shape a count.
bool byte_range(const aclTensor& t, ByteRange& range);

// Whether two different elements of the view share a byte.
bool overlaps_itself(const aclTensor& t);

// Whether the views are element by element the same memory.
bool same_view(const aclTensor& a, const aclTensor& b);

// Whether the views share a byte.
bool overlap(const aclTensor& a, const aclTensor& b);

}  // namespace descend
