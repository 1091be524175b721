// SPDX-License-Identifier: MIT
// Sums over all points of an Iteration.  Compiled once per SIMD target.
//
//   sum<T>(points, data, f)      the sum of terms: f(d, sum, in0, ..., in_{N-1}) is `sum` plus the term of those
//   inputs,
//                                which is 0 where they are 0.  In double, or a tile in float where that is finite
//   sum_terms(count, fill)       the sum of terms that `fill` writes; sum_term_lists: of several lists in one pass
//
// The order of the additions depends on the number of points alone: not on the target's lanes, the threads, nor, given
// iterate_in_order(), on the layout.  sums.h has it.  No term goes through more than 100 additions where there are
// up to 2^32: the error is a few ulp of double (or 2^-19 where a tile is added in float), next to the sum of
// magnitudes.
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
#include "src/loops/sums.h"
#include "src/tensor/iteration.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds the terms of points [0, n), n a multiple of the columns, to the columns' sums.  add(d, i, sum) is `sum` plus the
// terms of a vector of points from i on.  One pass has as many sums as there are k, from column `first` on.
template <class D, class Add, class T, size_t... k, class... V>
HWY_INLINE void add_to_sums(D d, const Add add, int64_t first, int64_t n, T* column, std::index_sequence<k...>,
                            V... sum) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = first; i < n; i += kSumColumns<T>) ((sum = add(d, i + static_cast<int64_t>(k) * lanes, sum)), ...);
  (hn::StoreU(sum, d, column + first + static_cast<int64_t>(k) * lanes), ...);
}
template <class D, class Add, class T, size_t... k>
HWY_INLINE void add_in_one_pass(D d, const Add add, int64_t first, int64_t n, T* column,
                                std::index_sequence<k...> all) {
  add_to_sums(d, add, first, n, column, all, hn::LoadU(d, column + first + k * hn::Lanes(d))...);
}
template <class Add, class T> HWY_INLINE void add_to_columns(const Add add, int64_t n, T* column) {
#if HWY_HAVE_SCALABLE
  constexpr size_t kSums = 4;
  const hn::CappedTag<T, kSumColumns<T> / kSums> d;
#else
  const hn::CappedTag<T, kSumColumns<T>> d;
  constexpr size_t kSums = std::min<size_t>(8, kSumColumns<T> / hn::MaxLanes(d));
#endif
  const int64_t columns = static_cast<int64_t>(kSums * hn::Lanes(d));
  for (int64_t first = 0; first < kSumColumns<T>; first += columns)
    add_in_one_pass(d, add, first, n, column, std::make_index_sequence<kSums>());
}
template <int64_t width> HWY_INLINE double sum_as_tree(double* terms) {
  for (int64_t j = 0; j < width / 2; ++j) terms[j] += terms[j + width / 2];
  if constexpr (width == 2)
    return terms[0];
  else
    return sum_as_tree<width / 2>(terms);
}
template <class T> HWY_INLINE double sum_of_columns(const T* column) {
  double sum[kSumColumns<T>];
  for (int64_t j = 0; j < kSumColumns<T>; ++j) sum[j] = double{column[j]};
  return sum_as_tree<kSumColumns<T>>(sum);
}

// The sum of terms[0, n), floats or doubles; n is a multiple of the columns of double.
template <class Term> struct AddTerm {
  const Term* terms;
  template <class D, class V> HWY_INLINE V operator()(D d, int64_t i, V sum) const {
    return hn::Add(sum, load_as(d, terms + i));
  }
};
template <class Term> double sum_tile(const Term* terms, int64_t n) {
  HWY_ALIGN double column[kSumColumns<double>] = {};
  add_to_columns(AddTerm<Term>{terms}, n, column);
  return sum_of_columns(column);
}

// The same for any n up to kTile; zeros are written behind the terms.
template <class Term> double sum_padded_tile(Term* terms, int64_t n) {
  const int64_t full = (n + kSumColumns<double> - 1) / kSumColumns<double> * kSumColumns<double>;
  std::fill(terms + n, terms + full, Term{0});
  return sum_tile(terms, full);
}

// The sums of `lists` lists of `count` terms each.  tile(begin, n) answers the sums of n <= kTile terms of each list,
// from number `begin` on.  What a sum is does not depend on the other lists, nor on how many tiles a thread takes at a
// time; 0: as many as suit terms that cost little.
template <int lists, class Tile>
std::array<double, lists> sum_tiles(int64_t count, const Tile& tile, int64_t tiles_at_once = 0) {
  std::array<double, lists> result{};
  if (count == 0) return result;
  if (count <= kTile) {
    result = tile(0, count);
    for (double& sum : result) sum += 0.0;  // as all others: not -0
    return result;
  }
  const int64_t tiles = (count - 1) / kTile + 1, per_group = chunks_per_group(count) * kTilesOfChunk;
  const auto each_tile = [&](int64_t begin, int64_t end, const auto& add) {
    for (int64_t at = begin; at < end; ++at) {
      const std::array<double, lists> parts = tile(at * kTile, std::min(kTile, count - at * kTile));
      for (int list = 0; list < lists; ++list) add(list, at, parts[static_cast<size_t>(list)]);
    }
  };
  constexpr int64_t kFew = 1024;
  if (tiles_at_once == 0) tiles_at_once = tiles > per_group ? per_group / 4 : tiles;
  if (tiles > tiles_at_once && tiles <= kFew) {  // groups would be few and uneven for threads: smaller parts, then they
    double sums[lists][kFew];
    parallel_for(tiles, tiles_at_once, [&](int64_t begin, int64_t end) {
      each_tile(begin, end, [&](int list, int64_t at, double part) { sums[list][at] = part; });
    });
    for (int list = 0; list < lists; ++list) {
      SumOfTiles sum(count);
      for (int64_t at = 0; at < tiles; ++at) sum.add(sums[list][at]);
      result[static_cast<size_t>(list)] = sum.take();
    }
    return result;
  }
  double sums[lists][kSumGroups];
  parallel_for(tiles, per_group, [&](int64_t begin, int64_t end) {
    SumOfSums<> sum[lists];
    each_tile(begin, end, [&](int list, int64_t, double part) { sum[list].add(part); });
    for (int list = 0; list < lists; ++list) sums[list][begin / per_group] = sum[list].take();
  });
  for (int list = 0; list < lists; ++list) {
    ColumnedSum sum;
    for (int64_t group = 0; group * per_group < tiles; ++group) sum.add(sums[list][group]);
    result[static_cast<size_t>(list)] = sum.take();
  }
  return result;
}

// The same, where fill(begin, n, terms) writes the terms of each list to terms[list].
template <int lists, class Fill>
std::array<double, lists> sum_term_lists(int64_t count, const Fill& fill, int64_t tiles_at_once = 0) {
  const auto tile = [&](int64_t begin, int64_t n) {
    HWY_ALIGN double terms[lists][kTile];
    std::array<double, lists> sums;
    fill(begin, n, terms);
    for (int list = 0; list < lists; ++list) sums[static_cast<size_t>(list)] = sum_padded_tile(terms[list], n);
    return sums;
  };
  return sum_tiles<lists>(count, tile, tiles_at_once);
}

// The sum of one list, whose terms fill writes to `terms`.
template <class Fill> double sum_terms(int64_t count, const Fill& fill) {
  const auto fill_list = [&](int64_t begin, int64_t n, double(*terms)[kTile]) { fill(begin, n, terms[0]); };
  return sum_term_lists<1>(count, fill_list)[0];
}

// The sum of one list, of whose tiles tile(begin, n) answers the sum.
template <class Tile> double sum_tiles(int64_t count, const Tile& tile) {
  const auto tile_of_list = [&](int64_t begin, int64_t n) { return std::array<double, 1>{tile(begin, n)}; };
  return sum_tiles<1>(count, tile_of_list)[0];
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

// The terms that f adds of N inputs.
template <class F, class Element, int N> struct AddInputs {
  F f;
  std::array<const Element*, N> in;

  template <class D, class V> HWY_INLINE V operator()(D d, int64_t i, V sum) const {
    return add(d, i, sum, std::make_index_sequence<N>());
  }
  template <class D, class V, size_t... k> HWY_INLINE V add(D d, int64_t i, V sum, std::index_sequence<k...>) const {
    return f(d, sum, load_as(d, in[k] + i)...);
  }
};

// The sum of f's terms of n points, added in T.
template <class T, class Element, size_t N, class F>
HWY_NOINLINE double sum_inputs(const F& f, int64_t n, std::array<const Element*, N> in) {
  using Add = AddInputs<F, Element, N>;
  HWY_ALIGN T column[kSumColumns<T>] = {};
  const int64_t full = n / kSumColumns<T> * kSumColumns<T>;
  add_to_columns(Add{f, in}, full, column);
  if (full < n) {
    HWY_ALIGN Element rest[N][kSumColumns<T>] = {};
    for (size_t k = 0; k < N; ++k) {
      std::copy_n(in[k] + full, n - full, rest[k]);
      in[k] = rest[k];
    }
    add_to_columns(Add{f, in}, kSumColumns<T>, column);
  }
  return sum_of_columns(column);
}

// The same of n <= kTile points of the iteration, from number `begin` on: where they are if they are neighbours of one
// dtype, or as floats in a buffer.
template <class T, int N, class F>
double sum_points(const Iteration<N>& points, void* const* data, int64_t begin, int64_t n, const F& f) {
  const int last = points.rank - 1;
  bool neighbours = true;
  for (int k = 0; k < N; ++k)
    neighbours &= points.dtype[k] == points.dtype[0] && (last < 0 || points.stride[k][last] == 1);
  double sum = 0;
  bool done = false;
  if (neighbours)
    for_each_row(points, begin, n, [&](const int64_t* element, int64_t count) {
      if (count < n) return;
      visit(Dtypes<float, float16, bfloat16>{}, points.dtype[0], [&]<class Element> {
        if constexpr (std::is_same_v<Element, float> || kInRegisters<T, Element>) {
          std::array<const Element*, N> in;
          for (size_t k = 0; k < N; ++k) in[k] = static_cast<const Element*>(data[k]) + element[k];
          sum = sum_inputs<T>(f, n, in);
          done = true;
        }
      });
    });
  if (done) return sum;
  HWY_ALIGN float tile[N][kTile];
  std::array<const float*, N> in;
  for (size_t k = 0; k < N; ++k) {
    load_points(points, static_cast<int>(k), data[k], begin, n, tile[k]);
    in[k] = tile[k];
  }
  return sum_inputs<T>(f, n, in);
}

template <class T, int N, class F> double sum(const Iteration<N>& points, void* const* data, const F& f) {
  return sum_tiles(points.points(), [&](int64_t begin, int64_t n) {
    const double part = sum_points<T>(points, data, begin, n, f);
    return std::is_same_v<T, double> || std::isfinite(part) ? part : sum_points<double>(points, data, begin, n, f);
  });
}

// Stores one number as an element, rounded to the dtype `rounded` first.
inline void store_number(double v, DataType rounded, DataType dtype, void* to) {
  visit(Dtypes<float, float16, bfloat16>{}, rounded, [&]<class Element> { v = widen<double>(narrow<Element>(v)); });
  const auto store = [&]<class Element> { *static_cast<Element*>(to) = narrow<Element>(v); };
  visit(Dtypes<float, float16, bfloat16, double>{}, dtype, store) || visit(Complexes{}, dtype, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
