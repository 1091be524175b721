// SPDX-License-Identifier: MIT
// The gradient of the nearest upsampling on the CPU.
//
// An element is the sum of its box, one term after the other in the order depth, height, width.  Vectors hold different
// elements, along the width or the channels, so that every path below adds the same terms in the same order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/upsample_nearest3d/upsample_nearest3d_backward_cpu.cc"
#include <hwy/foreach_target.h>

#include <utility>

#include "ops/upsample_nearest3d/upsample_nearest3d_cpu-inl.h"
#include "src/loops/convert_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// What an input index owns on one axis of gradOut, and how far apart that lies.
struct Owned {
  int64_t first, count, stride;
};

// The sum so far of each lane, and of the k neighbours from lane * k on.
template <int k, class D, class Element>
HWY_INLINE hn::Vec<D> add_neighbours(D d, hn::Vec<D> sum, const Element* from) {
#if HWY_TARGET == HWY_SCALAR
  for (int j = 0; j < k; ++j) sum = hn::Add(sum, load_as(d, from + j));
  return sum;
#else
  const size_t lanes = hn::Lanes(d);
  const auto a = load_as(d, from);
  if constexpr (k == 1) return hn::Add(sum, a);
  const auto b = load_as(d, from + lanes);
  const auto even = hn::ConcatEven(d, b, a), odd = hn::ConcatOdd(d, b, a);
  if constexpr (k == 2) return hn::Add(hn::Add(sum, even), odd);
  const auto c = load_as(d, from + 2 * lanes), e = load_as(d, from + 3 * lanes);
  const auto next_even = hn::ConcatEven(d, e, c), next_odd = hn::ConcatOdd(d, e, c);
  sum = hn::Add(sum, hn::ConcatEven(d, next_even, even));
  sum = hn::Add(sum, hn::ConcatEven(d, next_odd, odd));
  sum = hn::Add(sum, hn::ConcatOdd(d, next_even, even));
  return hn::Add(sum, hn::ConcatOdd(d, next_odd, odd));
#endif
}

// Elements to[i, n), as far as they fill vectors of D: element i is the sum of the k neighbours from k * i on, on each
// row.  Answers the first that is left.
template <int k, class D, class Element>
HWY_INLINE int64_t sum_neighbour_vectors(D d, const Element* from, Owned depth, Owned height, int64_t i, int64_t n,
                                         Element* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        sum = add_neighbours<k>(d, sum, from + z * depth.stride + y * height.stride + k * i);
    store_as(sum, d, to + i);
  }
  return i;
}
template <class T, int k, class Element>
HWY_NOINLINE void sum_neighbours(const Element* from, Owned depth, Owned height, int64_t n, Element* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {  // two sums at a time do not wait for each other
    auto a = hn::Zero(d), b = a;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y) {
        const Element* at = from + z * depth.stride + y * height.stride + k * i;
        a = add_neighbours<k>(d, a, at);
        b = add_neighbours<k>(d, b, at + k * lanes);
      }
    store_two(a, b, d, to + i);
  }
  i = sum_neighbour_vectors<k>(d, from, depth, height, i, n, to);
#if HWY_TARGET != HWY_SVE_256  // where Highway 1.0.3's ConcatEven and ConcatOdd take any vector for a full one
  i = sum_neighbour_vectors<k>(hn::CappedTag<T, 16 / sizeof(T)>(), from, depth, height, i, n, to);
#endif
  const hn::CappedTag<T, 1> one;  // loads a half type faster than a scalar does
  for (; i < n; ++i) {
    auto sum = hn::Zero(one);
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int j = 0; j < k; ++j)
          sum = hn::Add(sum, load_as(one, from + z * depth.stride + y * height.stride + k * i + j));
    store_as(sum, one, to + i);
  }
}

// Elements to[i, n), as far as they fill vectors of D, of channels that lie next to each other in gradOut.
template <class D, class Element>
HWY_INLINE int64_t sum_channel_vectors(D d, const Element* from, Owned depth, Owned height, Owned width, int64_t i,
                                       int64_t n, Element* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x)
          sum = hn::Add(sum, load_as(d, from + z * depth.stride + y * height.stride + x * width.stride + i));
    store_as(sum, d, to + i);
  }
  return i;
}
template <class T, class Element>
HWY_NOINLINE void sum_channels(const Element* from, Owned depth, Owned height, Owned width, int64_t n, Element* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x) {
          const Element* at = from + z * depth.stride + y * height.stride + x * width.stride + i;
          a = hn::Add(a, load_of_two<0>(d, at));
          b = hn::Add(b, load_of_two<1>(d, at));
          c = hn::Add(c, load_of_two<0>(d, at + 2 * lanes));
          e = hn::Add(e, load_of_two<1>(d, at + 2 * lanes));
        }
    store_two(a, b, d, to + i);
    store_two(c, e, d, to + i + 2 * lanes);
  }
  i = sum_channel_vectors(d, from, depth, height, width, i, n, to);
  i = sum_channel_vectors(hn::CappedTag<T, 16 / sizeof(T)>(), from, depth, height, width, i, n, to);
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y)
        for (int64_t x = 0; x < width.count; ++x)
          sum += widen<T>(from[z * depth.stride + y * height.stride + x * width.stride + i]);
    to[i] = narrow<Element>(sum);
  }
}

// How vectors of sums find their terms where a box has one or two: in the two vectors that begin with the first sum's
// first term.  Of each sum's first and second term, the bytes of it in the one vector and in the other; Highway answers
// 0 for bytes that are in neither.
template <class T> struct Places {
  static constexpr int64_t kLanes = 16 / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kSpan = 2 * kLanes;
  HWY_ALIGN uint8_t byte[2][2][16];

  // Of sums whose terms are [edge[i], edge[i + 1]).
  void set(const int64_t* edge) {
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t vector = 0; vector < 2; ++vector)
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t lane = i / static_cast<int64_t>(sizeof(T)), term = edge[lane] + j;
          const int64_t at = term - edge[0] - vector * kLanes;
          const bool there = term < edge[lane + 1] && 0 <= at && at < kLanes;
          byte[j][vector][i] = there ? static_cast<uint8_t>(at * sizeof(T) + i % sizeof(T)) : 0x80;
        }
  }
};

#if HWY_TARGET != HWY_SCALAR
// The sums of a vector's boxes; from is where the first one's terms begin.
template <class T, class Element>
HWY_INLINE void sum_places(const Element* from, Owned depth, Owned height, const Places<T>& places, T* sum) {
  const hn::Full128<T> d;
  const hn::Full128<uint8_t> bytes;
  const auto first_a = hn::Load(bytes, places.byte[0][0]), first_b = hn::Load(bytes, places.byte[0][1]);
  const auto second_a = hn::Load(bytes, places.byte[1][0]), second_b = hn::Load(bytes, places.byte[1][1]);
  auto s = hn::Zero(d);
  for (int64_t z = 0; z < depth.count; ++z)
    for (int64_t y = 0; y < height.count; ++y) {
      const Element* at = from + z * depth.stride + y * height.stride;
      const auto a = hn::BitCast(bytes, load_as(d, at)), b = hn::BitCast(bytes, load_as(d, at + Places<T>::kLanes));
      const auto first = hn::Or(hn::TableLookupBytesOr0(a, first_a), hn::TableLookupBytesOr0(b, first_b));
      const auto second = hn::Or(hn::TableLookupBytesOr0(a, second_a), hn::TableLookupBytesOr0(b, second_b));
      s = hn::Add(hn::Add(s, hn::BitCast(d, first)), hn::BitCast(d, second));
    }
  hn::Store(s, d, sum);
}
// The first n sums of a row, n a multiple of the vector's.
template <class T, class Element>
HWY_NOINLINE void sum_pairs(const Element* row, Owned depth, Owned height, const Places<T>* places, const int64_t* edge,
                            int64_t n, T* sum) {
  for (int64_t i = 0; i < n; i += Places<T>::kLanes)
    sum_places(row + edge[i], depth, height, places[i / Places<T>::kLanes], sum + i);
}
#endif

inline constexpr int64_t kRows = 8;  // of gradOut, that are added at a time

// What a thread works in.
template <class T, class Element> struct Buffers {
  int64_t table_first = -1, table_width = 0;
  int64_t widest = 0;       // box of the row
  int64_t edge[kTile + 1];  // element i of the row owns [edge[i], edge[i + 1]) of gradOut's width
  int64_t in_pairs = 0;     // the first elements, whose terms are found by these
  Places<T> places[kTile / Places<T>::kLanes];
  HWY_ALIGN T sum[kTile];
  HWY_ALIGN T terms[kRows][kTile];
  HWY_ALIGN Element raw[kTile];  // terms before they are converted, results before they are scattered

  // Terms [first, first + count) of a row, at most kTile: where they are, or in `to`.
  const T* load(const Element* row, int64_t stride, int64_t first, int64_t count, T* to) {
    const Element* source = row + first * stride;
    if (stride != 1) {
      gather(axes_of(1, &count, &stride), sizeof(Element), source, raw);
      source = raw;
    }
    if constexpr (std::is_same_v<T, Element>) {
      if (stride == 1) return source;
    }
    load_run<T, Element>(source, count, to);
    return to;
  }
};

// Adds to sum[k] the terms edge[k] to edge[k + 1] of some rows, of each `most` at most: terms[0] is the first row's
// term edge[0], and the others lie so far from it.  There is no branch on how many there are: what is not there is
// added as 0, which changes no sum, for none is -0.
template <int most, class T>
HWY_NOINLINE void add_narrow(const T* terms, const int64_t* distance, int64_t rows, const int64_t* edge, int64_t n,
                             T* sum) {
  static constexpr T kNone = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t begin = edge[k] - edge[0], count = edge[k + 1] - edge[k];
    const T* at[most];
    int64_t advance[most];
    for (int j = 0; j < most; ++j) {
      at[j] = j < count ? terms + begin + j : &kNone;
      advance[j] = j < count ? -1 : 0;
    }
    T s = sum[k];
    for (int64_t r = 0; r < rows; ++r)
      for (int j = 0; j < most; ++j) s += at[j][distance[r] & advance[j]];
    sum[k] = s;
  }
}
template <int most, class T, class Element>
void add_rows(const Element* from, const int64_t* row, int64_t rows, int64_t stride, int64_t i, int64_t n,
              Buffers<T, Element>& b) {
  constexpr int64_t kStep = kTile / most;
  for (; i < n; i += kStep) {
    const int64_t end = std::min(i + kStep, n), first = b.edge[i], count = b.edge[end] - first;
    if (count == 0) continue;
    const T* const terms = b.load(from + row[0], stride, first, count, b.terms[0]);
    int64_t distance[kRows] = {0};
    for (int64_t r = 1; r < rows; ++r) distance[r] = b.load(from + row[r], stride, first, count, b.terms[r]) - terms;
    add_narrow<most>(terms, distance, rows, b.edge + i, end - i, b.sum + i);
  }
}

// Of one row, with boxes of any width.
template <class T, class Element>
HWY_NOINLINE void add_wide(const Element* row, int64_t stride, int64_t n, Buffers<T, Element>& b) {
  int64_t i = 0;
  for (int64_t first = b.edge[0]; first < b.edge[n]; first += kTile) {
    const int64_t count = std::min(kTile, b.edge[n] - first);
    const T* const terms = b.load(row, stride, first, count, b.terms[0]);
    for (int64_t j = 0; j < count; ++i) {
      const int64_t stop = std::min(b.edge[i + 1] - first, count);
      T sum = b.sum[i];
      for (; j < stop; ++j) sum += terms[j];
      b.sum[i] = sum;
      if (stop == count) break;  // more of its terms may follow
    }
  }
}

// Adds to sums [i, n) the terms of rows that lie row[r] after `from`.
template <class T, class Element>
void add_rows(const Element* from, const int64_t* row, int64_t rows, int64_t stride, int64_t i, int64_t n,
              Buffers<T, Element>& b) {
  if (b.widest <= 1) return add_rows<1>(from, row, rows, stride, i, n, b);
  if (b.widest == 2) return add_rows<2>(from, row, rows, stride, i, n, b);
  if (b.widest == 3) return add_rows<3>(from, row, rows, stride, i, n, b);
  for (int64_t r = 0; r < rows; ++r) add_wide(from + row[r], stride, n, b);
}

template <class T, class Element> class Gradient {
 public:
  Gradient(const UpsampleNearest3dArgs& a, void* const* data)
      : a_(a), to_(static_cast<Element*>(data[0])), from_(static_cast<const Element*>(data[1])) {}

  void operator()() const {
    const bool along_channels = a_.output.stride[kChannel] == 1 && upsample_channels_inside(a_.output);
    const int64_t channels = along_channels ? std::min<int64_t>(a_.input.size[kChannel], kTile / 2) : 1;
    const UpsampleBlocks blocks(a_.input, {.channels = channels,
                                           .height = std::max<int64_t>(1, kTile / (channels * a_.input.size[kWidth])),
                                           .width = kTile / channels});
    const int step = neighbours();
    blocks.in_parallel(upsample_larger(a_), [&](int64_t begin, int64_t end) {
      Buffers<T, Element> buffers;
      blocks.for_each(begin, end, [&](const UpsampleBlock& block) {
        const Owned depth = owned(kDepth, block.first[kDepth]);
        int64_t next = first_owned(kHeight, block.first[kHeight]);
        for (UpsampleBlock one = block; one.height > 0; --one.height) {
          const int64_t first = std::exchange(next, first_owned(kHeight, one.first[kHeight] + 1));
          const Owned height = between(kHeight, first, next);
          along_channels ? sum_along_channels(one, depth, height, buffers) : row(one, depth, height, step, buffers);
          ++one.first[kHeight];
        }
      });
    });
  }

 private:
  int64_t first_owned(int axis, int64_t i) const {
    return upsample_first_owned(i, a_.factor[axis], a_.output.size[axis]);
  }
  Owned between(int axis, int64_t first, int64_t end) const {
    return {end > first ? first : 0, end - first, a_.output.stride[axis]};  // nothing may begin behind the last
  }
  Owned owned(int axis, int64_t i) const { return between(axis, first_owned(axis, i), first_owned(axis, i + 1)); }
  // How many neighbours each element of a row sums: 1, 2 or 4 where it is the same number for all, otherwise 0.
  int neighbours() const {
    const float factor = a_.factor[kWidth];
    if (a_.output.stride[kWidth] != 1 || (factor != 1 && factor != 2 && factor != 4)) return 0;
    // Up to here float counts exactly.
    const int64_t width = a_.input.size[kWidth], step = static_cast<int64_t>(factor);
    return width <= (1 << 22) && width * step <= a_.output.size[kWidth] ? static_cast<int>(step) : 0;
  }
  const Element* source(const UpsampleBlock& b, const Owned& depth, const Owned& height, int64_t w) const {
    return from_ + upsample_offset(a_.output, b.first[kBatch], b.first[kChannel], depth.first, height.first, w);
  }
  Element* target(const UpsampleBlock& b) const {
    return to_ + upsample_offset(a_.input, b.first[kBatch], b.first[kChannel], b.first[kDepth], b.first[kHeight],
                                 b.first[kWidth]);
  }

  void sum_along_channels(const UpsampleBlock& b, const Owned& depth, const Owned& height,
                          Buffers<T, Element>& buffers) const {
    const bool direct = a_.input.stride[kChannel] == 1;
    Element* const to = target(b);
    for (int64_t w = 0; w < b.width; ++w) {
      const Owned width = owned(kWidth, b.first[kWidth] + w);
      sum_channels<T>(source(b, depth, height, width.first), depth, height, width, b.channels,
                      direct ? to + w * a_.input.stride[kWidth] : buffers.raw + w * b.channels);
    }
    if (direct) return;
    const int64_t extent[] = {b.width, b.channels}, stride[] = {a_.input.stride[kWidth], a_.input.stride[kChannel]};
    scatter(axes_of(2, extent, stride), sizeof(Element), buffers.raw, to);
  }

  void row(const UpsampleBlock& b, const Owned& depth, const Owned& height, int step,
           Buffers<T, Element>& buffers) const {
    const int64_t stride = a_.input.stride[kWidth];
    const bool direct = stride == 1;
    Element* const to = target(b);
    Element* const sums = direct ? to : buffers.raw;
    if (step == 0)
      sum_row(b, depth, height, sums, buffers);
    else if (step == 1)
      sum_neighbours<T, 1>(source(b, depth, height, b.first[kWidth]), depth, height, b.width, sums);
    else if (step == 2)
      sum_neighbours<T, 2>(source(b, depth, height, 2 * b.first[kWidth]), depth, height, b.width, sums);
    else
      sum_neighbours<T, 4>(source(b, depth, height, 4 * b.first[kWidth]), depth, height, b.width, sums);
    if (!direct) scatter(axes_of(1, &b.width, &stride), sizeof(Element), buffers.raw, to);
  }

  // Boxes of any width.
  void sum_row(const UpsampleBlock& b, const Owned& depth, const Owned& height, Element* to,
               Buffers<T, Element>& buffers) const {
    const int64_t first = b.first[kWidth];
    if (buffers.table_first != first || buffers.table_width != b.width) {
      buffers.table_first = first;
      buffers.table_width = b.width;
      buffers.widest = 0;
      for (int64_t i = 0; i <= b.width; ++i) {
        buffers.edge[i] = upsample_first_owned(first + i, a_.factor[kWidth], a_.output.size[kWidth]);
        if (i > 0) buffers.widest = std::max(buffers.widest, buffers.edge[i] - buffers.edge[i - 1]);
      }
      set_places(b.width, buffers);
    }
    const Element* const box = source(b, depth, height, 0);
    const int64_t done = buffers.in_pairs;
#if HWY_TARGET != HWY_SCALAR
    sum_pairs(box, depth, height, buffers.places, buffers.edge, done, buffers.sum);
#endif
    std::fill(buffers.sum + done, buffers.sum + b.width, T{0});
    int64_t rows[kRows], count = 0;
    const auto add = [&] {
      add_rows(box, rows, std::exchange(count, 0), a_.output.stride[kWidth], done, b.width, buffers);
    };
    for (int64_t z = 0; z < depth.count; ++z)
      for (int64_t y = 0; y < height.count; ++y) {
        rows[count++] = z * depth.stride + y * height.stride;
        if (count == kRows) add();
      }
    if (count > 0) add();
    store_run<T, Element>(buffers.sum, b.width, to);
  }

  // Places for as many elements as have all of their vectors' terms in the row.
  void set_places(int64_t width, Buffers<T, Element>& buffers) const {
    constexpr int64_t kLanes = Places<T>::kLanes;
    int64_t& i = buffers.in_pairs = 0;
    if (HWY_TARGET == HWY_SCALAR || a_.output.stride[kWidth] != 1 || buffers.widest != 2) return;
    for (; i + kLanes <= width && buffers.edge[i] + Places<T>::kSpan <= a_.output.size[kWidth]; i += kLanes)
      buffers.places[i / kLanes].set(buffers.edge + i);
  }

  const UpsampleNearest3dArgs& a_;
  Element* to_;
  const Element* from_;
};

}  // namespace

void UpsampleNearest3dBackwardCpu(const UpsampleNearest3dArgs& a, void* const* data) {
  visit(Dtypes<float, float16, bfloat16>{}, a.dtype, [&]<class Element> { Gradient<float, Element>(a, data)(); });
  if (a.dtype == DataType::kDouble) Gradient<double, double>(a, data)();
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(UpsampleNearest3dBackwardCpu);

Status upsample_nearest3d_backward(const UpsampleNearest3dArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(UpsampleNearest3dBackwardCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kUpsampleNearest3dBackward, upsample_nearest3d_backward);

}  // namespace
}  // namespace descend
#endif
