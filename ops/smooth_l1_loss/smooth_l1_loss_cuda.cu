// SPDX-License-Identifier: MIT
// The smooth L1 loss on NVIDIA GPUs.
#include "ops/smooth_l1_loss/smooth_l1_loss_kernels.h"
#include "src/loops/elementwise.cuh"
#include "src/loops/reduce.cuh"

namespace descend::cuda {
namespace {

#include "ops/smooth_l1_loss/smooth_l1_loss_formulas.inc"

// The sum of a tile in columns of T, of which a thread has V.  times_beta as AddLoss has it.
template <class T, int V, bool times_beta> struct Columns {
  static constexpr int kColumns = static_cast<int>(kSumColumns<T>), kLanes = kColumns / V;
  Loss loss;
  T column[V] = {};

  __device__ explicit Columns(const Loss& l) : loss(l) {}
  __device__ __forceinline__ void add(int j, T self, T target) {
    column[j] = AddLoss<times_beta>{loss}(Lane<T>{}, column[j], self, target);
  }
  // In the first of the kLanes threads of the tile.
  __device__ __forceinline__ double sum() const {
    const int first = static_cast<int>(threadIdx.x % 32) / kLanes * kLanes;
    double wide[V];
#pragma unroll
    for (int j = 0; j < V; ++j) wide[j] = static_cast<double>(column[j]);
    return add_columns<V, kColumns>(wide, static_cast<unsigned>((uint64_t{1} << kLanes) - 1) << first);
  }
};

// self and target of one dtype, one after the other in memory: lines of 128 bytes at a time.  A line has two rows of a
// tile's columns.  Eight threads read a line of each of two tiles and exchange what the others add.
template <class Element> struct LossTiles {
  using T = std::conditional_t<std::is_same_v<Element, float>, double, float>;
  static constexpr bool kTimesBeta = std::is_same_v<T, double>;
  static constexpr int V = Vector<Element>::kCount, kLanes = Columns<T, V, kTimesBeta>::kLanes;
  static_assert(kLanes == 4);
  // Measured on an H200, of 2^28: float 518 us with 128 threads and 534 with 256; float16 281 and 277, and 274 with 256
  // and eight lines at once instead of four.
  static constexpr int kBlock = sizeof(Element) == 4 ? 128 : 256, kLinesAtOnce = 16 / sizeof(Element);
  const Element *self, *target;
  Loss loss;

  // Of n terms from element `first` on, one by one; in the first of the tile's threads.
  template <class Sum, bool times_beta> __device__ double tile(int64_t first, int n) const {
    constexpr int kPer = static_cast<int>(kSumColumns<Sum>) / kLanes;
    Columns<Sum, kPer, times_beta> columns(loss);
    for (int i = static_cast<int>(threadIdx.x) % kLanes * kPer; i < n; i += static_cast<int>(kSumColumns<Sum>))
#pragma unroll
      for (int j = 0; j < kPer; ++j)
        if (i + j < n) columns.add(j, widen<Sum>(self[first + i + j]), widen<Sum>(target[first + i + j]));
    return columns.sum();
  }
  // Of two whole tiles from element `first` on, the one of this thread.
  __device__ __forceinline__ double whole_tiles(int64_t first) const {
    const int lane = static_cast<int>(threadIdx.x % 8);
    const bool upper = lane >= kLanes;
    const unsigned eight = 0xffu << (threadIdx.x % 32 / 8 * 8);
    const auto exchange = [&](Vector<Element>& lower_tile, Vector<Element>& upper_tile) {
      uint4 a = reinterpret_cast<uint4&>(lower_tile), b = reinterpret_cast<uint4&>(upper_tile), send = upper ? a : b;
      send.x = __shfl_xor_sync(eight, send.x, kLanes), send.y = __shfl_xor_sync(eight, send.y, kLanes);
      send.z = __shfl_xor_sync(eight, send.z, kLanes), send.w = __shfl_xor_sync(eight, send.w, kLanes);
      reinterpret_cast<uint4&>(lower_tile) = upper ? send : a;  // now the first row of the thread's own tile
      reinterpret_cast<uint4&>(upper_tile) = upper ? b : send;
    };
    Columns<T, V, kTimesBeta> columns(loss);
#pragma unroll kLinesAtOnce
    for (int line = 0; line < kTile; line += 8 * V) {
      Vector<Element> a[2], b[2];
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        const int64_t at = first + t * kTile + line + lane * V;
        a[t] = *reinterpret_cast<const Vector<Element>*>(self + at);
        b[t] = *reinterpret_cast<const Vector<Element>*>(target + at);
      }
      exchange(a[0], a[1]);
      exchange(b[0], b[1]);
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int j = 0; j < V; ++j) columns.add(j, widen<T>(a[row].at[j]), widen<T>(b[row].at[j]));
    }
    return columns.sum();
  }
};

// Calls sum_of(begin, n, first) for the tiles of a batch by as many groups of `lanes` threads: the n terms of a tile
// and the first of the two tiles that it and its neighbour are.
template <int threads, int lanes, class SumOf, class Finish>
__device__ __forceinline__ void sum_losses(const SumCut& cut, CudaScratch* scratch, const SumOf& sum_of,
                                           const Finish& finish) {
  constexpr int kBatch = threads / lanes;
  __shared__ double parts[1][kBatch > kPiece ? kBatch : kPiece];
  const int number = static_cast<int>(threadIdx.x) / lanes;
  sum_batches<1, kBatch>(
      cut, scratch, parts,
      [&](int64_t first, int tiles, int at) {
        const int64_t begin = (first + number) * kTile;
        if (number / 2 * 2 >= tiles || begin >= cut.count) return;  // the neighbour may need this one's threads
        const int n = static_cast<int>(cut.count - begin < kTile ? cut.count - begin : kTile);
        const double sum = sum_of(begin, n, (first + number / 2 * 2) * kTile);
        if (threadIdx.x % lanes == 0 && number < tiles) parts[0][at + number] = sum;
      },
      finish);
}
// What the first of the tile's threads has, in all of them.
template <int lanes> __device__ __forceinline__ double from_first(double sum) {
  const int first = static_cast<int>(threadIdx.x % 32) / lanes * lanes;
  return __shfl_sync(static_cast<unsigned>((uint64_t{1} << lanes) - 1) << first, sum, first);
}

template <class Element, class Finish>
__global__ void __launch_bounds__(LossTiles<Element>::kBlock)
    sum_vectors(const __grid_constant__ LossTiles<Element> of, SumCut cut, CudaScratch* scratch, Finish finish) {
  using Tiles = LossTiles<Element>;
  sum_losses<Tiles::kBlock, Tiles::kLanes>(
      cut, scratch,
      [&](int64_t begin, int n, int64_t two) {
        double sum = two + 2 * kTile <= cut.count ? of.whole_tiles(two)
                                                  : of.template tile<typename Tiles::T, Tiles::kTimesBeta>(begin, n);
        if constexpr (!Tiles::kTimesBeta)  // a tile in float, where that is finite
          if (!std::isfinite(from_first<Tiles::kLanes>(sum))) sum = of.template tile<double, false>(begin, n);
        return sum;
      },
      finish);
}

// Operands of any dtype and layout, a thread a column.
struct AnyLoss {
  const void *self, *target;
  DataType self_dtype, target_dtype;
  Places<2> places;
  Loss loss;

  template <class T, bool times_beta> __device__ __forceinline__ double tile(int64_t first, int n) const {
    constexpr int kLanes = 32, kColumns = static_cast<int>(kSumColumns<T>);
    Columns<T, 1, times_beta> columns(loss);
    for (int i = static_cast<int>(threadIdx.x) % kLanes; i < n && threadIdx.x % kLanes < kColumns; i += kColumns) {
      int64_t offset[2] = {};
      places.add(first + i, offset);
      columns.add(0, load_as<T>(self_dtype, self, offset[0]), load_as<T>(target_dtype, target, offset[1]));
    }
    double wide[1] = {static_cast<double>(columns.column[0])};
    return add_columns<1, kColumns>(wide, ~0u);
  }
};
template <bool in_float, class Finish>
__global__ void __launch_bounds__(kThreads)
    sum_any(const __grid_constant__ AnyLoss of, SumCut cut, CudaScratch* scratch, Finish finish) {
  sum_losses<kThreads, 32>(
      cut, scratch,
      [&](int64_t begin, int n, int64_t) {
        if constexpr (!in_float) return of.tile<double, true>(begin, n);
        const double sum = from_first<32>(of.tile<float, false>(begin, n));
        return std::isfinite(sum) ? sum : of.tile<double, false>(begin, n);
      },
      finish);
}

struct StoreTotal {
  void* to;
  DataType rounded, dtype;
  double scale, divisor;  // what the sum is multiplied with; the count for the mean
  __device__ void operator()(const double* total) const {
    store_number(scale * total[0] / divisor, rounded, dtype, to);
  }
};

Status smooth_l1_loss(const SmoothL1LossArgs& a, void* const* data, Launch& launch) {
  const Loss loss(a.beta);
  if (loss_in_float(a.rounded, a.beta)) return elementwise<float>(a.points, data, a.rounded, loss, launch);
  return elementwise<float>(a.points, data, a.rounded, InDouble<Loss>{loss}, launch);
}

Status smooth_l1_loss_total(const SmoothL1LossTotalArgs& a, void* const* data, Launch& launch) {
  const int64_t count = a.points.points();
  const Loss loss(a.beta);
  const bool in_float = is_half(a.rounded) && usual(a.beta);
  const StoreTotal finish{data[2], a.rounded, a.result, in_float ? 1 : loss.scale,
                          a.mean ? static_cast<double>(count) : 1.0};
  const CudaLaunch on = cuda_launch(launch);
  const SumCut cut(count, 1);
  const auto& p = a.points;
  const bool line =
      p.contiguous(0) && p.contiguous(1) && p.dtype[0] == p.dtype[1] && is_aligned(data[0]) && is_aligned(data[1]);
  if (line && in_float == is_half(p.dtype[0])) {
    Status status;
    visit(Dtypes<float, float16, bfloat16>{}, p.dtype[0], [&]<class Element> {
      using Tiles = LossTiles<Element>;
      const Tiles of{static_cast<const Element*>(data[0]), static_cast<const Element*>(data[1]), loss};
      status = start(on, sum_vectors<Element, StoreTotal>, cut.blocks(Tiles::kBlock / Tiles::kLanes), Tiles::kBlock, 0,
                     of, cut, on.scratch, finish);
    });
    return status;
  }
  const AnyLoss of{data[0], data[1], p.dtype[0], p.dtype[1], Places<2>(p), loss};
  return start(on, in_float ? sum_any<true, StoreTotal> : sum_any<false, StoreTotal>, cut.blocks(kThreads / 32),
               kThreads, 0, of, cut, on.scratch, finish);
}

Status smooth_l1_loss_backward(const SmoothL1LossBackwardArgs& a, void* const* data, Launch& launch) {
  const Gradient gradient(a.beta, a.divisor);
  if (!usual(a.beta) || a.divisor != 1)
    return elementwise<float>(a.points, data, a.rounded, InDouble<Gradient>{gradient}, launch);
  if (is_half(a.rounded))
    return elementwise<float>(a.points, data, a.rounded, QuickGradientOfHalves(gradient, a.beta), launch);
  if (has_exact_slopes(a.beta))
    return elementwise<float>(a.points, data, a.rounded, GradientOfExactSlope{{1 / a.beta, a.beta}}, launch);
  const QuickGradient quick{{TwoFloats(gradient.near), a.beta}, gradient};
  return elementwise<float>(a.points, data, a.rounded, quick, launch);
}

// gradOut is one number, in memory that only the card reads: which formula it needs is seen there.
struct GradientOfOneNumber {
  const void* gradOut;
  DataType dtype;
  Gradient gradient;
  float beta;
  bool half;

  struct Prepared {
    QuickSlope<TwoFloats> two;
    QuickSlope<float> one;
    GradientOfOne careful;
    bool half, quick;

    template <class D> DESCEND_FORMULA float operator()(D d, float self, float target) const {
      if (!quick) return InDouble<GradientOfOne>{careful}(d, self, target);
      return half ? one(d, self, target) : two(d, self, target);
    }
  };
  DESCEND_FORMULA Prepared prepare() const {
    const double number = load_as<double>(dtype, gradOut, 0), factor = number * gradient.near;
    const double size = std::fabs(factor);
    const bool quick = usual(beta) && (size == 0 || (size >= 0x1p-100 && size <= 0x1p100));
    return {{TwoFloats(factor), beta}, {static_cast<float>(factor), beta}, {gradient, number}, half, quick};
  }
};

Status smooth_l1_loss_backward_of_one(const SmoothL1LossBackwardOfOneArgs& a, void* const* data, Launch& launch) {
  const GradientOfOneNumber gradient{data[3], a.gradOut, Gradient(a.beta, a.divisor), a.beta, is_half(a.rounded)};
  return elementwise<float>(a.points, data, a.rounded, gradient, launch);
}

[[maybe_unused]] const bool registered[] = {
    cuda_kernels().add(kSmoothL1Loss, smooth_l1_loss), cuda_kernels().add(kSmoothL1LossTotal, smooth_l1_loss_total),
    cuda_kernels().add(kSmoothL1LossBackward, smooth_l1_loss_backward),
    cuda_kernels().add(kSmoothL1LossBackwardOfOne, smooth_l1_loss_backward_of_one)};

}  // namespace
}  // namespace descend::cuda
