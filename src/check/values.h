// SPDX-License-Identifier: MIT
// The values that a run reads and writes: class numbers that are none, means of nothing, NaN and infinities.
#pragma once
#include <cstdint>
#include <string>

#include "src/observe/advice.h"

namespace descend {

// Whether a view has an element that is not finite, which those of a dtype in Inexacts alone can be.  Several cores
// look.
bool has_not_finite(const aclTensor& view);

// The first such, in words.
std::string first_not_finite(const aclTensor& view);
// Whether rows that are 0 but at their targets have one there.
bool has_not_finite_at(const aclTensor& rows, const aclTensor& targets, const Advice::Classes& classes);

// "[1,2]" of an element's number in row-major order.
std::string position(const aclTensor& view, int64_t i);

struct ClassCount {
  bool valid = false;                  // there is one that counts
  int64_t wrong = 0;                   // how many are no class and not ignored
  int64_t first_wrong = 0, value = 0;  // the first of them, counting elements in row-major order; -1: it is not known
};
ClassCount count_classes(const aclTensor& view, const Advice::Classes& classes);

}  // namespace descend
