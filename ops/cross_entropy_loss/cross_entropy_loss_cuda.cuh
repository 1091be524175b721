// SPDX-License-Identifier: MIT
// What both kernels of the cross entropy need on GPUs: labels and their sums.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/math.cuh"
#include "src/loops/reduce.cuh"

namespace descend::cuda {

inline constexpr int64_t kNoClass = -1;

// How far from a piece's beginning the element is.
template <class Element> __host__ __device__ __forceinline__ int shift_of(const Element* at) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(at) % sizeof(Vector<Element>) / sizeof(Element));
}

// The labels and weights at their addresses.
struct Labels {
  CrossEntropyLabels of;
  const void* target;
  const float* weight;  // null: all are 1

  // The class of a row; kNoClass for one that does not count.  Nothing else is ever an index.
  __device__ __forceinline__ int64_t operator[](int64_t row) const { return class_of(target_of(row)); }
  // The same in two steps: what is in memory may be asked for long before it is needed.
  __device__ __forceinline__ int64_t target_of(int64_t row) const {
    return load_index(of.index, target, row * of.target_stride);
  }
  // The same by the kernel that needs them last; of labels that were loaded to stay none must be left out.
  __device__ __forceinline__ int64_t last_target_of(int64_t row) const {
    const int64_t at = row * of.target_stride;
    if (of.index == DataType::kInt32) return load_for_the_last_time(static_cast<const int32_t*>(target) + at);
    if (of.index == DataType::kInt64) return load_for_the_last_time(static_cast<const int64_t*>(target) + at);
    return target_of(row);
  }
  __device__ __forceinline__ int64_t class_of(int64_t label) const {
    return label == of.ignored || label < 0 || label >= of.classes ? kNoClass : label;
  }
  __device__ __forceinline__ float weight_of(int64_t one) const {
    return weight ? weight[one * of.weight_stride] : 1.0f;
  }
};

// Numbers of the stream's scratch.
inline constexpr int kWeights = 0;     // of the rows that count
inline constexpr int kRows = 1;        // that count
inline constexpr int kShare = 2;       // 1 / kWeights
inline constexpr int kAllWeights = 3;  // of the classes

struct CountedRows {
  Labels labels;
  __device__ __forceinline__ void operator()(int64_t row, double (&terms)[2]) const {
    const int64_t label = labels[row];
    terms[0] = label == kNoClass ? 0 : double{labels.weight_of(label)};
    terms[1] = label == kNoClass ? 0 : 1;
  }
};
struct AllClasses {
  Labels labels;
  __device__ __forceinline__ void operator()(int64_t c, double (&terms)[1]) const { terms[0] = labels.weight_of(c); }
};
struct KeepRows {
  double* numbers;
  __device__ void operator()(const double* totals) const {
    numbers[kWeights] = totals[0];
    numbers[kRows] = totals[1];
    numbers[kShare] = 1 / totals[0];
  }
};
struct KeepAllWeights {
  double* numbers;
  __device__ void operator()(const double* totals) const { numbers[kAllWeights] = totals[0]; }
};

template <class Count> __device__ __forceinline__ Count add_lanes(Count count) {  // each lane gets the sum
  for (int half = 16; half > 0; half /= 2) count += __shfl_xor_sync(~0u, count, half);
  return count;
}

// Without weights rows are counted: whole numbers, whose sum is the same in any order.  A block's first thread adds its
// own and finds out by the same addition whether it is the last.  A thread asks for many targets at once, so that one
// block a multiprocessor is enough, and leaves room for those of the kernel behind it.  Where `they_stay` that one is
// to find them in the L2 cache: it must load all of them for the last time.
inline constexpr int kCountAtOnce = 16;
template <class Index, int V, bool they_stay>
__global__ void __launch_bounds__(kThreads) count_rows(Labels labels, CudaScratch* scratch) {
  using Piece = Columns<Index, V>;
  __shared__ int counts[kThreads / 32];
  let_next_kernel_begin();
  const auto* const target = static_cast<const Index*>(labels.target);
  const auto counts_as = [&](int64_t label) { return labels.class_of(label) == kNoClass ? 0 : 1; };
  const auto load_piece = [](const Index* at) {
    const auto* const piece = reinterpret_cast<const Piece*>(at);
    if constexpr (they_stay)
      return load_to_stay(piece);
    else
      return *piece;
  };
  const int64_t pieces = labels.of.rows / V, apart = V * labels.of.target_stride;
  constexpr int kOfBlock = kCountAtOnce * kThreads;
  int count = 0;
  for (int64_t begin = int64_t{blockIdx.x} * kOfBlock; begin < pieces; begin += int64_t{gridDim.x} * kOfBlock) {
    const int n = static_cast<int>(pieces - begin < kOfBlock ? pieces - begin : kOfBlock);
    const Index* const from = target + begin * apart;
    Piece in[kCountAtOnce];
#pragma unroll
    for (int u = 0; u < kCountAtOnce; ++u)
      if (const int piece = static_cast<int>(threadIdx.x) + u * kThreads; piece < n)
        in[u] = load_piece(from + (V == 1 ? piece * apart : piece * V));
#pragma unroll
    for (int u = 0; u < kCountAtOnce; ++u)
      if (static_cast<int>(threadIdx.x) + u * kThreads < n)
#pragma unroll
        for (int i = 0; i < V; ++i) count += counts_as(in[u].at[i]);
  }
  if (blockIdx.x == 0 && threadIdx.x < labels.of.rows - pieces * V)
    count += counts_as(target[pieces * V + threadIdx.x]);
  count = add_lanes(count);
  if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned long long mine = 1ull << 32;
  for (const int each : counts) mine += static_cast<unsigned>(each);
  const unsigned long long all = atomicAdd(&scratch->counts, mine) + mine;
  if (all >> 32 != gridDim.x) return;
  const double rows = static_cast<uint32_t>(all), totals[] = {rows, rows};
  KeepRows{scratch->numbers}(totals);
  scratch->counts = 0;  // for the next launch
}
inline Status start_counting(const Labels& labels, bool they_stay, const CudaLaunch& on) {
  constexpr int64_t kMostStay = 16 << 20;               // bytes
  const bool has_large_cache = on.largest_cluster > 1;  // cards that form clusters have: 50 MB on an H100
  const auto run = [&]<class Index> {
    constexpr int V = 16 / sizeof(Index);
    const bool in_pieces = labels.of.target_stride == 1 && is_aligned(labels.target);
    const bool stay = they_stay && has_large_cache && labels.of.rows * int64_t{sizeof(Index)} <= kMostStay;
    const int64_t blocks = blocks_for(on, labels.of.rows, kCountAtOnce * kThreads * (in_pieces ? V : 1), 1);
    const auto kernel = !in_pieces ? count_rows<Index, 1, false>
                        : stay     ? count_rows<Index, V, true>
                                   : count_rows<Index, V, false>;
    return start(on, kernel, blocks, kThreads, 0, labels, on.scratch);
  };
  return labels.of.index == DataType::kInt32 ? run.template operator()<int32_t>() : run.template operator()<int64_t>();
}

// The sums over so few rows that every block adds them itself, by its first threads: a kernel less to launch.
inline constexpr int64_t kFewRows = kTile;
__device__ __forceinline__ void sum_few_rows(const Labels& labels, double (&totals)[2]) {
  const CountedRows terms{labels};
  const TileGroup<1> group;
  const int list = static_cast<int>(threadIdx.x) / TileGroup<1>::kSize;
  if (list >= 2) return;
  const double total = sum_tile<1>(static_cast<int>(labels.of.rows), group, [&](int row, int, double(&value)[1]) {
    double of_row[2];
    terms(row, of_row);
    value[0] = list == 0 ? of_row[0] : of_row[1];
  });
  if (group.rank == 0) totals[list] = total;
}

// Puts the sums into the scratch: those over rows for a mean, that over classes for smoothing with weights.  they_stay:
// the next kernel loads each label by last_target_of().
inline Status sum_labels(const Labels& labels, bool rows, bool classes, bool they_stay, const CudaLaunch& on) {
  Status status;
  double* const numbers = on.scratch->numbers;
  if (rows && !labels.weight && labels.of.rows <= INT32_MAX)
    status = start_counting(labels, they_stay, on);
  else if (rows)
    status = sum<2>(labels.of.rows, CountedRows{labels}, KeepRows{numbers}, on);
  if (classes && labels.weight && status.ok())
    status = sum<1>(labels.of.classes, AllClasses{labels}, KeepAllWeights{numbers}, on);
  return status;
}
__device__ __forceinline__ double sum_of_all_weights(const Labels& labels, const CudaScratch* scratch) {
  return labels.weight ? scratch->numbers[kAllWeights] : static_cast<double>(labels.of.classes);
}

}  // namespace descend::cuda
