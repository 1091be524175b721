// SPDX-License-Identifier: MIT
// Runs a function at every point of an Iteration on the GPU.  As elementwise_cpu-inl.h:
//
//   elementwise<T>(points, data, rounded, f, launch)
//
// computes out = f(d, in1, ..., in_{N-1}) in T, one point at a time, with the formulas of every backend.
//
// Operands of one dtype go in rows or tiles; everything else goes element by element (run_any).
#pragma once
#include "src/loops/elementwise_rows.cuh"
#include "src/loops/elementwise_tiles_launch.cuh"

namespace descend::cuda {

template <int N> struct Anything {
  void* data[N];
  DataType dtype[N];
  DataType rounded;
  Places<N> places;
  int64_t points;
};

template <class T, int N, class F> __global__ void __launch_bounds__(kThreads) run_any(Anything<N> all, F given) {
  const auto f = prepared(given);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all.points; i += step) {
    int64_t offset[N] = {};
    all.places.add(i, offset);
    T result[1];
    evaluate<T, N - 1>(
        f, [&](int k, int) { return load_as<T>(all.dtype[k + 1], all.data[k + 1], offset[k + 1]); }, result);
    store_as(all.rounded == all.dtype[0] ? result[0] : round_to(all.rounded, result[0]), all.dtype[0], all.data[0],
             offset[0]);
  }
}

template <class T, class Element>
inline constexpr bool kComputesIn =
    std::is_same_v<T, float> ? !std::is_same_v<Element, double> : std::is_same_v<Element, double>;

template <class T, int N, class F>
Status elementwise(const Iteration<N>& points, void* const* data, DataType rounded, const F& f, Launch& launch) {
  const int64_t n = points.points();
  if (n == 0) return {};
  const CudaLaunch on = cuda_launch(launch);
  bool alike = true;
  for (int k = 0; k < N; ++k) alike = alike && points.dtype[k] == rounded;
  Status status;
  bool done = false;
  visit(Dtypes<float, float16, bfloat16, double>{}, rounded, [&]<class Element> {
    if constexpr (kComputesIn<T, Element>) {
      Rows<N> rows;
      Tiles<N> tiles;
      int64_t blocks_of_tiles = on.multiprocessors * 4;
      constexpr int64_t kPerBlock = kRowThreads * kVectorsOf<Element, N, F>;
      if (alike && as_rows<Element>(points, data, rows) && rows.vectors / kPerBlock < INT32_MAX) {
        auto kernel =
            rows.is_line() ? run_rows<T, Element, N, RowsKind::kLine, F> : run_rows<T, Element, N, RowsKind::kAny, F>;
        int64_t blocks = std::max<int64_t>(ceil_divide(rows.vectors, kPerBlock), 1);
        const int64_t of_row = ceil_divide(rows.width, kPerBlock);
        if (rows.outer.rank > 0 && rows.width >= kPerBlock && rows.vectors / rows.width * of_row < INT32_MAX) {
          kernel = run_rows<T, Element, N, RowsKind::kLong, F>;
          rows.per_row = Divisor(of_row);
          blocks = rows.vectors / rows.width * of_row;
        }
        status = start(on, kernel, blocks, kRowThreads, 0, rows, f);
        done = true;
      } else if (alike && as_tiles<Element>(points, data, tiles, blocks_of_tiles)) {
        done = start_tiles<T, Element>(tiles, blocks_of_tiles, f, on, status);
      }
    }
  });
  if (done) return status;
  Anything<N> all{.rounded = rounded, .places = Places<N>(points), .points = n};
  for (int k = 0; k < N; ++k) {
    all.data[k] = data[k];
    all.dtype[k] = points.dtype[k];
  }
  return start(on, run_any<T, N, F>, blocks_for(on, n, kThreads, 64), kThreads, 0, all, f);
}

}  // namespace descend::cuda
