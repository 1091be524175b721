// SPDX-License-Identifier: MIT
// Sums over all points of an Iteration.  Compiled once per SIMD target.
//
//   sum(points, data, f)         the sum of f(d, in0, ..., in_{N-1}), terms and sum in double
//   sum(points, data, f, quick)  the same with terms in float, given by `quick`; tiles whose sum is not finite ask f
//   sum_terms(count, fill)       the sum of terms that `fill` writes; sum_term_lists: of several lists in one pass
//
// The order of the additions depends on the number of points alone: not on the target's lanes, the threads, nor, given
// iterate_in_order(), on the layout.  A tile of kTile terms is added in kSumLanes columns, the columns as a tree; tiles
// and then chunks of tiles are added one after the other with compensation.  So the error stays a few ulp of double
// for any number of terms, next to the sum of their magnitudes.
#if defined(DESCEND_LOOPS_REDUCE_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_REDUCE_CPU_INL_H
#undef DESCEND_LOOPS_REDUCE_CPU_INL_H
#else
#define DESCEND_LOOPS_REDUCE_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "src/backends/cpu/parallel.h"
#include "src/loops/boxes.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/runs.h"
#include "src/tensor/iteration.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kSumLanes = 16;    // columns of a tile: what four vectors of any target hold, or a multiple
inline constexpr int64_t kSumChunks = 256;  // at most: their sums are kept on the stack

template <class D> HWY_INLINE VectorOf<D> load_term(D d, const double* from) { return hn::LoadU(d, from); }
template <class D> HWY_INLINE VectorOf<D> load_term(D d, const float* from) {
  const hn::Rebind<float, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, from));
}

// The sum of terms[0, n), floats or doubles; n is a multiple of kSumLanes.
template <class Term> double sum_tile(const Term* terms, int64_t n) {
  const hn::CappedTag<double, kSumLanes / 4> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN double column[kSumLanes];
  for (int64_t j = 0; j < kSumLanes; j += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int64_t i = j; i < n; i += kSumLanes) {
      a = hn::Add(a, load_term(d, terms + i));
      b = hn::Add(b, load_term(d, terms + i + lanes));
      c = hn::Add(c, load_term(d, terms + i + 2 * lanes));
      e = hn::Add(e, load_term(d, terms + i + 3 * lanes));
    }
    hn::StoreU(a, d, column + j);
    hn::StoreU(b, d, column + j + lanes);
    hn::StoreU(c, d, column + j + 2 * lanes);
    hn::StoreU(e, d, column + j + 3 * lanes);
  }
  for (int64_t width = kSumLanes / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) column[j] += column[j + width];
  return column[0];
}

// The same for any n up to kTile; zeros are written behind the terms.
template <class Term> double sum_padded_tile(Term* terms, int64_t n) {
  const int64_t full = (n + kSumLanes - 1) / kSumLanes * kSumLanes;
  std::fill(terms + n, terms + full, Term{0});
  return sum_tile(terms, full);
}

// A running sum that keeps what its additions lose.
class CompensatedSum {
 public:
  void add(double x) {
    const double sum = sum_ + x;
    lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  // What infinities and NaNs lose is no number.
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// How many tiles of `count` terms make a chunk.
inline int64_t tiles_per_chunk(int64_t count) {
  const int64_t tiles = (count - 1) / kTile + 1;
  return std::max(kChunk / kTile, (tiles - 1) / kSumChunks + 1);
}

// What sum_terms() adds up of `count` terms, for a loop that has their tiles one after the other: the same bits.
class SumOfTiles {
 public:
  explicit SumOfTiles(int64_t count = 1) : per_chunk_(tiles_per_chunk(count)) {}
  // `tile` is sum_padded_tile() of the next kTile terms, or of the last ones.
  void add(double tile) {
    chunk_.add(tile);
    if (++tiles_ % per_chunk_ != 0) return;
    sum_.add(chunk_.value());
    chunk_ = {};
  }
  double value() const {
    CompensatedSum sum = sum_;
    if (tiles_ % per_chunk_ != 0) sum.add(chunk_.value());
    return sum.value();
  }

 private:
  int64_t per_chunk_, tiles_ = 0;
  CompensatedSum chunk_, sum_;
};

// The sums of `lists` lists of `count` terms each.  tile(begin, n) answers the sums of n <= kTile terms of each list,
// from number `begin` on.  What a sum is does not depend on the other lists.
template <int lists, class Tile> std::array<double, lists> sum_tiles(int64_t count, const Tile& tile) {
  std::array<double, lists> result{};
  if (count == 0) return result;
  const int64_t tiles = (count - 1) / kTile + 1, per_chunk = tiles_per_chunk(count);
  double sums[lists][kSumChunks];
  parallel_for(tiles, per_chunk, [&](int64_t begin, int64_t end) {
    CompensatedSum sum[lists];
    for (int64_t at = begin; at < end; ++at) {
      const std::array<double, lists> parts = tile(at * kTile, std::min(kTile, count - at * kTile));
      for (int list = 0; list < lists; ++list) sum[list].add(parts[static_cast<size_t>(list)]);
    }
    for (int list = 0; list < lists; ++list) sums[list][begin / per_chunk] = sum[list].value();
  });
  for (int list = 0; list < lists; ++list) {
    CompensatedSum sum;
    for (int64_t chunk = 0; chunk * per_chunk < tiles; ++chunk) sum.add(sums[list][chunk]);
    result[static_cast<size_t>(list)] = sum.value();
  }
  return result;
}

// The same, where fill(begin, n, terms) writes the terms of each list to terms[list].
template <int lists, class Fill> std::array<double, lists> sum_term_lists(int64_t count, const Fill& fill) {
  return sum_tiles<lists>(count, [&](int64_t begin, int64_t n) {
    HWY_ALIGN double terms[lists][kTile];
    std::array<double, lists> sums;
    fill(begin, n, terms);
    for (int list = 0; list < lists; ++list) sums[static_cast<size_t>(list)] = sum_padded_tile(terms[list], n);
    return sums;
  });
}

// The sum of one list, whose terms fill writes to `terms`.
template <class Fill> double sum_terms(int64_t count, const Fill& fill) {
  const auto fill_list = [&](int64_t begin, int64_t n, double(*terms)[kTile]) { fill(begin, n, terms[0]); };
  return sum_term_lists<1>(count, fill_list)[0];
}

// The sum of one list, of whose tiles tile(begin, n) answers the sum.
template <class Tile> double sum_tiles(int64_t count, const Tile& tile) {
  return sum_tiles<1>(count, [&](int64_t begin, int64_t n) { return std::array<double, 1>{tile(begin, n)}; })[0];
}

// Points [first, first + n) of operand k as T (float or double), in the order of iteration; n is at most kTile.
template <int N, class T>
void load_points(const Iteration<N>& points, int k, const void* data, int64_t first, int64_t n, T* to) {
  const LoadRun<T> load = loader<T>(points.dtype[k]);
  const int64_t size = static_cast<int64_t>(size_of(points.dtype[k]));
  const auto* base = static_cast<const std::byte*>(data);
  HWY_ALIGN std::byte raw[kTile * sizeof(double)];
  for_each_run(points, k, first, n, [&](int64_t element, int64_t step, int64_t run) {
    const std::byte* at = base + element * size;
    if (step == 1) {
      load(at, run, to);
    } else if (step == 0) {
      load(at, 1, to);
      std::fill(to + 1, to + run, *to);
    } else {
      const Axes axes = axes_of(1, &run, &step);
      gather(axes, static_cast<size_t>(size), at, raw);
      load(raw, run, to);
    }
    to += run;
  });
}

// The way back: values become points [first, first + n) of operand k, each of its points an element of its own.
template <int N, class T>
void store_points(const Iteration<N>& points, int k, void* data, int64_t first, int64_t n, const T* from) {
  const StoreRun<T> store = storer<T>(points.dtype[k]);
  const int64_t size = static_cast<int64_t>(size_of(points.dtype[k]));
  auto* base = static_cast<std::byte*>(data);
  HWY_ALIGN std::byte raw[kTile * sizeof(complex128)];
  for_each_run(points, k, first, n, [&](int64_t element, int64_t step, int64_t run) {
    std::byte* at = base + element * size;
    if (step == 1) {
      store(from, run, at);
    } else {
      store(from, run, raw);
      scatter(axes_of(1, &run, &step), static_cast<size_t>(size), raw, at);
    }
    from += run;
  });
}

// The sum of f at n <= kTile points, from number `begin` on, with terms in T.
template <class T, int N, class F>
double sum_points(const Iteration<N>& points, void* const* data, int64_t begin, int64_t n, const F& f) {
  HWY_ALIGN T tile[N][kTile], terms[kTile];
  Run<T, N + 1> run;
  run.address[0] = terms;
  run.advance[0] = -1;
  for (int k = 0; k < N; ++k) {
    const bool direct = points.contiguous(k) && points.dtype[k] == dtype_of<T>;
    run.address[k + 1] = direct ? static_cast<T*>(data[k]) + begin : tile[k];
    run.advance[k + 1] = -1;
    if (!direct) load_points(points, k, data[k], begin, n, tile[k]);
  }
  run_contiguous<T>(f, run, 0, n);
  return sum_padded_tile(terms, n);
}

template <int N, class F> double sum(const Iteration<N>& points, void* const* data, const F& f) {
  return sum_tiles(points.points(),
                   [&](int64_t begin, int64_t n) { return sum_points<double>(points, data, begin, n, f); });
}
template <int N, class F, class Q>
double sum(const Iteration<N>& points, void* const* data, const F& f, const Q& quick) {
  return sum_tiles(points.points(), [&](int64_t begin, int64_t n) {
    const double part = sum_points<float>(points, data, begin, n, quick);
    return std::isfinite(part) ? part : sum_points<double>(points, data, begin, n, f);
  });
}

// Stores one number as an element, rounded to the dtype `rounded` first.
inline void store_number(double v, DataType rounded, DataType dtype, void* to) {
  if (const RoundRun<double> round = rounder<double>(rounded)) round(&v, 1);
  storer<double>(dtype)(&v, 1, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
