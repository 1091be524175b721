// SPDX-License-Identifier: MIT
// Exceptions of work on a stream as failures.
#include "src/base/stream_work.h"

#include <exception>
#include <new>

#include "src/base/text.h"

namespace descend {
namespace {

// Made when the library is loaded, so that running out of memory can be said without memory.
const Status& no_memory = *new Status(Code::kOutOfMemory, "work on a stream ran out of memory");

}  // namespace

Status failure_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return no_memory;
    } catch (const std::exception& e) {
      return {Code::kInternal, cat("work on a stream threw an exception: ", e.what())};
    } catch (...) {
      return {Code::kInternal, "work on a stream threw an exception"};
    }
  } catch (...) {
    return no_memory;
  }
}

}  // namespace descend
