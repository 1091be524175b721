// SPDX-License-Identifier: MIT
// Launching kernels, and finding points of an Iteration by number, for CUDA.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>

#include "src/backends/cuda/launch.h"
#include "src/tensor/iteration.h"

namespace descend::cuda {

inline constexpr int kThreads = 256;  // of a block, where nothing else is said

#ifndef DESCEND_EMULATED  // tests/plugin/emulated.h has its own
inline std::mutex& permission_mutex() {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: programs may call until they end
  return mutex;
}
// Calls launch() with so much dynamic shared memory permitted to the kernel's blocks.  The permission is the kernel's,
// not the launch's: nobody else may change it in between.
template <class Launch, class... Parameters>
cudaError_t with_shared_memory(void (*kernel)(Parameters...), size_t bytes, const Launch& launch) {
  constexpr size_t kWithoutAsking = 32 << 10;  // 48 KiB with what has names in the kernel
  if (bytes <= kWithoutAsking) return launch();
  const std::lock_guard lock(permission_mutex());
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  return launch();
}

// `shared` is dynamic shared memory in bytes.
template <class... Parameters, class... Arguments>
Status start(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
             const Arguments&... arguments) {
  if (blocks == 0) return {};
  const auto launch = [&] {
    kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared, on.stream>>>(arguments...);
    return cudaGetLastError();
  };
  return cuda_status(with_shared_memory(kernel, shared, launch), "to launch a kernel, or in work before it");
}

// The same with an attribute of CUDA's, or without one.
template <class... Parameters, class... Arguments>
Status start_with(cudaLaunchAttribute* attribute, const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks,
                  int threads, size_t shared, const Arguments&... arguments) {
  if (blocks == 0) return {};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(blocks);
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = shared;
  config.stream = on.stream;
  config.attrs = attribute;
  config.numAttrs = attribute ? 1 : 0;
  const auto launch = [&] { return cudaLaunchKernelEx(&config, kernel, arguments...); };
  return cuda_status(with_shared_memory(kernel, shared, launch), "to launch a kernel, or in work before it");
}
// In clusters of blocks, which can write to each other's shared memory.
template <class... Parameters, class... Arguments>
Status start_in_clusters(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int cluster, int threads,
                         size_t shared, const Arguments&... arguments) {
  cudaLaunchAttribute dimension{};
  dimension.id = cudaLaunchAttributeClusterDimension;
  dimension.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  return start_with(cluster > 1 ? &dimension : nullptr, on, kernel, blocks, threads, shared, arguments...);
}
// So that it may begin when all blocks of the kernel before it have called let_next_kernel_begin(): it waits by
// itself before it reads what that one writes.  Cards that form clusters can; others begin it as any.
template <class... Parameters, class... Arguments>
Status start_early(const CudaLaunch& on, void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                   const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  return start_with(on.largest_cluster > 1 ? &early : nullptr, on, kernel, blocks, threads, shared, arguments...);
}
__device__ __forceinline__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Does nothing for so many cycles, or a few more; not for long on a multiprocessor whose clock is behind that of one
// where the block was before.
__device__ __forceinline__ void wait_for_cycles(unsigned cycles) {
  const auto now = [] { return static_cast<unsigned long long>(clock64()); };
  for (const unsigned long long begin = now(); now() - begin < cycles;) {
  }
}

// A block's dynamic shared memory, which begins at a line: where it lay 16 bytes off a sector of 32, copies to it of 16
// bytes a thread took 25 % longer.
template <class T> __device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
}
// Copies 16 or 4 bytes, or fewer of 16 and 0 for the rest, from global memory to there while the thread goes on.  It
// waits for all copies that it has begun, or for all but the last so many batches of them.
template <class Piece> __device__ __forceinline__ void begin_copy(Piece* shared, const Piece* from) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  static_assert(sizeof(Piece) == 16 || sizeof(Piece) == 4);
  if constexpr (sizeof(Piece) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
template <class Piece> __device__ __forceinline__ void begin_copy(Piece* shared, const Piece* from, int bytes) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  static_assert(sizeof(Piece) == 16);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
__device__ __forceinline__ void end_batch_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int batches> __device__ __forceinline__ void wait_for_batches_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(batches) : "memory");
}

// In shared memory: where some warps of a block meet while others go on.  One thread opens it, before a
// __syncthreads(); then all threads of so many warps call meet(), with the number of the meeting from 0 on, or that
// modulo 2.  The numbered barriers that CUDA has are no quicker, and compute-sanitizer takes what is before and behind
// the next __syncthreads() for a race when warps have met at them more often than others.
#if __CUDA_ARCH__ >= 900
#define DESCEND_WAIT_FOR_MEETING "mbarrier.try_wait"  // sleeps for a while
#else
#define DESCEND_WAIT_FOR_MEETING "mbarrier.test_wait"
#endif
class Meeting {
 public:
  __device__ void open(int warps) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(warps * 32) : "memory");
  }
  __device__ __forceinline__ void meet(int number) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(address()) : "memory");
    unsigned are_there;
    do {
      asm volatile("{\n\t.reg .pred p;\n\t" DESCEND_WAIT_FOR_MEETING
                   ".parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(are_there)
                   : "r"(address()), "r"(number % 2)
                   : "memory");
    } while (!are_there);
  }

 private:
  __device__ __forceinline__ uint32_t address() const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(&barrier_));
  }
  uint64_t barrier_;
};
#undef DESCEND_WAIT_FOR_MEETING
#endif

constexpr int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How many blocks for `units` of work, `per_block` at a time; loops take what is beyond.
inline int64_t blocks_for(const CudaLaunch& on, int64_t units, int64_t per_block, int64_t per_multiprocessor) {
  return std::min(ceil_divide(units, per_block), on.multiprocessors * per_multiprocessor);
}

inline bool is_aligned(const void* address, size_t to = 16) { return reinterpret_cast<uintptr_t>(address) % to == 0; }

// Division of numbers below 2^31 by one that is known before the kernel runs: a product and a shift (Granlund and
// Montgomery).  Of larger numbers, the processor's.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t by) : by_(by) {
    if (by < 1 || by >= kLimit) return;  // 0: of an empty iteration, which nothing divides
    shift_ = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(by - 1)));
    factor_ = static_cast<uint32_t>(
        ((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - static_cast<uint64_t>(by))) / static_cast<uint64_t>(by) + 1);
  }
  // The quotient; n becomes the remainder.  Both numbers are below 2^31.
  __device__ __forceinline__ uint32_t divide(uint32_t& n) const {
    const uint32_t quotient = (__umulhi(n, factor_) + n) >> shift_;
    n -= quotient * static_cast<uint32_t>(by_);
    return quotient;
  }
  // The same for any.
  __device__ __forceinline__ int64_t divide(int64_t& n) const {
    int64_t quotient;
    if (n < kLimit && by_ < kLimit) {
      const uint32_t small = static_cast<uint32_t>(n);
      quotient = (__umulhi(small, factor_) + small) >> shift_;
      n = small - static_cast<uint32_t>(quotient) * static_cast<uint32_t>(by_);
    } else {
      quotient = n / by_;
      n -= quotient * by_;
    }
    return quotient;
  }

 private:
  static constexpr int64_t kLimit = int64_t{1} << 31;
  int64_t by_ = 1;
  uint32_t factor_ = 1, shift_ = 0;
};

// The points of an Iteration, by number.
template <int N> struct Places {
  int rank = 0;
  Divisor extent[kMaxRank];
  int64_t stride[N][kMaxRank];

  Places() = default;
  // Of its first `dimensions` dimensions.
  Places(const Iteration<N>& points, int dimensions) : rank(dimensions) {
    for (int i = 0; i < rank; ++i) {
      extent[i] = Divisor(points.extent[i]);
      for (int k = 0; k < N; ++k) stride[k][i] = points.stride[k][i];
    }
  }
  explicit Places(const Iteration<N>& points) : Places(points, points.rank) {}

  // Adds where point `number` of each operand is, in elements.
  __device__ __forceinline__ void add(int64_t number, int64_t (&offset)[N]) const {
    for (int i = rank - 1; i >= 0; --i) {
      int64_t at = number;
      if (i > 0) {
        number = extent[i].divide(at);
      }
      for (int k = 0; k < N; ++k) offset[k] += at * stride[k][i];
    }
  }
};

}  // namespace descend::cuda
