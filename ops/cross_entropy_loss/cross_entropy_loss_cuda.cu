// SPDX-License-Identifier: MIT
// The cross entropy on NVIDIA GPUs, with the additions and formulas of cross_entropy_loss_cpu.cc.
//
// The rows' losses are added block by block, in an order that the number of rows decides: a block of threads has the
// rows of one such block.  Rows of up to a tile are taken by half warps, 32 of them a warp, so that what a row costs by
// itself is computed for 32 rows at once.  Longer rows: cross_entropy_loss_long_rows_cuda.cuh.
#include "ops/cross_entropy_loss/cross_entropy_loss_long_rows_cuda.cuh"

namespace descend::cuda {
namespace {

// No rows: there is nothing but the total.
template <class Element> __global__ void only_total(const __grid_constant__ Loss<Element> l) { l.store_total(0, 0); }

// How a row's elements lie: as neighbours, and so many that every thread has as many as it can, as neighbours, or
// anyhow.
enum class Layout { kFull, kTogether, kAnyhow };

// Rows of at most kTile classes.  A group of threads reads a row in up to kPer times V elements a thread.
template <class Element, int V, Layout layout, int kPer>
__global__ void __launch_bounds__(kThreads, 4) short_rows(const __grid_constant__ Loss<Element> l) {
  constexpr int kColumns = static_cast<int>(kSumColumns<double>), kAtOnce = 32 / TileGroup<V>::kSize;
  constexpr bool together = layout != Layout::kAnyhow;
  __shared__ RowLoss of_row[kThreads];
  __shared__ __align__(8) unsigned char kept[kThreads * sizeof(Scores)];  // by row, until all of the warp's are there
  const int64_t begin = blockIdx.x * l.per_block;
  const int64_t end = begin + l.per_block < l.a.labels.rows ? begin + l.per_block : l.a.labels.rows;
  const int classes = static_cast<int>(l.a.labels.classes);
  const TileGroup<V> group;
  const int lane = static_cast<int>(threadIdx.x % 32), which = lane / TileGroup<V>::kSize;  // of the rows at once
  const int warp_first = static_cast<int>(threadIdx.x) - lane;
  Scores* const scores_of = reinterpret_cast<Scores*>(kept) + warp_first;
  const auto is_there = [&](int i) { return layout == Layout::kFull || group.rank * V + kColumns * i < classes; };
  const auto load = [&](int64_t row, Columns<Element, V>(&x)[kPer]) {
    const TileScores<Element, together> from_mine{l.at(row, group.rank * V), l.a.input.column};
#pragma unroll
    for (int i = 0; i < kPer; ++i)
      if (is_there(i)) x[i] = from_mine.template columns<V>(kColumns * i);
  };
  CompensatedSum loss_sum, zloss_sum;
  for (int64_t batch = begin; batch < end; batch += blockDim.x) {
    const int64_t first = batch + warp_first;  // the warp's 32 rows
    const int rows = static_cast<int>(end - first < 0 ? 0 : end - first < 32 ? end - first : 32);
    for (int some = 0; some < rows; some += kAtOnce) {
      const int64_t row = first + (some + which < rows ? some + which : some);
      Columns<Element, V> x[kPer];
      load(row, x);
      Scores scores;
#pragma unroll
      for (int i = 0; i < kPer; ++i)
#pragma unroll
        for (int j = 0; j < V; ++j)
          if (is_there(i)) scores.most = std::fmax(scores.most, widen<float>(x[i].at[j]));
#pragma unroll
      for (int step = TileGroup<V>::kSize / 2; step > 0; step /= 2)
        scores.most = std::fmax(scores.most, __shfl_xor_sync(~0u, scores.most, step));
      scores.most += 0.0f;
      double column[V] = {};
#pragma unroll
      for (int i = 0; i < kPer; i += 2) {
        if (!is_there(i)) continue;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          float sum = exp_below<Element>(widen<float>(x[i].at[j]), scores.most, scores.times);
          if (is_there(i + 1)) sum += exp_below<Element>(widen<float>(x[i + 1].at[j]), scores.most, scores.times);
          column[j] += static_cast<double>(sum);
        }
      }
      scores.below = add_columns<V>(column, group.mask) * 0x1p-100;
#pragma unroll
      for (int step = TileGroup<V>::kSize / 2; step > 0; step /= 2)
        scores.times += __shfl_xor_sync(~0u, scores.times, step);
      if (l.a.smoothing != 0)
        scores.distance = sum_distances<V>(
            0, classes, group, TileScores<Element, false>{l.at(row, 0), l.a.input.column}, scores.most, l.labels);
      if (group.rank == 0) scores_of[some + which] = scores;  // at most 32: a row that is not there is another's copy
    }
    __syncwarp();
    LogProb f{};
    of_row[threadIdx.x] = {0, 0};
    if (lane < rows) {
      const Scores scores = scores_of[lane];
      const double log_sum = scores.log_sum();
      f = scores.log_prob(log_sum);
      of_row[threadIdx.x] = l.finish(first + lane, l.label_of(first + lane), scores, log_sum);
    }
    __syncwarp();  // labels' scores are read before they are written over
    for (int some = 0; some < rows; some += kAtOnce) {
      const LogProb g{__shfl_sync(~0u, f.high, some + which), __shfl_sync(~0u, f.low, some + which)};
      if (some + which >= rows) continue;
      const int64_t row = first + some + which;
      Columns<Element, V> x[kPer];
      load(row, x);
      const int64_t step = together ? 1 : l.a.log_prob.column;
      Element* const to = l.log_prob + row * l.a.log_prob.row + group.rank * V * step;
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        if (!is_there(i)) continue;
        float result[V];
#pragma unroll
        for (int j = 0; j < V; ++j) result[j] = g(widen<float>(x[i].at[j]));
        narrow_all(result, x[i].at);
        *reinterpret_cast<Columns<Element, V>*>(to + kColumns * i * step) = x[i];
      }
    }
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 8
      for (int i = 0; i < static_cast<int>(blockDim.x) && batch + i < end; ++i) {
        loss_sum.add(of_row[i].loss);
        zloss_sum.add(of_row[i].zloss);
      }
    __syncthreads();
  }
  l.finish_block(loss_sum, zloss_sum);
}

template <class Element> Status run(const CrossEntropyLossArgs& a, void* const* data, const CudaLaunch& on) {
  const auto at = [&](int k) { return static_cast<Element*>(data[k]); };
  Loss<Element> l{.a = a,
                  .labels = {a.labels, data[0], static_cast<const float*>(data[1])},
                  .input = at(2),
                  .loss = at(3),
                  .log_prob = at(4),
                  .zloss = at(5),
                  .lse = at(6),
                  .scratch = on.scratch};
  if (Status s = sum_labels(l.labels, a.reduction == CrossEntropyReduction::kMean, a.smoothing != 0, on); !s.ok())
    return s;
  const int64_t rows = a.labels.rows, classes = a.labels.classes;
  if (rows == 0) return start(on, only_total<Element>, 1, 1, 0, l);
  l.per_block = (rows - 1) / kBlocks + 1;
  const int64_t blocks = (rows - 1) / l.per_block + 1;
  const auto in_pieces = [&](int64_t count) {
    const auto fits = [&](const CrossEntropyMatrixStrides& s, const void* address) {
      return s.column == 1 && s.row % count == 0 && is_aligned(address, static_cast<size_t>(count) * sizeof(Element));
    };
    return classes % count == 0 && fits(a.input, data[2]) && fits(a.log_prob, data[4]);
  };
  if (classes <= kTile) {
    constexpr int V = 4 / sizeof(Element);
    const auto pick = [&]<int W, Layout layout> {
      return classes <= 128 ? short_rows<Element, W, layout, 8> : short_rows<Element, W, layout, 32>;
    };
    const auto kernel = !in_pieces(V)    ? pick.template operator()<1, Layout::kAnyhow>()
                        : classes == 128 ? short_rows<Element, V, Layout::kFull, 8>
                                         : pick.template operator()<V, Layout::kTogether>();
    const int threads = static_cast<int>(std::clamp<int64_t>(ceil_divide(l.per_block, 32) * 32, 32, kThreads));
    return start(on, kernel, blocks, threads, 0, l);
  }
  l.in_vectors = in_pieces(Vector<Element>::kCount);
  // The smallest team that keeps a row in shared memory with room for other teams, or at all.
  const int64_t tiles = ceil_divide(classes, kTile), at_once = ceil_divide(tiles, 2) * 2;  // what follows is aligned
  const int64_t sums = (a.smoothing != 0 ? 2 : 1) * int64_t{sizeof(double)};
  constexpr int64_t kOther = 1 << 10;  // bytes of shared memory that have names, and what CUDA keeps
  const auto bytes_in_team = [&](int team) {
    return ceil_divide(tiles, team) * (kTile + kSkew) * static_cast<int64_t>(sizeof(Element)) + at_once * sums;
  };
  while (l.team < on.largest_cluster && bytes_in_team(l.team) > kBlockMemory) l.team *= 2;
  const int64_t bytes = bytes_in_team(l.team);
  if (bytes + kOther <= on.shared_memory)
    return start_in_clusters(on, long_rows<Element, true>, blocks * l.team, l.team, kLongThreads,
                             static_cast<size_t>(bytes), l, static_cast<int>(ceil_divide(tiles, l.team)),
                             static_cast<int>(at_once));
  l.team = 1;
  constexpr int kSumsAtOnce = 64;
  return start(on, long_rows<Element, false>, blocks, kLongThreads, static_cast<size_t>(kSumsAtOnce * sums), l, 0,
               kSumsAtOnce);
}

Status cross_entropy_loss(const CrossEntropyLossArgs& a, void* const* data, Launch& launch) {
  const CudaLaunch on = cuda_launch(launch);
  Status status;
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> { status = run<Element>(a, data, on); });
  return status;
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kCrossEntropyLoss, cross_entropy_loss);

}  // namespace
}  // namespace descend::cuda
