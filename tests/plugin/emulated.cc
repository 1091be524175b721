// SPDX-License-Identifier: MIT
// The blocks of emulated.h, one after the other.  A block's threads are fibers that run until they wait for each other,
// in an order that DESCEND_EMULATED_ORDER chooses: 0 as they are numbered (blocks too), 1 backwards, others at random,
// where warps sleep, too.  With 1 the card has less shared memory.
// A result that depends on it is a race.
#include "tests/plugin/emulated.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace descend {
namespace emulated {
namespace {

constexpr size_t kStack = 256 << 10;
alignas(128) unsigned char memory[kMostSharedMemory];

struct Fiber {
  enum { kReady, kWaitsForWarp, kWaitsForBlock, kMeets, kDone } state = kDone;
  ucontext_t context;
  void* stack = nullptr;
  unsigned mask, source;
  const void* meets_at;
  uint64_t value;  // given, then got
  bool vote;
  struct Copy {
    void* to;
    size_t size;
    const void* from;
    size_t bytes;
  };
  using Copies = std::vector<Copy>;
  Copies copies;               // begun, of a batch that is not ended
  std::deque<Copies> batches;  // that nobody has waited for
  Fences fences;
};
std::vector<Fiber>& fibers = *new std::vector<Fiber>(1024);
ucontext_t scheduler;
const std::function<void()>* function;

Fiber& mine() { return fibers[threadIdx.x]; }

void release_block() {
  bool vote = false;
  for (unsigned i = 0; i < blockDim.x; ++i) {
    if (fibers[i].state == Fiber::kDone) continue;
    if (fibers[i].state != Fiber::kWaitsForBlock) return;
    vote |= fibers[i].vote;
  }
  for (unsigned i = 0; i < blockDim.x; ++i) {
    if (fibers[i].state == Fiber::kDone) continue;
    fibers[i].state = Fiber::kReady;
    fibers[i].vote = vote;
  }
}
// If all threads that a mask names are there.
void release_warp(Fiber* warp, unsigned mask) {
  uint64_t given[32];
  unsigned there = 0;
  for (unsigned i = 0; i < 32; ++i) {
    given[i] = 0xfff7dead7fa7dead;  // of threads that are not there
    if ((mask >> i & 1) == 0 || warp[i].state == Fiber::kDone) continue;
    if (warp[i].state != Fiber::kWaitsForWarp || warp[i].mask != mask) return;
    given[i] = warp[i].value;
    there |= 1u << i;
  }
  for (unsigned i = 0; i < 32; ++i) {
    if ((there >> i & 1) == 0) continue;
    warp[i].state = Fiber::kReady;
    warp[i].value = given[warp[i].source];
  }
}
Fiber* warp() { return &fibers[threadIdx.x / 32 * 32]; }

void wait() {
  Fiber& me = mine();
  if (me.state != Fiber::kReady) swapcontext(&me.context, &scheduler);
}
void run_thread() {
  (*function)();
  mine().state = Fiber::kDone;
  release_block();  // who waits does not wait for this one
  for (Fiber* each = warp(); each < warp() + 32; ++each)
    if (each->state == Fiber::kWaitsForWarp) release_warp(warp(), each->mask);
}

void make_ready(Fiber& fiber) {
  if (fiber.stack == nullptr)
    fiber.stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  getcontext(&fiber.context);
  fiber.context.uc_stack = {.ss_sp = fiber.stack, .ss_flags = 0, .ss_size = kStack};
  fiber.context.uc_link = &scheduler;
  makecontext(&fiber.context, run_thread, 0);
  fiber.state = Fiber::kReady;
  fiber.fences = {};
}

// Warps that do not run for some rounds of the others, or until none of those can go on: a GPU promises no more.
class Sleepers {
 public:
  explicit Sleepers(unsigned order) : sleeps_(order > 1), random_(order) {}
  void begin_round() {
    if (sleeps_ && --rounds_ <= 0) asleep_ = static_cast<unsigned>(random_()), rounds_ = 1 + random_() % 256;
  }
  bool has(unsigned thread) const { return asleep_ >> thread / 32 & 1; }
  bool wake() {  // for a round; whether there were any
    rounds_ = 2;
    return std::exchange(asleep_, 0) != 0;
  }

 private:
  const bool sleeps_;
  std::mt19937 random_;
  unsigned asleep_ = 0;
  int64_t rounds_ = 0;  // until others sleep
};

void run_block(const std::vector<unsigned>& order, Sleepers& sleepers) {
  for (const unsigned i : order) make_ready(fibers[i]);
  for (bool all_done = false; !all_done;) {
    bool any_ran = false;
    all_done = true;
    sleepers.begin_round();
    for (const unsigned i : order) {
      threadIdx.x = i;
      if (fibers[i].state == Fiber::kReady && !sleepers.has(i)) {
        swapcontext(&scheduler, &fibers[i].context);
        any_ran = true;
      }
      all_done = all_done && fibers[i].state == Fiber::kDone;
    }
    if (!any_ran && !all_done && !sleepers.wake()) die("threads wait for others that do not come");
  }
}

std::vector<unsigned> numbers(int64_t count, unsigned order) {
  std::vector<unsigned> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0u);
  if (order == 1) std::reverse(all.begin(), all.end());
  if (order > 1) std::shuffle(all.begin(), all.end(), std::mt19937(order));
  return all;
}

// Where to go on when a thread touches what is not there.
sigjmp_buf behind_kernel;
thread_local bool runs_kernel = false;
struct sigaction before_kernel;
void leave_kernel(int) {
  if (runs_kernel) siglongjmp(behind_kernel, 1);
  sigaction(SIGSEGV, &before_kernel, nullptr);  // another thread's: it comes again
}

}  // namespace

void die(const char* why) {
  std::fprintf(stderr, "emulated: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, why);
  std::abort();
}
cudaError_t run(int64_t blocks, int threads, size_t shared, const std::function<void()>& thread) {
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  const unsigned order = chosen_order();
  gridDim = {static_cast<unsigned>(blocks), 1, 1};
  blockDim = {static_cast<unsigned>(threads), 1, 1};
  function = &thread;
  if (shared > static_cast<size_t>(shared_memory_of_block())) die("so much shared memory is not there");
  Sleepers sleepers(order);
  const std::vector<unsigned> by_thread = numbers(threads, order), by_block = numbers(blocks, order);
  struct sigaction leave {};
  leave.sa_handler = leave_kernel;
  sigaction(SIGSEGV, &leave, &before_kernel);
  runs_kernel = true;
  const bool failed = sigsetjmp(behind_kernel, 1) != 0;
  if (!failed) {
    for (const unsigned block : by_block) {
      blockIdx.x = block;
      std::memset(memory, 0xa5, shared);
      run_block(by_thread, sleepers);
    }
  }
  runs_kernel = false;
  sigaction(SIGSEGV, &before_kernel, nullptr);
  for (Fiber& fiber : fibers) {  // where they were left
    fiber.state = Fiber::kDone;
    fiber.copies.clear();
    fiber.batches.clear();
  }
  return failed ? cudaErrorIllegalAddress : cudaSuccess;
}

bool wait_for_block(bool vote) {
  Fiber& me = mine();
  me.vote = vote;
  me.state = Fiber::kWaitsForBlock;
  release_block();
  wait();
  return me.vote;
}
void meet(const void* place, int threads, int ahead) {
  if (ahead % 2 != 0) die("it comes to another meeting than the others");
  Fiber& me = mine();
  me.state = Fiber::kMeets;
  me.meets_at = place;
  const auto is_here = [&](const Fiber& fiber) { return fiber.state == Fiber::kMeets && fiber.meets_at == place; };
  const auto end = fibers.begin() + blockDim.x;
  if (std::count_if(fibers.begin(), end, is_here) == threads)
    for (auto fiber = fibers.begin(); fiber < end; ++fiber)
      if (is_here(*fiber)) fiber->state = Fiber::kReady;
  wait();
}
void wait_at(const void* place) {
  mine().state = Fiber::kMeets;
  mine().meets_at = place;
  wait();
}
void let_go_on(const void* place) {
  for (Fiber& fiber : fibers)
    if (fiber.state == Fiber::kMeets && fiber.meets_at == place) fiber.state = Fiber::kReady;
}
uint64_t wait_for_warp(unsigned mask, uint64_t value, unsigned source) {
  Fiber& me = mine();
  if ((mask >> lane() & 1) == 0) die("it is not in its own mask");
  me.mask = mask;
  me.value = value;
  me.source = source;
  me.state = Fiber::kWaitsForWarp;
  release_warp(warp(), mask);
  wait();
  return me.value;
}
unsigned lane() { return threadIdx.x % 32; }
void* dynamic_shared_memory() { return memory; }
void begin_copy(void* to, size_t size, const void* from, size_t bytes) {
  if (bytes > size) die("it copies more than there is room for");
  mine().copies.push_back({to, size, from, bytes});
}
void end_batch_of_copies() { mine().batches.push_back(std::exchange(mine().copies, {})); }
void wait_for_copies(size_t but_batches) {
  auto& batches = mine().batches;
  for (; batches.size() > but_batches; batches.pop_front())
    for (const auto& [to, size, from, bytes] : batches.front()) {
      std::memset(to, 0, size);
      std::memcpy(to, from, bytes);
    }
}
Fences& fences() { return mine().fences; }

}  // namespace emulated

}  // namespace descend
