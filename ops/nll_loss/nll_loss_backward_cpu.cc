// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on the CPU.
//
// The gradient at a position is one number, in one of its classes.  It is computed once, as an element of out.  Few
// planes of neighbours (NCHW) are then written element by element, with that or 0; anything else is filled with zeros,
// a tile that stays in the cache at a time, and the gradients are put among them.  The number is -((gradOutput /
// totalWeight) * weight) in double for the mean, where no step overflows or loses what the last rounding would show,
// and otherwise one product, as in the loss.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nll_loss/nll_loss_backward_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/nll_loss/nll_loss_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

inline constexpr int64_t kLargest = sizeof(complex128);  // bytes of an element of out
inline constexpr int64_t kBlock = 256 * kTile;           // elements written for one look at a tile's targets, or more
inline constexpr int64_t kFewestClasses = 256;           // classes a block has at least
inline constexpr int64_t kSpan = 4 * kTile;              // neighbours written at a time: long enough a run of memory
inline constexpr int64_t kFewPlanes = 8;                 // classes whose planes are written by comparing

// The gradients of tiles of positions.
class Gradients {
 public:
  Gradients(const NLLLossBackwardArgs& a, void* const* data)
      : a_(a), data_(data), same_dtype_(a.points.dtype[0] == a.classes.rounded) {
    if (!a.reduced) return;
    load_points(a.points, 2, data[2], 0, 1, &factor_);
    double total = 1;
    if (a.mean) loader<double>(a.classes.rounded)(data[4], 1, &total);
    factor_ /= total;
    // Then a class has one gradient.  Few classes: all of them now.
    if (a.classes.count > kTile || a.classes.count > a.points.points()) return;
    tabled_ = true;
    HWY_ALIGN double value[kTile];
    load_points(a.classes.weight, 0, data[3], 0, a.classes.count, value);
    scale(value, a.classes.count);
    finish(value, a.classes.count, table_);
  }

  // The classes of positions [first, first + n) and the gradients in them, as elements of out; n is at most kTile.  A
  // position that counts for nothing has the gradient 0 in class 0.
  template <class Bits, class Index> void load(int64_t first, int64_t n, Index* index, Bits* value) const {
    visit(IndexTypes{}, a_.points.dtype[1], [&]<class Target> {
      if (tabled_)
        look_up<Target>(first, n, index, value);
      else if (size_of(a_.classes.rounded) == sizeof(uint16_t))
        compute<Target, uint16_t>(first, n, index, value);
      else
        compute<Target, uint32_t>(first, n, index, value);
    });
  }

 private:
  // Calls body(i, c, is_class) for the targets of those positions; c is 0 where it is none.
  template <class Target, class Body> void for_each_target(int64_t first, int64_t n, const Body& body) const {
    int64_t done = 0;
    for_each_run(a_.points, 1, first, n, [&](int64_t element, int64_t step, int64_t count) {
      const Counts counts(a_.classes);  // copies of the loop's own: in registers, whatever is stored
      const Body of_target = body;
      const int64_t begin = done;
      const Target* const targets = static_cast<const Target*>(data_[1]) + element;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t c = static_cast<int64_t>(targets[i * step]);
        const bool is_class = counts(c);
        of_target(begin + i, is_class ? c : 0, is_class);
      }
      done += count;
    });
  }
  template <class Target, class Index, class Bits>
  void look_up(int64_t first, int64_t n, Index* index, Bits* value) const {
    const auto* const table = reinterpret_cast<const Bits*>(table_);
    const Bits none{};
    for_each_target<Target>(first, n, [=, &none](int64_t i, int64_t c, bool is_class) {
      index[i] = static_cast<Index>(c);
      value[i] = *(is_class ? table + c : &none);
    });
  }
  template <class Target, class Weight, class Index, class Bits>
  void compute(int64_t first, int64_t n, Index* index, Bits* value) const {
    HWY_ALIGN Weight raw[kTile];
    bool is_class[kTile];
    const Weights<Weight> weight_of(a_.classes, data_[3]);
    for_each_target<Target>(first, n, [&](int64_t i, int64_t c, bool counts) {
      index[i] = static_cast<Index>(c);
      is_class[i] = counts;
      raw[i] = *weight_of.at(c);
    });
    if (a_.reduced) {
      HWY_ALIGN double gradient[kTile];
      loader<double>(a_.classes.rounded)(raw, n, gradient);
      scale(gradient, n);
      finish(gradient, n, value);
    } else {
      HWY_ALIGN float gradient[kTile], gradOutput[kTile];
      loader<float>(a_.classes.rounded)(raw, n, gradient);
      load_points(a_.points, 2, data_[2], first, n, gradOutput);
      for (int64_t i = 0; i < n; ++i) gradient[i] = -(gradOutput[i] * gradient[i]);
      finish(gradient, n, value);
    }
    for (int64_t i = 0; i < n; ++i) value[i] = is_class[i] ? value[i] : Bits{};
  }
  void scale(double* weight, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) weight[i] = -(factor_ * weight[i]);
  }
  template <class T> void finish(T* value, int64_t n, void* to) const {
    const RoundRun<T> round = same_dtype_ ? nullptr : rounder<T>(a_.classes.rounded);
    if (round) round(value, n);
    storer<T>(a_.points.dtype[0])(value, n, to);
  }

  const NLLLossBackwardArgs& a_;
  void* const* data_;
  const bool same_dtype_;
  bool tabled_ = false;
  double factor_ = 1;
  HWY_ALIGN std::byte table_[kTile * kLargest];
};

// The value in those lanes whose number is `c`.
template <class D, class V> HWY_INLINE V gradient_where(D d, V number, V value, hn::TFromD<D> c) {
  return hn::IfThenElseZero(hn::Eq(number, hn::Set(d, c)), value);
}

// `planes` classes from c on of n neighbouring positions; out is class c's.
template <int planes, class Bits>
void compare_planes(const Bits* number, const Bits* value, int64_t n, Bits c, int64_t class_stride, Bits* out) {
  const hn::ScalableTag<Bits> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto write = [&](int64_t i) HWY_ATTR {
    const auto numbers = hn::LoadU(d, number + i), values = hn::LoadU(d, value + i);
    Bits* to = out + i;
    for (int k = 0; k < planes; ++k, to += class_stride)
      hn::StoreU(gradient_where(d, numbers, values, static_cast<Bits>(c + k)), d, to);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) write(i);
  if (i == n) return;
  if (n >= lanes) return write(n - lanes);  // over some that were written: shorter than a vector is slower
  for (int k = 0; k < planes; ++k)
    for (i = 0; i < n; ++i) out[k * class_stride + i] = number[i] == static_cast<Bits>(c + k) ? value[i] : Bits{0};
}

// All of the few classes of n neighbouring positions.
template <class Bits>
void write_few_planes(const Bits* number, const Bits* value, int64_t n, int64_t classes, int64_t class_stride,
                      Bits* out) {
  int64_t c = 0;
  for (; c + 4 <= classes; c += 4)
    compare_planes<4>(number, value, n, static_cast<Bits>(c), class_stride, out + c * class_stride);
  for (; c < classes; ++c)
    compare_planes<1>(number, value, n, static_cast<Bits>(c), class_stride, out + c * class_stride);
}

template <class Bits> void write_zeros(Bits* out, int64_t n) {
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(n) * sizeof(Bits));
}

// Zeros in classes [begin, end) of n positions.
template <class Bits>
void write_zeros(int64_t n, int64_t step, int64_t begin, int64_t end, int64_t class_stride, Bits* out) {
  const int64_t classes = end - begin;
  out += begin * class_stride;
  if (step == 1 && (class_stride == n || classes == 1)) return write_zeros(out, classes * n);
  if (class_stride == 1 && (step == classes || n == 1)) return write_zeros(out, classes * n);
  if (step == 1) {
    for (int64_t c = 0; c < classes; ++c) write_zeros(out + c * class_stride, n);
  } else if (class_stride == 1) {
    for (int64_t i = 0; i < n; ++i) write_zeros(out + i * step, classes);
  } else {
    for (int64_t c = 0; c < classes; ++c)
      for (int64_t i = 0; i < n; ++i) out[c * class_stride + i * step] = Bits{};
  }
}

// Classes [begin, end) of n positions, `step` elements apart from `out` on.  The gradients follow the zeros while those
// are in the cache.
template <class Bits>
void write_run(const int64_t* index, const Bits* value, int64_t n, int64_t step, int64_t begin, int64_t end,
               int64_t classes, int64_t class_stride, Bits* out) {
  write_zeros(n, step, begin, end, class_stride, out);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (end - begin < classes) {
    for (int64_t i = 0; i < n; ++i)
      if (begin <= index[i] && index[i] < end) out[i * step + index[i] * class_stride] = value[i];
  } else if (class_stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i * step + index[i]] = value[i];
  } else if (classes <= kMost && 0 <= class_stride && class_stride <= kMost) {
    const auto stride = static_cast<int32_t>(class_stride);  // the product of 32 bits each is much faster
    for (int64_t i = 0; i < n; ++i) out[i * step + int64_t{static_cast<int32_t>(index[i])} * stride] = value[i];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * step + index[i] * class_stride] = value[i];
  }
}

// out, cut into tiles of positions and blocks of classes.
class Cut {
 public:
  explicit Cut(const NLLLossBackwardArgs& a) : points_(a.points.points()), classes_(a.classes.count) {
    const int last = a.points.rank - 1;
    // Along what lies closer together.
    const bool planes = last >= 0 && (classes_ == 1 ||
                                      detail::magnitude(a.points.stride[0][last]) <= detail::magnitude(a.class_stride));
    few_planes = planes && classes_ <= kFewPlanes && a.points.stride[0][last] == 1;
    row_ = planes ? a.points.extent[last] : points_;
    tile_ = planes ? std::min(row_, few_planes ? kSpan : kTile)
                   : std::clamp<int64_t>(kChunk / classes_, 1, std::min(points_, kTile));
    block_ = std::min(classes_, std::clamp(kBlock / tile_, kFewestClasses, kBlock));
    tiles_per_row_ = (row_ - 1) / tile_ + 1;
    blocks_ = (classes_ - 1) / block_ + 1;
  }

  bool few_planes;  // whose positions are neighbours

  int64_t units() const { return points_ / row_ * tiles_per_row_ * blocks_; }
  int64_t grain() const { return std::max<int64_t>(1, kChunk / (tile_ * block_)); }
  int64_t tile_of(int64_t unit) const { return unit / blocks_; }
  int64_t first_position(int64_t tile) const { return tile / tiles_per_row_ * row_ + tile % tiles_per_row_ * tile_; }
  int64_t positions(int64_t tile) const { return std::min(tile_, row_ - tile % tiles_per_row_ * tile_); }
  int64_t first_class(int64_t unit) const { return unit % blocks_ * block_; }
  int64_t end_class(int64_t unit) const { return std::min(classes_, first_class(unit) + block_); }

 private:
  int64_t points_, classes_, row_, tile_, block_, tiles_per_row_, blocks_;
};

// Units [begin, end) of the cut.  Index is what a class is compared as, or int64.
template <class Index, class Bits>
void write_units(const NLLLossBackwardArgs& a, const Gradients& gradients, const Cut& cut, int64_t begin, int64_t end,
                 Bits* out) {
  Index index[kSpan];
  HWY_ALIGN Bits value[kSpan];
  int64_t tile = -1, first = 0, n = 0;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (cut.tile_of(unit) != tile) {
      tile = cut.tile_of(unit);
      first = cut.first_position(tile), n = cut.positions(tile);
      for (int64_t i = 0; i < n; i += kTile) gradients.load(first + i, std::min(kTile, n - i), index + i, value + i);
    }
    int64_t done = 0;
    for_each_run(a.points, 0, first, n, [&](int64_t element, int64_t step, int64_t count) {
      if constexpr (std::is_same_v<Index, Bits>)
        write_few_planes(index + done, value + done, count, a.classes.count, a.class_stride, out + element);
      else
        write_run(index + done, value + done, count, step, cut.first_class(unit), cut.end_class(unit), a.classes.count,
                  a.class_stride, out + element);
      done += count;
    });
  }
}

// Bits are an element of out as what it is in size.
template <class Bits> void write_gradients(const NLLLossBackwardArgs& a, void* const* data) {
  const Gradients gradients(a, data);
  const Cut cut(a);
  parallel_for(cut.units(), cut.grain(), [&](int64_t begin, int64_t end) {
    if constexpr (std::is_integral_v<Bits>)
      if (cut.few_planes) return write_units<Bits>(a, gradients, cut, begin, end, static_cast<Bits*>(data[0]));
    write_units<int64_t>(a, gradients, cut, begin, end, static_cast<Bits*>(data[0]));
  });
}

void NLLLossBackwardCpu(const NLLLossBackwardArgs& a, void* const* data) {
  switch (size_of(a.points.dtype[0])) {
    case 2:
      return write_gradients<uint16_t>(a, data);
    case 4:
      return write_gradients<uint32_t>(a, data);
    case 8:
      return write_gradients<uint64_t>(a, data);
    default:
      return write_gradients<detail::Bytes16>(a, data);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace descend {
namespace {

HWY_EXPORT(NLLLossBackwardCpu);

Status nll_loss_backward(const NLLLossBackwardArgs& a, void* const* data, Launch&) {
  HWY_DYNAMIC_DISPATCH(NLLLossBackwardCpu)(a, data);
  return {};
}
[[maybe_unused]] const bool registered = cpu_kernels().add(kNLLLossBackward, nll_loss_backward);

}  // namespace
}  // namespace descend
#endif
