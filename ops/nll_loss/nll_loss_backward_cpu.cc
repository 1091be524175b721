// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on the CPU.
//
// The gradient at a position is one number, in one of its classes.  It is computed once, as an element of out.  Then
// out is written, each element once: along positions where those are neighbours (NCHW), each class's plane by
// comparing, or along classes, zeros around the gradient.  The number is -((gradOutput / totalWeight) * weight) in
// double for the mean, where no step overflows or loses what the last rounding would show, and otherwise one product,
// as in the loss.
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
inline constexpr int64_t kMostClasses = 65535;           // and at most: numbered in 16 bits, with one number left

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
  template <class Bits> void load(int64_t first, int64_t n, int64_t* index, Bits* value) const {
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
  template <class Target, class Bits> void look_up(int64_t first, int64_t n, int64_t* index, Bits* value) const {
    const auto* const table = reinterpret_cast<const Bits*>(table_);
    const Bits none{};
    for_each_target<Target>(first, n, [=, &none](int64_t i, int64_t c, bool is_class) {
      index[i] = c;
      value[i] = *(is_class ? table + c : &none);
    });
  }
  template <class Target, class Weight, class Bits>
  void compute(int64_t first, int64_t n, int64_t* index, Bits* value) const {
    HWY_ALIGN Weight raw[kTile];
    bool is_class[kTile];
    const Weights<Weight> weight_of(a_.classes, data_[3]);
    for_each_target<Target>(first, n, [&](int64_t i, int64_t c, bool counts) {
      index[i] = c;
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
void write_planes(const Bits* number, const Bits* value, int64_t n, int64_t c, int64_t class_stride, Bits* out) {
  const hn::ScalableTag<Bits> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto numbers = hn::LoadU(d, number + i), values = hn::LoadU(d, value + i);
    Bits* to = out + i;
    for (int k = 0; k < planes; ++k, to += class_stride)
      hn::StoreU(gradient_where(d, numbers, values, static_cast<Bits>(c + k)), d, to);
  }
  for (int k = 0; k < planes; ++k)
    for (int64_t j = i; j < n; ++j)
      out[k * class_stride + j] = number[j] == static_cast<Bits>(c + k) ? value[j] : Bits{0};
}

// Classes [begin, end) of n positions, `step` elements apart from `out` on: class by class.
template <class Bits>
void write_by_class(const int64_t* index, const Bits* value, int64_t n, int64_t step, int64_t begin, int64_t end,
                    int64_t class_stride, Bits* out) {
  out += begin * class_stride;
  const int64_t classes = end - begin;
  if constexpr (std::is_integral_v<Bits>) {
    if (step == 1) {
      constexpr Bits kNone = std::numeric_limits<Bits>::max();  // no class of the block: kMostClasses
      HWY_ALIGN Bits number[kTile];
      for (int64_t i = 0; i < n; ++i)
        number[i] = begin <= index[i] && index[i] < end ? static_cast<Bits>(index[i] - begin) : kNone;
      int64_t c = 0;
      for (; c + 4 <= classes; c += 4) write_planes<4>(number, value, n, c, class_stride, out + c * class_stride);
      for (; c < classes; ++c) write_planes<1>(number, value, n, c, class_stride, out + c * class_stride);
      return;
    }
  }
  for (int64_t c = 0; c < classes; ++c)
    for (int64_t i = 0; i < n; ++i) out[c * class_stride + i * step] = index[i] == begin + c ? value[i] : Bits{};
}

// n zeros, `stride` elements apart.
template <class Bits> HWY_INLINE void write_zeros(Bits* out, int64_t stride, int64_t n) {
  constexpr int64_t kShort = 16;
  if (stride == 1 && n >= kShort) {
    std::memset(static_cast<void*>(out), 0, static_cast<size_t>(n) * sizeof(Bits));
  } else {
    for (int64_t c = 0; c < n; ++c) out[c * stride] = Bits{};
  }
}

// All of the few classes of n positions that lie one behind the other, by comparing.  The last vector of a position may
// reach into the next one, which is written after it.
template <class Bits>
void write_short_rows(const int64_t* index, const Bits* value, int64_t n, int64_t classes, Bits* out) {
  const hn::ScalableTag<Bits> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), reach = (classes + lanes - 1) / lanes * lanes;
  int64_t i = 0;
  for (; i * classes + reach <= n * classes; ++i, out += classes) {
    const auto number = hn::Set(d, static_cast<Bits>(index[i])), gradient = hn::Set(d, value[i]);
    for (int64_t c = 0; c < classes; c += lanes)
      hn::StoreU(hn::IfThenElseZero(hn::Eq(hn::Iota(d, static_cast<Bits>(c)), number), gradient), d, out + c);
  }
  for (; i < n; ++i, out += classes)
    for (int64_t c = 0; c < classes; ++c) out[c] = c == index[i] ? value[i] : Bits{};
}

// The same position by position: zeros, the gradient, zeros.
template <class Bits>
void write_by_position(const int64_t* index, const Bits* value, int64_t n, int64_t step, int64_t begin, int64_t end,
                       int64_t class_stride, Bits* out) {
  constexpr int64_t kFew = 64;
  if constexpr (std::is_integral_v<Bits>)
    if (class_stride == 1 && begin == 0 && end == step && end <= kFew)
      return write_short_rows(index, value, n, end, out);
  for (int64_t i = 0; i < n; ++i, out += step) {
    const bool here = begin <= index[i] && index[i] < end;
    const int64_t at = here ? index[i] : end;
    write_zeros(out + begin * class_stride, class_stride, at - begin);
    if (!here) continue;
    out[at * class_stride] = value[i];
    write_zeros(out + (at + 1) * class_stride, class_stride, end - at - 1);
  }
}

// out, cut into tiles of positions and blocks of classes.
class Cut {
 public:
  explicit Cut(const NLLLossBackwardArgs& a) : points_(a.points.points()), classes_(a.classes.count) {
    const int last = a.points.rank - 1;
    // Along what lies closer together.
    by_class = last >= 0 &&
               (classes_ == 1 || detail::magnitude(a.points.stride[0][last]) <= detail::magnitude(a.class_stride));
    row_ = by_class ? a.points.extent[last] : points_;
    tile_ = by_class ? std::min(row_, kTile) : std::clamp<int64_t>(kChunk / classes_, 1, std::min(points_, kTile));
    block_ = std::min(classes_, std::clamp(kBlock / tile_, kFewestClasses, kMostClasses));
    tiles_per_row_ = (row_ - 1) / tile_ + 1;
    blocks_ = (classes_ - 1) / block_ + 1;
  }

  bool by_class;  // neighbours in memory lie along positions, not along classes

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

// Bits are an element of out as what it is in size.
template <class Bits> void write_gradients(const NLLLossBackwardArgs& a, void* const* data) {
  const Gradients gradients(a, data);
  const Cut cut(a);
  parallel_for(cut.units(), cut.grain(), [&](int64_t begin, int64_t end) {
    int64_t index[kTile];
    HWY_ALIGN Bits value[kTile];
    int64_t tile = -1, first = 0, n = 0;
    for (int64_t unit = begin; unit < end; ++unit) {
      if (cut.tile_of(unit) != tile) {
        tile = cut.tile_of(unit);
        first = cut.first_position(tile), n = cut.positions(tile);
        gradients.load(first, n, index, value);
      }
      int64_t done = 0;
      for_each_run(a.points, 0, first, n, [&](int64_t element, int64_t step, int64_t count) {
        (cut.by_class ? write_by_class<Bits> : write_by_position<Bits>)(index + done, value + done, count, step,
                                                                        cut.first_class(unit), cut.end_class(unit),
                                                                        a.class_stride,
                                                                        static_cast<Bits*>(data[0]) + element);
        done += count;
      });
    }
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
