// SPDX-License-Identifier: MIT
// What both kernels of the cross entropy need on GPUs: labels and their sums.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_kernels.h"
#include "src/loops/math.cuh"
#include "src/loops/reduce.cuh"

namespace descend::cuda {

inline constexpr int64_t kNoClass = -1;

// The labels and weights at their addresses.
struct Labels {
  CrossEntropyLabels of;
  const void* target;
  const float* weight;  // null: all are 1

  // The class of a row; kNoClass for one that does not count.  Nothing else is ever an index.
  __device__ __forceinline__ int64_t operator[](int64_t row) const {
    const int64_t label = load_index(of.index, target, row * of.target_stride);
    return label == of.ignored || label < 0 || label >= of.classes ? kNoClass : label;
  }
  __device__ __forceinline__ float weight_of(int64_t one) const {
    return weight ? weight[one * of.weight_stride] : 1.0f;
  }
};

// Numbers of the stream's scratch, behind the partial sums.
inline constexpr int kWeights = 1024;     // of the rows that count
inline constexpr int kRows = 1025;        // that count
inline constexpr int kAllWeights = 1026;  // of the classes

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
template <int count> struct KeepNumbers {
  double* to;
  __device__ void operator()(const double* totals) const {
    for (int i = 0; i < count; ++i) to[i] = totals[i];
  }
};

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

// Puts the sums into the scratch: those over rows for a mean, that over classes for smoothing with weights.
inline Status sum_labels(const Labels& labels, bool rows, bool classes, const CudaLaunch& on) {
  Status status;
  double* const numbers = on.scratch->numbers;
  if (rows) status = sum<2>(labels.of.rows, CountedRows{labels}, KeepNumbers<2>{numbers + kWeights}, on);
  if (classes && labels.weight && status.ok())
    status = sum<1>(labels.of.classes, AllClasses{labels}, KeepNumbers<1>{numbers + kAllWeights}, on);
  return status;
}
__device__ __forceinline__ double sum_of_all_weights(const Labels& labels, const CudaScratch* scratch) {
  return labels.weight ? scratch->numbers[kAllWeights] : static_cast<double>(labels.of.classes);
}

}  // namespace descend::cuda
