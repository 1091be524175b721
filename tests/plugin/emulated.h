// SPDX-License-Identifier: MIT
// CUDA's words in C++: kernels (*_cuda.cu) that include this first are compiled for the host, where the threads of a
// block take turns (emulated.cc).  What they compute can then be compared where there is no GPU.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/backends/cuda/launch.h"
#include "tests/plugin/emulated_runtime.h"

#undef __shared__
#define __shared__ static  // blocks run one after the other
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))
#define asm(...)  // only ever an empty one

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace descend::emulated {

// Runs the function by every thread of every block, until one does what a card does not survive.
cudaError_t run(int64_t blocks, int threads, size_t shared, const std::function<void()>& thread);

// Return when all threads of the block, so many that meet at a place, or those of the warp that the mask names, are
// here.
void meet(const void* place, int threads, int ahead);  // of the meetings that there have been, modulo 2
// One that others let go on.
void wait_at(const void* place);
void let_go_on(const void* place);
bool wait_for_block(bool vote);                                          // whether any voted so
uint64_t wait_for_warp(unsigned mask, uint64_t value, unsigned source);  // the value of lane `source`
unsigned lane();
void* dynamic_shared_memory();
[[noreturn]] void die(const char* why);
// What is there when the thread has waited for it: so many bytes, and 0 up to `size`.
void begin_copy(void* to, size_t size, const void* from, size_t bytes);
void end_batch_of_copies();
void wait_for_copies(size_t but_batches);
// What bulk stores may read, as the thread knows.
struct Fences {
  bool has_fenced = false;  // since it arrived at a gate last
  bool may_store = false;   // at the gate for which it has waited last all had fenced
};
Fences& fences();

template <class T> T exchange(unsigned mask, T value, unsigned source) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = wait_for_warp(mask, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace descend::emulated

inline void __syncthreads() { descend::emulated::wait_for_block(false); }
inline bool __syncthreads_or(int vote) { return descend::emulated::wait_for_block(vote != 0); }
inline void __syncwarp(unsigned mask = ~0u) { descend::emulated::wait_for_warp(mask, 0, descend::emulated::lane()); }
template <class T> T __shfl_sync(unsigned mask, T value, int source) {
  return descend::emulated::exchange(mask, value, static_cast<unsigned>(source) % 32);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return descend::emulated::exchange(mask, value, descend::emulated::lane() ^ static_cast<unsigned>(bits));
}
inline unsigned __ballot_sync(unsigned mask, int vote) {
  unsigned all = vote != 0 ? 1u << descend::emulated::lane() : 0;
  for (int bits = 16; bits > 0; bits /= 2) all |= __shfl_xor_sync(mask, all, bits);
  return all;
}
inline bool __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  const unsigned lane = descend::emulated::lane();
  return descend::emulated::exchange(mask, value, lane + by < 32 ? lane + by : lane);
}

inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* at, unsigned by) { return (*at += by) - by; }
inline unsigned atomicInc(unsigned* at, unsigned most) { return std::exchange(*at, *at >= most ? 0 : *at + 1); }
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long by) { return (*at += by) - by; }
inline int atomicAdd(int* at, int by) { return (*at += by) - by; }
template <class T> T __ldcg(const T* at) { return *at; }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline int __float2int_rz(float x) {  // the nearest there is; 0 for NaN
  if (!(std::fabs(x) < 0x1p31f)) return x > 0 ? INT32_MAX : x < 0 ? INT32_MIN : 0;
  return static_cast<int>(x);
}
inline uint32_t __vcmpeq2(uint32_t a, uint32_t b) {
  const uint32_t differ = a ^ b;
  return ((differ & 0xffffu) == 0 ? 0xffffu : 0) | (differ >> 16 == 0 ? 0xffff0000u : 0);
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, unsigned by) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> by % 32);
}
inline int __ffs(int x) { return std::countr_zero(static_cast<unsigned>(x)) + 1; }  // x is not 0
inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }

namespace descend::cuda {

template <class... Parameters, class... Arguments>
Status start(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
             const Arguments&... arguments) {
  if (blocks == 0) return {};
  const auto all = [=] { return emulated::run(blocks, threads, shared, [&] { kernel(arguments...); }); };
  return cuda_status(emulated::launch(on.stream, all), "to launch a kernel, or in work before it");
}
template <class... Parameters, class... Arguments>
Status start_in_clusters(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int, int threads,
                         size_t shared, const Arguments&... arguments) {  // of one block: CudaLaunch says so
  return start(on, kernel, blocks, threads, shared, arguments...);
}
template <class... Parameters, class... Arguments>
Status start_early(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                   const Arguments&... arguments) {
  return start(on, kernel, blocks, threads, shared, arguments...);
}
inline void let_next_kernel_begin() {}
inline void wait_for_kernel_before() {}
inline void wait_for_cycles(unsigned) {}
// As far from 2^x as a card may be, here up and there down: nothing may show it.
inline float exp2_of_card(float x) {
  const double exact = std::exp2(double{x});
  if (!(exact >= double{std::numeric_limits<float>::min()})) return x != x ? x : 0;
  return static_cast<float>(exact * (std::bit_cast<uint32_t>(x) / 7 % 2 != 0 ? 1 + 0x1.8p-23 : 1 - 0x1.8p-23));
}
class Meeting {
 public:
  void open(int warps) { threads_ = warps * 32, arrived_ = 0; }
  void meet(int number) { emulated::meet(this, threads_, number - arrived_++ / threads_); }

 private:
  int threads_, arrived_;
};

// As src/loops/bulk.cuh has it.  Copies happen as late as they may: what is loaded when somebody waits for it, what is
// stored when its place may be written over.
inline bool copies_in_bulk(const CudaLaunch&) { return true; }
class Gate {
 public:
  void open(int arrivals) { arrivals_ = left_ = arrivals, time_ = 0, to_ = nullptr, all_fence_ = true; }
  void arrive() {
    if (left_ == 0) emulated::die("it arrives where all have arrived");
    all_fence_ &= std::exchange(emulated::fences().has_fenced, false);
    if (--left_ == 0) emulated::let_go_on(this);
  }
  void arrive_expecting(int bytes) { bytes_ = bytes, arrive(); }
  void wait(unsigned time) {
    const bool too_late = time + 1 == time_ && left_ == 0;  // odd times are not told from odd ones
    if ((time != time_ && time + 1 != time_) || too_late)
      emulated::die("it waits for another time than the gate is at");
    while (time_ == time && left_ > 0) emulated::wait_at(this);
    if (time_ == time) {
      if (to_ != nullptr) std::memcpy(to_, from_, static_cast<size_t>(bytes_));
      ++time_, left_ = arrivals_, to_ = nullptr, all_fenced_ = std::exchange(all_fence_, true);
    }
    emulated::fences().may_store = all_fenced_;
  }
  void load(void* to, const void* from, int bytes) {
    if (bytes != bytes_) emulated::die("other bytes come than are expected");
    std::memset(to, 0xa5, static_cast<size_t>(bytes));  // who still reads what was there has begun the load too early
    to_ = to, from_ = from;
  }

 private:
  int arrivals_, left_, bytes_;
  unsigned time_;
  void* to_;
  const void* from_;
  bool all_fence_, all_fenced_;  // who arrives; who arrived the time before
};
inline void fence_gates() {}
inline void fence_bulk_store() { emulated::fences().has_fenced = true; }
inline void check_bulk_copy(const void* to, const void* from, int bytes) {
  if (bytes <= 0 || bytes % 16 != 0) emulated::die("what it copies in bulk is not whole pieces of 16 bytes");
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 16 != 0)
    emulated::die("what it copies in bulk does not begin where a piece of 16 bytes does, on both sides");
}
inline void begin_bulk_load(void* to, const void* from, int bytes, Gate& gate) {
  check_bulk_copy(to, from, bytes);
  gate.load(to, from, bytes);
}
inline void begin_bulk_store(void* to, const void* from, int bytes) {
  check_bulk_copy(to, from, bytes);
  if (!emulated::fences().may_store) emulated::die("it stores in bulk what not all who arrived before had fenced");
  emulated::begin_copy(to, static_cast<size_t>(bytes), from, static_cast<size_t>(bytes));
  emulated::end_batch_of_copies();
}
template <int but> void wait_for_bulk_stores() { emulated::wait_for_copies(but); }

template <class T> T* shared_memory() { return static_cast<T*>(emulated::dynamic_shared_memory()); }
template <class Piece> void begin_copy(Piece* shared, const Piece* from) {
  emulated::begin_copy(shared, sizeof(Piece), from, sizeof(Piece));
}
template <class Piece> void begin_copy(Piece* shared, const Piece* from, int bytes) {
  emulated::begin_copy(shared, sizeof(Piece), from, static_cast<size_t>(bytes));
}
inline void wait_for_copies() { emulated::end_batch_of_copies(), emulated::wait_for_copies(0); }
inline void end_batch_of_copies() { emulated::end_batch_of_copies(); }
template <int batches> void wait_for_batches_but() { emulated::wait_for_copies(batches); }

}  // namespace descend::cuda
