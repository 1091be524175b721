// SPDX-License-Identifier: MIT
// The cross entropy of rows longer than a tile that are one part, on GPUs: a warp keeps as many rows in shared memory
// as a part may be long, and takes others when it has written them.  No warp waits for another: some compute while
// others wait for memory.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"

namespace descend::cuda {

template <class Element> struct PartRows {
  static constexpr int kBatch = 16;  // rows whose losses are computed at once
  static constexpr int kUnit = 8;    // rows that a warp takes at a time, at least, if there are many
  static constexpr int kStep = static_cast<int>(8 * kSumColumns<double>);  // columns that are added at once, at most
  static constexpr int64_t kOther = 9 << 10;  // bytes of shared memory that have names, and what CUDA keeps
  static constexpr int kMostTiles = static_cast<int>(CrossEntropyParts::kLeast / sizeof(Element) / kTile);

  static __host__ __device__ int tiles(int64_t classes) { return static_cast<int>((classes - 1) / kTile) + 1; }
  // What is kept of a row until its loss is computed.
  struct Kept {
    Scores scores;
    double log_sum;
    typename Loss<Element>::Label label;  // with its score before that is written over
  };
  // Rows that a warp has in its memory.
  static __host__ __device__ int at_once(int64_t classes) { return kMostTiles / tiles(classes); }
  static int64_t bytes(int64_t classes) {
    return kLongWarps * at_once(classes) * tiles(classes) * kWideTile * int64_t{sizeof(Element)};
  }
};

// The sum of weight * (score - most) over a row, by a warp; out of the way of what is done for every row.
template <int V, class Element>
__device__ __noinline__ double distance_of_part(const Loss<Element>& l, int64_t row, float most) {
  const PartOfRow<Element, false> part{l.at(row, 0), l.a.input.column, nullptr, l.a.labels.classes, false};
  return part.template sum_tiles<V, true>([&](int64_t number, int n, const TileGroup<V>& group) {
    return sum_distances<V>(number * kTile, n, group, part.tile(number), most, l.labels);
  });
}

// V: columns of a thread.  The groups of a warp have all tiles of a row at once.
template <class Element, int V, bool shows_lse>
__global__ void __launch_bounds__(kLongThreads, 3) part_rows(const __grid_constant__ Loss<Element> l) {
  using P = PartRows<Element>;
  const int lane = lane_of_warp(), warp = static_cast<int>(threadIdx.x) / 32;
  const int classes = static_cast<int>(l.a.labels.classes), at_once = P::at_once(classes);
  const int of_row = P::tiles(classes) * kWideTile, padded = (classes + P::kStep - 1) / P::kStep * P::kStep;
  Element* const cache = shared_memory<Element>() + warp * at_once * of_row;
  __shared__ __align__(8) unsigned char memory[kLongWarps][P::kBatch * sizeof(typename P::Kept)];
  auto* const kept = reinterpret_cast<typename P::Kept*>(memory[warp]);
  __shared__ LogProb log_probs[kLongWarps][P::kMostTiles];
  const int64_t unit = unit_of_rows<P::kUnit>(l.cut), warps = int64_t{gridDim.x} * kLongWarps;
  const auto part_of = [&](int64_t row, int slot) {
    return PartOfRow<Element, true>{l.at(row, 0), l.a.input.column, cache + slot * of_row,
                                    classes,      l.in_vectors,     padded};
  };
  // What is behind the last column stays there whatever row comes.
  for (int i = lane; i < at_once * (padded - classes); i += 32)
    cache[i / (padded - classes) * of_row + place_in_cache(classes + i % (padded - classes))] =
        narrow<Element>(-std::numeric_limits<float>::infinity());
  LossesOfRows<P::kBatch> sums;
  int64_t begin = (int64_t{blockIdx.x} * kLongWarps + warp) * unit;
  while (begin < l.a.labels.rows) {
    const unsigned ticket = lane == 0 ? atomicAdd(&l.scratch->tickets[kUnitsTaken], 1u) : 0;
    const int64_t end = begin + unit < l.a.labels.rows ? begin + unit : l.a.labels.rows;
    for (int64_t first = begin; first < end; first += P::kBatch) {
      const int rows = static_cast<int>(end - first < P::kBatch ? end - first : P::kBatch);
      for (int some = 0; some < rows; some += at_once) {
        const int there = rows - some < at_once ? rows - some : at_once;
        for (int slot = 0; slot < there; ++slot) part_of(first + some + slot, slot).begin();
        if (some == 0 && lane < rows) kept[lane].label = l.label_of(first + lane);  // while the copies are under way
#pragma unroll 1
        for (int slot = 0; slot < there; ++slot) {
          const auto part = part_of(first + some + slot, slot);
          const PartScores of_part = part.template sum<shows_lse, V, true>(part.read());
          Scores scores{of_part.most.score, of_part.most.times, of_part.below};
          if (l.a.smoothing != 0) scores.distance = distance_of_part<V>(l, first + some + slot, scores.most);
          if (lane == 0) kept[some + slot].scores = scores;
        }
        __syncwarp();
        if (lane < there) {
          const Scores scores = kept[some + lane].scores;
          const double log_sum = kept[some + lane].log_sum = scores.log_sum();
          log_probs[warp][lane] = scores.log_prob(log_sum);
        }
        __syncwarp();
#pragma unroll 1
        for (int slot = 0; slot < there; ++slot) {
          const int64_t row = first + some + slot;
          part_of(row, slot).write(log_probs[warp][slot], l.log_prob + row * l.a.log_prob.row, l.a.log_prob.column);
        }
        __syncwarp();  // what a lane copies next no other lane still reads
      }
      RowLoss done;
      if (lane < rows) done = l.finish(first + lane, kept[lane].label, kept[lane].scores, kept[lane].log_sum);
      sums.add(l, first, rows, done);
      __syncwarp();
    }
    begin = (warps + __shfl_sync(~0u, ticket, 0)) * unit;
  }
  sums.end(l);
  l.add_parts(true);
}

template <class Element, bool shows_lse> Status run_part_rows(const Loss<Element>& l, const CudaLaunch& on) {
  using P = PartRows<Element>;
  const int64_t classes = l.a.labels.classes, units = ceil_divide(l.a.labels.rows, unit_of_rows<P::kUnit>(l.cut));
  const int tiles = P::tiles(classes);
  const auto kernel = [&] {
    if constexpr (sizeof(Element) == 2)
      if (tiles > 4) return part_rows<Element, 4, shows_lse>;
    return tiles > 2 ? part_rows<Element, 2, shows_lse> : part_rows<Element, 1, shows_lse>;
  }();
  return start(on, kernel, blocks_for(on, units, kLongWarps, 3), kLongThreads, static_cast<size_t>(P::bytes(classes)),
               l);
}

}  // namespace descend::cuda
