// SPDX-License-Identifier: MIT
// What there is behind emulated_runtime.h: cards, their streams and events, and memory.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/plugin/emulated_runtime.h"

namespace descend::emulated {

using Clock = std::chrono::steady_clock;
inline constexpr int kCards = 2;
inline constexpr size_t kMemory = size_t{4} << 30;  // of a card

// A moment of a stream.
struct Point {
  bool is_reached = false;
  Clock::time_point time{};
};

struct Work {
  std::function<cudaError_t()> run;
  bool always = false;  // also after the card has failed
};

struct Block {
  int card;
  size_t bytes;
};

// Everything there is, behind one lock.  Never destroyed: threads use it until the process ends.
struct Machine {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<cudaStream_t> streams;
  std::map<const char*, Block> device_memory, pinned_memory;
  size_t used[kCards] = {};
  bool has_refused = false;          // what DESCEND_EMULATED_REFUSES says, once
  cudaError_t failure[kCards] = {};  // of a kernel, told by every call from then on
};
Machine& machine();
using Lock = std::unique_lock<std::mutex>;

extern thread_local int current_card;

// With the lock.
cudaError_t answer(cudaError_t error, int card = current_card);  // of a call: its own failure, or the card's
void queue(cudaStream_t stream, std::function<cudaError_t()> run, bool always = false);
void wait_for(Lock& lock, cudaStream_t stream);

}  // namespace descend::emulated

struct CUstream_st {
  const int card;
  std::deque<descend::emulated::Work> work;
  uint64_t begun = 0, done = 0;
  bool has_thread = false;  // only as long as there is work: a program may have thousands of streams
  bool is_ending = false;
};

struct CUevent_st {
  const int card;
  std::shared_ptr<descend::emulated::Point> point;  // none: never recorded
};
