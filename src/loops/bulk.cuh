// SPDX-License-Identifier: MIT
// Copies of many bytes between global and shared memory, each begun by one thread, and gates for which others wait: on
// cards of compute capability 9.0 and later.
#pragma once
#include "src/loops/launch.cuh"

namespace descend::cuda {

#ifndef DESCEND_EMULATED  // tests/plugin/emulated.h has its own
inline bool copies_in_bulk(const CudaLaunch& on) { return on.largest_cluster > 1; }

#if __CUDA_ARCH__ >= 900
#define DESCEND_BULK(...) asm volatile(__VA_ARGS__)
#else
#define DESCEND_BULK(...) __trap()  // compiled, but not to be launched
#endif
__device__ __forceinline__ uint32_t shared_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// In shared memory.  It is passed once for each time, which count from 0, when so many threads have arrived and all
// bytes that one of them expects are there.
class Gate {
 public:
  // By one thread, before fence_gates() of all and a __syncthreads().
  __device__ void open(int arrivals) {
    DESCEND_BULK("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    DESCEND_BULK("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(this)) : "memory");
  }
  __device__ __forceinline__ void arrive_expecting(int bytes) {
    DESCEND_BULK("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)), "r"(bytes)
                 : "memory");
  }
  // Who waits for a time knows that the one before is over, and nobody may pass the next one before he goes on: the
  // gate tells odd times from even ones.
  __device__ __forceinline__ void wait(unsigned time) {
    unsigned is_over = 1;
    do {
      DESCEND_BULK(
          "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
          : "=r"(is_over)
          : "r"(shared_address(this)), "r"(time % 2)
          : "memory");
    } while (!is_over);
  }

 private:
  uint64_t barrier_;
};
__device__ __forceinline__ void fence_gates() { DESCEND_BULK("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Whole pieces of 16 bytes, from where such a piece begins to where one does.  The gate counts those that are loaded.
__device__ __forceinline__ void begin_bulk_load(void* to, const void* from, int bytes, Gate& gate) {
  DESCEND_BULK("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&gate))
               : "memory");
}
__device__ __forceinline__ void begin_bulk_store(void* to, const void* from, int bytes) {
  DESCEND_BULK("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
// Until all that this thread stores has been read, but the last so many: its place may be written over.
template <int but> __device__ __forceinline__ void wait_for_bulk_stores() {
  DESCEND_BULK("cp.async.bulk.wait_group.read %0;" ::"n"(but) : "memory");
}
// By each thread that has written what a bulk store reads, before the one that begins it knows.
__device__ __forceinline__ void fence_bulk_store() { DESCEND_BULK("fence.proxy.async.shared::cta;" ::: "memory"); }
#undef DESCEND_BULK
#endif

}  // namespace descend::cuda
