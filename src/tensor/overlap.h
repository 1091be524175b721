// SPDX-License-Identifier: MIT
// Whether views share bytes.
#pragma once
#include <cstdint>

#include "src/tensor/tensor.h"

namespace descend {

// The bytes a view reaches, [begin, end) as addresses; a view without elements reaches none.
struct Extent {
  int64_t begin, end;
};

// False when the view cannot be used: a shape without a count, an element whose address cannot be computed without
// leaving the address space, or, for one that is written, two elements that share a byte.  The dtype must have a size.
bool measure(const aclTensor& t, bool is_written, Extent& extent);

// The parts of measure(), to say which of them failed.
bool is_addressable(const aclTensor& t, Extent& extent);
bool overlaps_itself(const aclTensor& t);

// Of elements that a view repeats (their stride is 0), one.
aclTensor without_repeats(aclTensor view);

// Whether the views are element by element the same memory.
bool same_view(const aclTensor& a, const aclTensor& b);

// Whether two views that were measured share a byte.
bool overlap_exactly(const aclTensor& a, const Extent& at, const aclTensor& b, const Extent& other);
inline bool overlap(const aclTensor& a, const Extent& at, const aclTensor& b, const Extent& other) {
  // A view without an address is nowhere yet.
  return at.begin < other.end && other.begin < at.end && a.data && b.data && overlap_exactly(a, at, b, other);
}

}  // namespace descend
