// SPDX-License-Identifier: MIT
// What the cpu device needs to survive fork: a child has the memory of its parent but none of its threads.
//
// Locks that another thread held, and threads that are waited for, are lost in the child.  So every object that has
// either remembers the generation it was made in; in another generation it is left alone and made afresh.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace descend {

namespace detail {
extern std::atomic<uint32_t> forks;
}

// The number of forks between the process that loaded the library and this one.
inline uint32_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

// The lock for what is shared by the whole device: the list of queues, and what an event has captured.  It is held
// across fork, so that the child finds it free and what it guards whole.  Never held for longer than it takes to look
// at or change those; a queue's own lock may be taken while it is held, not the other way round.
std::mutex& device_lock();

}  // namespace descend
