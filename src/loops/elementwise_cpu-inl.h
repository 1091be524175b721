// SPDX-License-Identifier: MIT
// Runs a vector function at every point of an Iteration.  Compiled once per SIMD target.
//
//   elementwise<T>(points, data, rounded, f)
//
// computes out = f(d, in1, ..., in_{N-1}) in T (float or double).  f is a functor that holds scalars only (vectors have
// no size on SVE) with
//
//   template <class D, class V> V operator()(D d, V a, V b) const;
//
// whose result at a point depends on the operands at that point alone; it may be called with zeros for points that are
// not there.  A functor may also have
//
//   static constexpr bool kHasQuick = true;
//   template <class D, class V> V quick(D d, hn::Mask<D>& rare, V a, V b) const;
//
// which sets `rare` where its result does not count and operator() must be asked; elsewhere it gives operator()'s bits.
//
// The result is rounded once, to the dtype `rounded`, and then cast to the output's dtype.  Inputs are
// FLOAT, FLOAT16, BF16 or DOUBLE, the output one of these or complex.  An input may be the very view the output is; any
// other overlap with the output is the caller's to resolve.
#if defined(DESCEND_LOOPS_ELEMENTWISE_CPU_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DESCEND_LOOPS_ELEMENTWISE_CPU_INL_H
#undef DESCEND_LOOPS_ELEMENTWISE_CPU_INL_H
#else
#define DESCEND_LOOPS_ELEMENTWISE_CPU_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "src/backends/cpu/parallel.h"
#include "src/loops/boxes.h"
#include "src/loops/convert_cpu-inl.h"
#include "src/loops/move.h"
#include "src/loops/runs.h"
#include "src/tensor/iteration.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// An input whose point i is at address[i & advance]: advance is -1, or 0 for a constant one, of which there are as many
// copies as two vectors have lanes.
template <class Element> struct Input {
  const Element* address;
  int64_t advance;
};

template <class F>
concept HasQuick = requires {
  F::kHasQuick;
};

// Two vectors of points, on their own: a call inside the loops below would cost them their registers.
template <class T, class Element, class F, class... Inputs>
HWY_NOINLINE void run_two(const F& f, int64_t i, Element* out, const Inputs... inputs) {
  const hn::ScalableTag<T> d;
  const auto a = f(d, load_of_two<0>(d, inputs.address + (i & inputs.advance))...);
  const auto b = f(d, load_of_two<1>(d, inputs.address + (i & inputs.advance))...);
  store_two(a, b, d, out + i);
}

// out = f(inputs) at points [0, n).  The last points that do not fill a vector go through padded copies: the functor
// sees a full vector like any other, and nothing is read or written past the operands.
//
// The inputs are a parameter pack, and the functor a copy, so that all of them stay in registers.
template <class T, class Element, class F, size_t... k, class... Inputs>
HWY_NOINLINE void run_inputs(const F f, int64_t n, Element* out, std::index_sequence<k...>, const Inputs... inputs) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if constexpr (HasQuick<F>) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      for (; i + 2 * lanes <= n; i += 2 * lanes) {
        auto rare = hn::FirstN(d, 0), also_rare = rare;
        const auto a = f.quick(d, rare, load_of_two<0>(d, inputs.address + (i & inputs.advance))...);
        const auto b = f.quick(d, also_rare, load_of_two<1>(d, inputs.address + (i & inputs.advance))...);
        if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Or(rare, also_rare)))) break;
        store_two(a, b, d, out + i);
      }
      if (i + 2 * lanes > n) break;
      run_two<T>(f, i, out, inputs...);
    }
  } else {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      const auto a = f(d, load_of_two<0>(d, inputs.address + (i & inputs.advance))...);
      const auto b = f(d, load_of_two<1>(d, inputs.address + (i & inputs.advance))...);
      store_two(a, b, d, out + i);
    }
  }
  if (i + lanes <= n) {
    store_as(f(d, load_as(d, inputs.address + (i & inputs.advance))...), d, out + i);
    i += lanes;
  }
  if (i == n) return;

  HWY_ALIGN Element padded[sizeof...(k)][hn::MaxLanes(d)] = {};
  const size_t bytes = static_cast<size_t>(n - i) * sizeof(Element);
  (std::memcpy(padded[k], inputs.address + (i & inputs.advance), bytes), ...);
  store_as(f(d, load_as(d, padded[k])...), d, padded[0]);
  std::memcpy(out + i, padded[0], bytes);
}

// Operand k's point i is at address[k][i & advance[k]]; operand 0 is the output.
template <class Element, int N> struct Operands {
  Element* address[N];
  int64_t advance[N];
};
template <class T, class Element, int N, class F>
HWY_INLINE void run_contiguous(const F& f, const Operands<Element, N>& run, int64_t begin, int64_t end) {
  [&]<size_t... k>(std::index_sequence<k...> inputs) HWY_ATTR {
    run_inputs<T>(f, end - begin, run.address[0] + begin, inputs,
                  Input<Element>{run.address[k + 1] + (begin & run.advance[k + 1]), run.advance[k + 1]}...);
  }
  (std::make_index_sequence<N - 1>());
}

// All operands are Element in memory, and along the innermost dimension neighbours or one element.
template <class T, class Element, int N, class F>
void elementwise_in_registers(const Iteration<N>& points, void* const* data, const F& f) {
  const int64_t n = points.points();
  bool is_line = points.rank <= 1;
  for (int k = 0; k < N; ++k) is_line &= points.contiguous(k);
  if (is_line && n <= kChunk) {  // a small call: its time is the way to here
    Operands<Element, N> run;
    for (int k = 0; k < N; ++k) {
      run.address[k] = static_cast<Element*>(data[k]);
      run.advance[k] = -1;
    }
    return run_contiguous<T>(f, run, 0, n);
  }
  const int last = points.rank - 1;
  const auto run_rows = [&](int64_t begin, int64_t end) {
    constexpr size_t kCopies = 2 * hn::MaxLanes(hn::ScalableTag<T>());
    Element copies[N][kCopies];
    for_each_row(points, begin, end - begin, [&](const int64_t* element, int64_t count) {
      Operands<Element, N> run;
      for (int k = 0; k < N; ++k) {
        run.address[k] = static_cast<Element*>(data[k]) + element[k];
        run.advance[k] = -1;
        if (last < 0 || points.stride[k][last] != 0) continue;
        std::fill_n(copies[k], kCopies, *run.address[k]);
        run.address[k] = copies[k];
        run.advance[k] = 0;
      }
      run_contiguous<T>(f, run, 0, count);
    });
  };
  if (n <= kChunk) return run_rows(0, n);
  // A few large parts would be uneven, and many small ones interrupt the writing too often.
  parallel_for(n, n < 16 * kChunk ? kChunk / 4 : kChunk, run_rows);
}

// Everything else: box by box, each operand as contiguous Elements, in place where it is stored so and in a buffer
// otherwise.  Element is what all operands are in memory, or T.
template <class T, class Element, int N> class BoxLoop {
 public:
  BoxLoop(const Iteration<N>& points, void* const* data, DataType rounded)
      : points_(points), data_(data), boxes_(cut(points, kMost)), store_(storer<T>(points.dtype[0])) {
    for (int k = 0; k < N; ++k) {
      size_[k] = static_cast<int64_t>(size_of(points.dtype[k]));
      load_[k] = loader<T>(points.dtype[k]);
    }
    if (rounded != points.dtype[0]) round_ = rounder<T>(rounded);
  }

  int64_t count() const { return boxes_.count; }

  template <class F> void operator()(const F& f, int64_t begin, int64_t end) const {
    HWY_ALIGN Element tile[N][kMost];
    HWY_ALIGN std::byte raw[kConverts ? kMost * sizeof(complex128) : 1];
    for (Box box(boxes_, points_, begin); begin < end; ++begin, box.next(boxes_, points_)) {
      if (box.points == 0) continue;
      const int row = row_dimension(box);
      const int64_t rows = row < 0 ? 1 : box.extent[row], width = box.points / rows;
      Axes axes[N];
      Operands<Element, N> run;
      bool direct[N];
      int64_t pitch[N];
      std::byte* at[N];
      for (int k = 0; k < N; ++k) {
        int64_t offset = 0;
        for (int i = 0; i < boxes_.rank; ++i) offset += box.first[i] * points_.stride[k][i];
        at[k] = static_cast<std::byte*>(data_[k]) + offset * size_[k];
        axes[k] = axes_of(boxes_.rank, box.extent, points_.stride[k]);
        direct[k] = in_place(k) && (row < 0 ? axes[k].contiguous() : has_rows(k));
        const bool constant = k > 0 && axes[k].constant() && !direct[k];
        run.address[k] = direct[k] ? reinterpret_cast<Element*>(at[k]) : tile[k];
        run.advance[k] = constant ? 0 : -1;
        pitch[k] = constant ? 0 : direct[k] && row >= 0 ? points_.stride[k][row] : width;
        if (k > 0 && !direct[k]) load_box(k, axes[k], at[k], box.points, raw, tile[k]);
      }
      for (int64_t i = 0; i < rows; ++i) {
        for (int k = 1; k < N; ++k)
          if (direct[k] && i + 1 < rows) prefetch_run(run.address[k] + pitch[k], width);
        run_contiguous<T>(f, run, 0, width);
        for (int k = 0; k < N; ++k) run.address[k] += pitch[k];
      }
      if (!direct[0]) store_box(axes[0], tile[0], box.points, raw, at[0]);
    }
  }

 private:
  static constexpr int64_t kMost = kLargeBox / sizeof(Element);  // points of a box
  static constexpr bool kConverts = std::is_same_v<T, Element>;  // operands that are something else

  bool in_place(int k) const { return points_.dtype[k] == dtype_of<Element> && (k > 0 || round_ == nullptr); }
  bool has_rows(int k) const { return points_.stride[k][boxes_.rank - 1] == 1; }

  // The dimension that a box has rows along, if it is best taken row by row: some operand can be used in place then.
  // Otherwise -1.
  int row_dimension(const Box& box) const {
    constexpr int64_t kShortest = 32;
    const int last = boxes_.rank - 1;
    if (last < 1 || box.extent[last] < kShortest) return -1;
    int row = -1;
    for (int i = 0; i < last; ++i) {
      if (box.extent[i] == 1) continue;
      if (row >= 0) return -1;
      row = i;
    }
    for (int k = 0; row >= 0 && k < N; ++k)
      if (in_place(k) && has_rows(k) && points_.stride[k][row] != box.extent[last]) return row;
    return -1;
  }

  void load_box(int k, const Axes& axes, const std::byte* at, int64_t n, std::byte* raw, Element* tile) const {
    if (axes.constant()) n = 1;
    if (points_.dtype[k] == dtype_of<Element>) {
      n == 1 ? void(std::memcpy(tile, at, sizeof(Element))) : gather(axes, sizeof(Element), at, tile);
    } else if constexpr (kConverts) {
      if (n > 1 && !axes.contiguous()) {
        gather(axes, size_[k], at, raw);
        at = raw;
      }
      load_[k](at, n, tile);
    }
    if (n == 1) std::fill_n(tile + 1, 2 * hn::MaxLanes(hn::ScalableTag<T>()) - 1, tile[0]);
  }
  void store_box(const Axes& axes, Element* tile, int64_t n, std::byte* raw, std::byte* at) const {
    if constexpr (kConverts) {
      if (round_ != nullptr) round_(tile, n);
      if (axes.contiguous()) return store_(tile, n, at);
      if (points_.dtype[0] != dtype_of<T>) {
        store_(tile, n, raw);
        return scatter(axes, size_[0], raw, at);
      }
    }
    scatter(axes, sizeof(Element), tile, at);
  }

  const Iteration<N>& points_;
  void* const* data_;
  Boxes boxes_;
  int64_t size_[N];
  LoadRun<T> load_[N];
  StoreRun<T> store_;
  RoundRun<T> round_ = nullptr;
};
template <class T, class Element, int N, class F>
void elementwise_in_boxes(const Iteration<N>& points, void* const* data, DataType rounded, const F& f) {
  const BoxLoop<T, Element, N> loop(points, data, rounded);
  const int64_t boxes = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, points.points() / loop.count()));
  if (loop.count() <= boxes) return loop(f, 0, loop.count());
  parallel_for(loop.count(), boxes, [&](int64_t begin, int64_t end) { loop(f, begin, end); });
}

template <class T, int N, class F>
void elementwise(const Iteration<N>& points, void* const* data, DataType rounded, const F& f) {
  static_assert(N >= 2 && N <= 5);
  if (points.rank == 1 && points.extent[0] == 0) return;
  const int last = points.rank - 1;
  bool one_dtype = true, in_registers = points.rank <= 1 || points.extent[last] >= kTile;
  for (int k = 0; k < N; ++k) {
    const int64_t step = last >= 0 ? points.stride[k][last] : 1;
    one_dtype &= points.dtype[k] == rounded;
    in_registers &= step == 1 || (step == 0 && k > 0);
  }
  // Without a call between: compilers inline no body of visit, which is of no SIMD target.
  if (one_dtype && in_registers && rounded == dtype_of<T>) return elementwise_in_registers<T, T>(points, data, f);
  bool done = false;
  if (one_dtype)
    visit(Dtypes<float, float16, bfloat16, double>{}, rounded, [&]<class Element> {
      if constexpr (kInRegisters<T, Element>) {
        in_registers ? elementwise_in_registers<T, Element>(points, data, f)
                     : elementwise_in_boxes<T, Element>(points, data, rounded, f);
        done = true;
      }
    });
  if (!done) elementwise_in_boxes<T, T>(points, data, rounded, f);
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();
#endif
