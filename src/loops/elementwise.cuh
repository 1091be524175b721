// SPDX-License-Identifier: MIT
// Runs a function at every point of an Iteration on the GPU.  As elementwise_cpu-inl.h:
//
//   elementwise<T>(points, data, rounded, f, launch)
//
// computes out = f(d, in1, ..., in_{N-1}) in T, one point at a time, with the formulas of every backend.
//
// Operands of one dtype that lie along the innermost dimension move in vectors of 16 bytes (run_rows).  Where some run
// across, as in a transposed matrix, these go through shared memory, so that both sides are read along their memory
// (run_tiles).  Everything else goes element by element (run_any).
#pragma once
#include <utility>

#include "src/loops/elements.cuh"
#include "src/loops/launch.cuh"
#include "src/loops/math.cuh"

namespace descend::cuda {

template <class F>
concept HasQuick = requires {
  requires F::kHasQuick;
};

// A function that needs something from memory has prepare(): it answers the function, made once a thread.
template <class F> __device__ __forceinline__ auto prepared(const F& f) {
  if constexpr (requires { f.prepare(); })
    return f.prepare();
  else
    return f;
}

// The function at V points: operand k's number at point i is get(k, i).  Careful forms are asked for once a group of
// points: a branch for each would cost more than the work.
template <class T, int inputs, int V, class F, class Get>
__device__ __forceinline__ void evaluate(const F& f, const Get& get, T (&result)[V]) {
  const auto all = [&]<size_t... k>(const auto& number, const auto& function, std::index_sequence<k...>) {
    return function(number(static_cast<int>(k))...);
  };
  constexpr auto operands = std::make_index_sequence<inputs>();
  bool any = false;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const auto number = [&](int k) { return get(k, i); };
    if constexpr (HasQuick<F>) {
      bool rare = false;
      result[i] = all(
          number, [&](auto... in) { return f.quick(Lane<T>{}, rare, in...); }, operands);
      any |= rare;
    } else {
      result[i] = all(
          number, [&](auto... in) { return f(Lane<T>{}, in...); }, operands);
    }
  }
  if constexpr (HasQuick<F>) {
    if (!any) return;
#pragma unroll 1
    for (int which = 0; which < V; ++which) {
      const auto number = [&](int k) {  // of that point, without an address: numbers stay in registers
        T picked = get(k, 0);
#pragma unroll
        for (int i = 1; i < V; ++i)
          if (i == which) picked = get(k, i);
        return picked;
      };
      bool rare = false;
      T of_point = all(
          number, [&](auto... in) { return f.quick(Lane<T>{}, rare, in...); }, operands);
      if (rare)
        of_point = all(
            number, [&](auto... in) { return f(Lane<T>{}, in...); }, operands);
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (i == which) result[i] = of_point;
    }
  }
}

// How many vectors a thread has in flight: enough bytes for the memory, few enough registers for many threads. Measured
// on an H200: with 2 for three operands of float the gradient of ELU from its result takes 780 us, with 4 742 us.
// Functions with a quick form compute long, and more bytes must be on their way meanwhile: with 1 for operands of two
// bytes the gradient of ELU from its input takes 402 us, with 2 and kBlocksOf 375 us.
template <class Element, int N, class F>
inline constexpr int kVectorsOf = sizeof(Element) == 2 ? (N == 2 || HasQuick<F> ? 2 : 1) : (N <= 3 ? 4 : 2);
template <class Element, class F>
inline constexpr int kBlocksOf = sizeof(Element) == 2 && HasQuick<F> ? 4 : 0;  // of a multiprocessor; 0: as it comes

template <int N> struct Rows {
  void* data[N];
  int64_t advance[N];  // along the innermost dimension: 1, or 0 for an input that is constant there
  Places<N> outer;     // the other dimensions
  Divisor per_row;     // vectors
  int64_t vectors;
  int64_t rest;  // elements behind the last vector of a single row

  bool is_line() const {
    return outer.rank == 0 && std::all_of(advance, advance + N, [](int64_t a) { return a == 1; });
  }
};

// `line`: a single row that every operand lies along.  What other rows need besides is a third of all instructions for
// operands of two bytes.
template <class T, class Element, int N, bool line, class F>
__global__ void __launch_bounds__(kThreads, kBlocksOf<Element, F>)
    run_rows(const __grid_constant__ Rows<N> rows, F given) {
  using V = Vector<Element>;
  const auto f = prepared(given);
  constexpr int kUnroll = kVectorsOf<Element, N, F>;
  V in[kUnroll][N - 1];
  int64_t offset[kUnroll][N];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kUnroll * kThreads) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t number = first + u * kThreads;
    if (number >= rows.vectors) break;
    int64_t column = number, row = 0;
    if (!line && rows.outer.rank > 0) row = rows.per_row.divide(column);
#pragma unroll
    for (int k = 0; k < N; ++k) offset[u][k] = line || rows.advance[k] != 0 ? column * V::kCount : 0;
    if (!line && rows.outer.rank > 0) rows.outer.add(row, offset[u]);
#pragma unroll
    for (int k = 1; k < N; ++k) {
      const Element* const at = static_cast<const Element*>(rows.data[k]) + offset[u][k];
      if (line || rows.advance[k] != 0) {
        in[u][k - 1] = *reinterpret_cast<const V*>(at);
      } else {
        const Element one = *at;
#pragma unroll
        for (Element& each : in[u][k - 1].at) each = one;
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (first + u * kThreads >= rows.vectors) break;
    V out;
    T result[V::kCount];
    evaluate<T, N - 1>(
        f, [&](int k, int i) { return widen<T>(in[u][k].at[i]); }, result);
    narrow_all(result, out.at);
    *reinterpret_cast<V*>(static_cast<Element*>(rows.data[0]) + offset[u][0]) = out;
  }
  if (blockIdx.x == 0 && threadIdx.x < rows.rest) {
    const int64_t i = rows.vectors * V::kCount + threadIdx.x;
    T result[1];
    evaluate<T, N - 1>(
        f, [&](int k, int) { return widen<T>(static_cast<const Element*>(rows.data[k + 1])[i * rows.advance[k + 1]]); },
        result);
    static_cast<Element*>(rows.data[0])[i] = narrow<Element>(result[0]);
  }
}

// Tiles of two dimensions: `x`, along which the output lies, and `y`, along which some inputs do.
enum class Way : int8_t { kAlongX, kAlongY, kNeither };
template <int N> struct Tiles {
  void* data[N];
  Way way[N];
  int8_t slot[N], slots = 0;  // in shared memory
  int64_t stride_x[N], stride_y[N];
  int64_t extent_x, extent_y;
  Divisor tiles_x, tiles_y;
  Places<N> outer;
};

inline constexpr int kSide = 64;  // of a tile

template <class T, class Element, int N, class F>
__global__ void __launch_bounds__(kThreads) run_tiles(Tiles<N> tiles, F given) {
  const auto f = prepared(given);
  using Run = Vector<Element>;  // a thread's, of a row of a tile
  constexpr int side = kSide, kPerRow = side / Run::kCount, kRows = kThreads / kPerRow;
  // Of each input that runs across a tile, by x; a column more keeps threads off each other's banks.
  using Across = Element[side][side + 1];
  extern __shared__ __align__(16) unsigned char memory[];
  Across* const across = reinterpret_cast<Across*>(memory);
  int64_t tile = blockIdx.x, offset[N] = {};
  int64_t rest = tiles.tiles_x.divide(tile);
  const int64_t x0 = tile * side;
  tile = rest;
  rest = tiles.tiles_y.divide(tile);
  const int64_t y0 = tile * side;
  tiles.outer.add(rest, offset);
  const int wide = static_cast<int>(tiles.extent_x - x0 < side ? tiles.extent_x - x0 : side);
  const int high = static_cast<int>(tiles.extent_y - y0 < side ? tiles.extent_y - y0 : side);
  const int column = static_cast<int>(threadIdx.x) % kPerRow * Run::kCount,
            first_row = static_cast<int>(threadIdx.x) / kPerRow;
#pragma unroll
  for (int k = 1; k < N; ++k) {
    if (tiles.way[k] != Way::kAlongY || column >= high) continue;
    const Element* const from =
        static_cast<const Element*>(tiles.data[k]) + offset[k] + x0 * tiles.stride_x[k] + y0 + column;
    Run run[side / kRows];
#pragma unroll
    for (int i = 0; i < side / kRows; ++i)
      if (const int x = first_row + i * kRows; x < wide)
        run[i] = *reinterpret_cast<const Run*>(from + x * tiles.stride_x[k]);
#pragma unroll
    for (int i = 0; i < side / kRows; ++i)
#pragma unroll
      for (int j = 0; j < Run::kCount; ++j) across[tiles.slot[k]][first_row + i * kRows][column + j] = run[i].at[j];
  }
  __syncthreads();
  if (column >= wide) return;
  int row = first_row;
  Element* at[N];
#pragma unroll
  for (int k = 0; k < N; ++k)
    at[k] = static_cast<Element*>(tiles.data[k]) + offset[k] + (x0 + column) * tiles.stride_x[k] +
            (y0 + row) * tiles.stride_y[k];
#pragma unroll 2
  for (; row < high; row += kRows) {
    Run in[N - 1], out;
#pragma unroll
    for (int k = 1; k < N; ++k) {
      if (tiles.way[k] == Way::kAlongX) {
        in[k - 1] = *reinterpret_cast<const Run*>(at[k]);
      } else if (tiles.way[k] == Way::kAlongY) {
#pragma unroll
        for (int i = 0; i < Run::kCount; ++i) in[k - 1].at[i] = across[tiles.slot[k]][column + i][row];
      } else {
#pragma unroll 1
        for (int i = 0; i < Run::kCount; ++i) {
          const Element one = at[k][i * tiles.stride_x[k]];
#pragma unroll
          for (int j = 0; j < Run::kCount; ++j)
            if (j == i) in[k - 1].at[j] = one;
        }
      }
      at[k] += kRows * tiles.stride_y[k];
    }
    T result[Run::kCount];
    evaluate<T, N - 1>(
        f, [&](int k, int i) { return widen<T>(in[k].at[i]); }, result);
    narrow_all(result, out.at);
    *reinterpret_cast<Run*>(at[0]) = out;
    at[0] += kRows * tiles.stride_y[0];
  }
}

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

// Whether run_rows can do it: `rows` then says how.
template <class Element, int N> bool as_rows(const Iteration<N>& points, void* const* data, Rows<N>& rows) {
  constexpr int64_t count = Vector<Element>::kCount;
  const int last = points.rank - 1;
  const int64_t width = points.rank == 0 ? 1 : points.extent[last];
  if (points.rank > 1 && width % count != 0) return false;
  for (int k = 0; k < N; ++k) {
    rows.data[k] = data[k];
    rows.advance[k] = points.rank == 0 ? 1 : points.stride[k][last];
    if (rows.advance[k] != 1 && (k == 0 || rows.advance[k] != 0)) return false;
    if (rows.advance[k] == 0) continue;
    if (!is_aligned(data[k])) return false;
    for (int i = 0; i < last; ++i)
      if (points.stride[k][i] % count != 0) return false;
  }
  rows.outer = Places<N>(points, std::max(last, 0));
  rows.per_row = Divisor(std::max<int64_t>(width / count, 1));
  rows.vectors = points.points() / count;
  rows.rest = points.rank > 1 ? 0 : width % count;
  return true;
}

// Whether run_tiles can do it and is of use: some input lies along a dimension that is not the innermost.
template <class Element, int N>
bool as_tiles(const Iteration<N>& points, void* const* data, Tiles<N>& tiles, int64_t& count) {
  constexpr int64_t run = Vector<Element>::kCount;
  const int x = points.rank - 1;
  int y = -1;
  for (int k = 1; k < N && points.rank > 1; ++k)
    for (int i = 0; i < x; ++i)
      if (y < 0 && points.stride[k][i] == 1 && points.stride[k][x] != 1) y = i;
  if (y < 0 || points.stride[0][x] != 1) return false;
  if (points.extent[x] % run != 0 || points.extent[y] % run != 0) return false;
  Iteration<N> outer;
  count = 1;
  for (int i = 0; i < x; ++i) {
    if (i == y) continue;
    outer.extent[outer.rank] = points.extent[i];
    count *= points.extent[i];
    for (int k = 0; k < N; ++k) outer.stride[k][outer.rank] = points.stride[k][i];
    ++outer.rank;
  }
  for (int k = 0; k < N; ++k) {
    tiles.data[k] = data[k];
    tiles.stride_x[k] = points.stride[k][x];
    tiles.stride_y[k] = points.stride[k][y];
    tiles.way[k] = tiles.stride_x[k] == 1 ? Way::kAlongX : tiles.stride_y[k] == 1 ? Way::kAlongY : Way::kNeither;
    if (tiles.way[k] == Way::kNeither) continue;
    if (tiles.way[k] == Way::kAlongY) tiles.slot[k] = tiles.slots++;
    if (!is_aligned(data[k])) return false;
    for (int i = 0; i <= x; ++i)
      if (points.stride[k][i] != 1 && points.stride[k][i] % run != 0) return false;
  }
  tiles.extent_x = points.extent[x];
  tiles.extent_y = points.extent[y];
  const int64_t wide = ceil_divide(tiles.extent_x, kSide), high = ceil_divide(tiles.extent_y, kSide);
  tiles.tiles_x = Divisor(wide);
  tiles.tiles_y = Divisor(high);
  tiles.outer = Places<N>(outer);
  count *= wide * high;
  return count <= INT32_MAX;
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
      int64_t count = 0;
      constexpr int64_t kPerBlock = kThreads * kVectorsOf<Element, N, F>;
      if (alike && as_rows<Element>(points, data, rows) && rows.vectors / kPerBlock < INT32_MAX) {
        const auto kernel = rows.is_line() ? run_rows<T, Element, N, true, F> : run_rows<T, Element, N, false, F>;
        status = start(on, kernel, std::max<int64_t>(ceil_divide(rows.vectors, kPerBlock), 1), kThreads, 0, rows, f);
        done = true;
      } else if (alike && as_tiles<Element>(points, data, tiles, count)) {
        status = start(on, run_tiles<T, Element, N, F>, count, kThreads,
                       tiles.slots * sizeof(Element) * kSide * (kSide + 1), tiles, f);
        done = true;
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
