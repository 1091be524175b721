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

// The locks for what is shared by the whole device: the list of queues, and what events have captured.  They are held
// across fork, so that the child finds them free and what they guard whole.  Never held for longer than it takes to
// look at or change those.  A queue's own lock may be taken while the first is held, and the second while a queue's is,
// not the other way round.
std::mutex& device_lock();
std::mutex& captures_lock();

}  // namespace descend
