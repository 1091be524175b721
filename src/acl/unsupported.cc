// SPDX-License-Identifier: MIT
// The one answer of every function that is declared only so that programs link.
#include "src/acl/unsupported.h"

#include <new>

#include "src/base/report.h"

namespace descend {

int32_t unsupported(const char* function, const char* what) noexcept {
  try {
    return report(Layer::kAcl, function, Status(Code::kApiNotSupported, what));
  } catch (const std::bad_alloc&) {
    return static_cast<int32_t>(Code::kApiNotSupported);
  }
}

}  // namespace descend
