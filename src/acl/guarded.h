// SPDX-License-Identifier: MIT
// The frame of every C function of acl: exceptions become codes, and a failure leaves its text.
#pragma once
#include <exception>
#include <new>

#include "acl/acl_base.h"
#include "src/base/report.h"
#include "src/base/status.h"
#include "src/base/thread_end.h"
#include "src/observe/observer.h"

namespace descend {

// The result of body(), a Status, as the C function `function` returns it.  Nothing is thrown, unless the thread itself
// is being ended by pthread_cancel or pthread_exit in a callback.
template <class Body> aclError guarded(const char* function, Body&& body) {
  const ApiCall call(function);
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc&) {
    status = {Code::kOutOfMemory, "out of memory"};  // short enough to need no memory itself
  } catch (const std::exception& e) {
    status = {Code::kInternal, e.what()};
  } catch (...) {
    if (is_thread_ending()) throw;
    status = {Code::kInternal, "internal error"};
  }
  return report(Layer::kAcl, function, status);
}

}  // namespace descend
