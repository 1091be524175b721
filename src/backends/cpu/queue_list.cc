// SPDX-License-Identifier: MIT
// All queues, and memory that is given back when what they have now is done.
#include <algorithm>
#include <new>
#include <vector>

#include "src/backends/cpu/queue.h"
#include "src/base/log.h"

namespace descend {
namespace {

// Queues that may have work, guarded by device_lock().
std::vector<std::shared_ptr<Queue>>& all_queues() {
  static auto& queues = *new std::vector<std::shared_ptr<Queue>>;
  return queues;
}

}  // namespace

void Queue::enter_list() {
  const std::lock_guard lock(device_lock());
  all_queues().push_back(self_.lock());
}

void Queue::leave_list() {
  std::shared_ptr<Queue> self = self_.lock();  // what the list held must not end under the lock
  const std::lock_guard lock(device_lock());
  std::erase(all_queues(), self);
}

void Queue::find_runners() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::lock_guard lock(device_lock());
    queues = all_queues();
    some_left_.store(false, std::memory_order_relaxed);  // with the lock: a queue that comes later sets it again
  }
  for (const std::shared_ptr<Queue>& queue : queues)
    if (queue->generation_ == fork_generation() && !queue->go_on().ok())
      some_left_.store(true, std::memory_order_relaxed);
}

void Queue::release_after_all(void* memory, void (*give_back)(void*)) noexcept {
  struct Block {
    void* memory = nullptr;
    void (*give_back)(void*) = nullptr;
    ~Block() {
      if (memory != nullptr) give_back(memory);
    }
  };
  std::shared_ptr<Block> block;  // ends after the lock: giving a large block back takes a while
  {
    const std::lock_guard lock(device_lock());
    try {
      for (const std::shared_ptr<Queue>& queue : all_queues()) {
        // Work that was submitted before this call is seen here: either its queue is busy or the work is done.
        if (queue->generation_ != fork_generation() || queue->idle()) continue;
        if (block == nullptr) block = std::make_shared<Block>();
        queue->keep_until_done(block);
      }
      if (block != nullptr) {
        block->give_back = give_back;
        block->memory = memory;
      }
    } catch (const std::bad_alloc&) {
      // Not even a note fits: never given back is better than given back too early.
      log(LogLevel::kError, "a block of device memory is lost: there was no memory to note when it is free");
      return;
    }
  }
  if (block == nullptr) give_back(memory);
}

}  // namespace descend
