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

// Rows of at most kTile classes.  A half warp reads a row in up to kPer elements a thread.
template <class Element, int kPer>
__global__ void __launch_bounds__(kThreads, 4) short_rows(const __grid_constant__ Loss<Element> l) {
  __shared__ RowLoss of_row[kThreads];
  const int64_t begin = blockIdx.x * l.per_block;
  const int64_t end = begin + l.per_block < l.a.labels.rows ? begin + l.per_block : l.a.labels.rows;
  const int classes = static_cast<int>(l.a.labels.classes);
  const TileGroup<1> group;
  const int lane = static_cast<int>(threadIdx.x % 32), half = lane / 16;
  const int warp_first = static_cast<int>(threadIdx.x) - lane;
  const int64_t from_step = 16 * l.a.input.column, to_step = 16 * l.a.log_prob.column;
  const auto load = [&](int64_t row, Element(&x)[kPer]) {
    const Element* from = l.at(row, group.rank);
#pragma unroll
    for (int i = 0; i < kPer; ++i, from += from_step)
      if (group.rank + 16 * i < classes) x[i] = *from;
  };
  CompensatedSum loss_sum, zloss_sum;
  for (int64_t batch = begin; batch < end; batch += blockDim.x) {
    const int64_t first = batch + warp_first;  // the warp's 32 rows
    const int rows = static_cast<int>(end - first < 0 ? 0 : end - first < 32 ? end - first : 32);
    Scores mine;  // of row first + lane
    for (int pair = 0; pair < rows; pair += 2) {
      const int64_t row = first + (pair + half < rows ? pair + half : pair);
      Element x[kPer];
      load(row, x);
      Scores scores;
#pragma unroll
      for (int i = 0; i < kPer; ++i)
        if (group.rank + 16 * i < classes) scores.most = std::fmax(scores.most, widen<float>(x[i]));
      for (int step = 8; step > 0; step /= 2)
        scores.most = std::fmax(scores.most, __shfl_xor_sync(~0u, scores.most, step));
      scores.most += 0.0f;
      int equal = 0;
      double column[1] = {};
#pragma unroll
      for (int i = 0; i < kPer; i += 2) {
        if (group.rank + 16 * i >= classes) continue;
        float sum = exp_below<Element>(widen<float>(x[i]), scores.most, equal);
        if (group.rank + 16 * (i + 1) < classes) sum += exp_below<Element>(widen<float>(x[i + 1]), scores.most, equal);
        column[0] += static_cast<double>(sum);
      }
      scores.below = add_columns<1>(column, group.mask) * 0x1p-100;
      for (int step = 8; step > 0; step /= 2) equal += __shfl_xor_sync(~0u, equal, step);
      scores.times = equal;
      if (l.a.smoothing != 0)
        scores.distance = sum_distances<1>(
            0, classes, group, [&](int c) { return *l.at(row, c); }, scores.most, l.labels);
      // What lanes 0 and 16 have is kept by the lanes of their rows.
      for (int which = 0; which < 2; ++which) {
        Scores of;
        of.most = __shfl_sync(~0u, scores.most, which * 16);
        of.times = __shfl_sync(~0u, scores.times, which * 16);
        of.below = __shfl_sync(~0u, scores.below, which * 16);
        if (l.a.smoothing != 0) of.distance = __shfl_sync(~0u, scores.distance, which * 16);
        if (lane == pair + which) mine = of;
      }
    }
    LogProb f{};
    of_row[threadIdx.x] = {0, 0};
    if (lane < rows) {
      const double log_sum = mine.log_sum();
      f = mine.log_prob(log_sum);
      of_row[threadIdx.x] = l.finish(first + lane, l.label_of(first + lane), mine, log_sum);
    }
    __syncwarp();  // labels' scores are read before they are written over
    for (int pair = 0; pair < rows; pair += 2) {
      const LogProb g{__shfl_sync(~0u, f.high, pair + half), __shfl_sync(~0u, f.low, pair + half)};
      if (pair + half >= rows) continue;
      const int64_t row = first + pair + half;
      Element x[kPer];
      load(row, x);
      Element* to = l.log_prob + row * l.a.log_prob.row + group.rank * l.a.log_prob.column;
#pragma unroll
      for (int i = 0; i < kPer; ++i, to += to_step)
        if (group.rank + 16 * i < classes) *to = narrow<Element>(g(widen<float>(x[i])));
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
  if (classes <= kTile) {
    const int threads = static_cast<int>(std::clamp<int64_t>(ceil_divide(l.per_block, 32) * 32, 32, kThreads));
    return start(on, classes <= 128 ? short_rows<Element, 8> : short_rows<Element, 32>, blocks, threads, 0, l);
  }
  constexpr int64_t count = Vector<Element>::kCount;
  const auto in_vectors = [&](const CrossEntropyMatrixStrides& s, const void* address) {
    return s.column == 1 && s.row % count == 0 && is_aligned(address);
  };
  l.in_vectors = classes % count == 0 && in_vectors(a.input, data[2]) && in_vectors(a.log_prob, data[4]);
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
