// SPDX-License-Identifier: MIT
#include "src/observe/observer.h"

namespace descend {
namespace detail {
constinit std::atomic<const Observers*> observers{nullptr};
}

namespace {
constinit thread_local const char* the_function = "";
}

void add_observer(Observer* observer) {
  const auto* before = detail::observers.load();
  auto* all = before == nullptr ? new detail::Observers : new detail::Observers(*before);
  all->push_back(observer);
  detail::observers.store(all, std::memory_order_release);
}

const char* current_function() { return the_function; }

void ApiCall::enter(const char* function) {
  outer_ = the_function;
  the_function = function;
  observe([&](Observer& o) { o.enters(function); });
}

void ApiCall::leave() {
  observe([&](Observer& o) { o.leaves(the_function); });
  the_function = outer_;
}

}  // namespace descend
