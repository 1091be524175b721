// SPDX-License-Identifier: MIT
// The edge between C and C++: no exception leaves, every failure leaves a text.
#pragma once
#include <exception>
#include <new>

#include "src/base/report.h"
#include "src/base/text.h"
#include "src/observe/observer.h"

namespace descend {

// Runs body() -> Status as the C function of that name.
template <class Body> int32_t guarded(const char* function, const Body& body) noexcept {
  const ApiCall call(function);
  try {
    return report(Layer::kAclnn, function, body());
  } catch (const std::bad_alloc&) {
    return report(Layer::kAclnn, function, {Code::kInner, "out of host memory"});
  } catch (const std::exception& e) {
    return report(Layer::kAclnn, function, {Code::kInner, e.what()});
  }
}

inline Status null_argument(const char* parameter, Code code = Code::kNullPointer) {
  return {code, cat(parameter, " must satisfy: is not null; it is null")};
}

// For objects that are handed in: ok, null (161001), or not alive (161002).
template <class Pool, class T> Status check_object(const char* parameter, const Pool& pool, const T* object) {
  if (!object) return null_argument(parameter);
  if (pool.alive(object)) return {};
  return {Code::kInvalid, cat(parameter, " must satisfy: is an object that was created and not destroyed; it is ",
                              static_cast<const void*>(object), ", which is not")};
}

}  // namespace descend
