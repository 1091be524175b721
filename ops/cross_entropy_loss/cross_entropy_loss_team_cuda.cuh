// SPDX-License-Identifier: MIT
// Blocks that work on one row together, on GPUs.
//
// What one has for another it puts into the other's shared memory, where a box counts the bytes that came; whoever
// needs them waits for his own box.  A barrier of the whole team would do, too, but each of its threads waits then
// until all that it has written anywhere is there for everybody, the row before this one among it.  Where the card does
// not form clusters (before compute capability 9.0) a block is a team of its own, and its barrier does.
#pragma once
#include <bit>
#include <cstdint>

#include "src/loops/launch.cuh"

namespace descend::cuda {

inline constexpr int kLargestTeam = 8;  // of those that cards can form

// For what is waited for together: its bytes are counted here.
struct Box {
  uint64_t barrier;
};

#if __CUDA_ARCH__ >= 900
class Team {
 public:
  __device__ Team() {
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size_));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank_));
  }
  __device__ int size() const { return size_; }
  __device__ int rank() const { return rank_; }

  // By one thread, for each box of the block; then all threads of the team meet().
  __device__ void open(Box& box) const {
    if (size_ > 1) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&box)) : "memory");
  }
  __device__ void meet() const {
    if (size_ == 1) return __syncthreads();
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
  // x goes to `place` in the shared memory of the team's block number `to`, and is counted in `box` there.
  template <class T> __device__ __forceinline__ void send(int to, T& place, const T& x, Box& box) const {
    static_assert(alignof(T) == sizeof(T) && (sizeof(T) == 4 || sizeof(T) == 8));
    if (size_ == 1) {  // these instructions are for launches in clusters only
      place = x;
    } else if constexpr (sizeof(T) == 8) {
      asm volatile(
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(address_at(to, &place)),
          "l"(std::bit_cast<uint64_t>(x)), "r"(address_at(to, &box))
          : "memory");
    } else {
      asm volatile(
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address_at(to, &place)),
          "r"(std::bit_cast<uint32_t>(x)), "r"(address_at(to, &box))
          : "memory");
    }
  }
  // By one thread of the block that gets them, before each time: so many bytes are to come.
  __device__ __forceinline__ void expect(Box& box, int bytes) const {
    if (size_ > 1)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&box)), "r"(bytes)
                   : "memory");
  }
  // Until they are there, by all threads of the block, of which warps that are not `concerned` need not wait, and must
  // not: a box says whether the last time is over, and nothing keeps the others from going on.  `time` counts from 0.
  __device__ __forceinline__ void wait(Box& box, unsigned time, bool concerned) const {
    if (size_ == 1) return __syncthreads();
    if (!concerned) return;
    unsigned there;
    do {
      asm volatile(
          "{\n\t.reg .pred p;\n\t"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
          : "=r"(there)
          : "r"(address(&box)), "r"(time % 2)
          : "memory");
    } while (!there);
  }

 private:
  static __device__ __forceinline__ uint32_t address(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  }
  static __device__ __forceinline__ uint32_t address_at(int rank, const void* shared) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(shared)), "r"(rank));
    return there;
  }
  int size_, rank_;
};
#else
class Team {
 public:
  __device__ int size() const { return 1; }
  __device__ int rank() const { return 0; }
  __device__ void open(Box&) const {}
  __device__ void meet() const { __syncthreads(); }
  template <class T> __device__ __forceinline__ void send(int, T& place, const T& x, Box&) const { place = x; }
  __device__ void expect(Box&, int) const {}
  __device__ __forceinline__ void wait(Box&, unsigned, bool) const { __syncthreads(); }
};
#endif

}  // namespace descend::cuda
