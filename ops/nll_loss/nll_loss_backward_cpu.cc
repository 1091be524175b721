// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on the CPU.
//
// The gradient at a position is one number, in one of its classes.  It is computed once, as an element of out; then out
// is written, every element once, with that or 0: along the positions where they are neighbours (NCHW), along the
// classes where those are (rows of classes, NHWC).  The number is -((gradOutput / totalWeight) * weight) in double for
// the mean, where no step overflows or loses what the last rounding would show, and otherwise one product, as in the
// loss.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nll_loss/nll_loss_backward_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/nll_loss/nll_loss_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

inline constexpr int64_t kLargest = sizeof(complex128);  // bytes of an element of out
inline constexpr int64_t kBlock = 256 * kTile;           // elements written for one look at a tile's targets
inline constexpr int64_t kMostPlanes = (1 << 15) - 1;    // classes whose numbers in a block fit every lane
inline constexpr int64_t kShortRow = 32;

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

  // The classes of positions [first, first + n), -1 for none, and the gradients in them, as elements of out.
  template <class Bits> void load(int64_t first, int64_t n, int64_t* index, Bits* value) const {
    load_classes(a_.classes, a_.points, 1, data_[1], first, n, index);
    if (tabled_) {
      const auto* table = reinterpret_cast<const Bits*>(table_);
      for (int64_t i = 0; i < n; ++i) value[i] = table[std::max<int64_t>(index[i], 0)];
    } else if (a_.reduced) {
      HWY_ALIGN double weight[kTile];
      load_weights(a_.classes, data_[3], index, n, weight);
      scale(weight, n);
      finish(weight, n, value);
    } else {
      HWY_ALIGN float weight[kTile], gradOutput[kTile];
      load_weights(a_.classes, data_[3], index, n, weight);
      load_points(a_.points, 2, data_[2], first, n, gradOutput);
      for (int64_t i = 0; i < n; ++i) weight[i] = -(gradOutput[i] * weight[i]);
      finish(weight, n, value);
    }
  }

 private:
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

// One class of n neighbouring positions.
template <class Bits> void write_plane(const Bits* number, const Bits* value, int64_t n, Bits c, Bits* out) {
  const hn::ScalableTag<Bits> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < lanes) {
    for (int64_t i = 0; i < n; ++i) out[i] = number[i] == c ? value[i] : Bits{0};
    return;
  }
  const auto wanted = hn::Set(d, c);
  const auto write = [&](int64_t i) HWY_ATTR {
    hn::StoreU(hn::IfThenElseZero(hn::Eq(hn::LoadU(d, number + i), wanted), hn::LoadU(d, value + i)), d, out + i);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) write(i);
  if (i < n) write(n - lanes);  // the last ones again with those before them: shorter than a vector is slower
}

// Classes [begin, end) of n positions, `step` elements apart from `out` on, class by class.
template <class Bits>
void write_planes(const int64_t* index, const Bits* value, int64_t n, int64_t begin, int64_t end, int64_t class_stride,
                  int64_t step, Bits* out) {
  if constexpr (std::is_integral_v<Bits>) {
    if (step == 1) {
      HWY_ALIGN Bits number[kTile];  // the class, from `begin`, in a lane of out's own width
      for (int64_t i = 0; i < n; ++i)
        number[i] = static_cast<Bits>(begin <= index[i] && index[i] < end ? index[i] - begin : -1);
      for (int64_t c = begin; c < end; ++c)
        write_plane(number, value, n, static_cast<Bits>(c - begin), out + c * class_stride);
      return;
    }
  }
  for (int64_t c = begin; c < end; ++c)
    for (int64_t i = 0; i < n; ++i) out[c * class_stride + i * step] = index[i] == c ? value[i] : Bits{};
}

// Classes [begin, end) of one position.
template <class Bits>
void write_row(int64_t index, Bits value, int64_t begin, int64_t end, int64_t class_stride, Bits* out) {
  if (class_stride != 1) {
    for (int64_t c = begin; c < end; ++c) out[c * class_stride] = c == index ? value : Bits{};
  } else if (end - begin <= kShortRow) {
    for (int64_t c = begin; c < end; ++c) out[c] = c == index ? value : Bits{};
  } else if (begin <= index && index < end) {
    std::fill(out + begin, out + index, Bits{});
    out[index] = value;
    std::fill(out + index + 1, out + end, Bits{});
  } else {
    std::fill(out + begin, out + end, Bits{});
  }
}

// out, cut into tiles of positions and blocks of classes.
class Cut {
 public:
  explicit Cut(const NLLLossBackwardArgs& a) : points_(a.points.points()), classes_(a.classes.count) {
    const int last = a.points.rank - 1;
    // Along what lies closer together.
    planes = last >= 0 &&
             (classes_ == 1 || detail::magnitude(a.points.stride[0][last]) <= detail::magnitude(a.class_stride));
    row_ = planes ? a.points.extent[last] : points_;
    tile_ = planes ? std::min(row_, kTile) : std::clamp<int64_t>(kChunk / classes_, 1, std::min(points_, kTile));
    block_ = std::min({classes_, kBlock / tile_, planes ? kMostPlanes : kBlock});
    tiles_per_row_ = (row_ - 1) / tile_ + 1;
    blocks_ = (classes_ - 1) / block_ + 1;
  }

  bool planes;  // class by class; a tile lies in one run of positions

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
  auto* const out = static_cast<Bits*>(data[0]);
  const int64_t step = a.points.rank > 0 ? a.points.stride[0][a.points.rank - 1] : 0;
  parallel_for(cut.units(), cut.grain(), [&](int64_t begin, int64_t end) {
    int64_t index[kTile], offset[kTile];
    HWY_ALIGN Bits value[kTile];
    int64_t tile = -1, n = 0;
    for (int64_t unit = begin; unit < end; ++unit) {
      if (cut.tile_of(unit) != tile) {
        tile = cut.tile_of(unit);
        n = cut.positions(tile);
        gradients.load(cut.first_position(tile), n, index, value);
        load_offsets(a.points, 0, cut.first_position(tile), cut.planes ? 1 : n, offset);
      }
      const int64_t from = cut.first_class(unit), to = cut.end_class(unit);
      if (cut.planes) {
        write_planes(index, value, n, from, to, a.class_stride, step, out + offset[0]);
      } else {
        for (int64_t i = 0; i < n; ++i) write_row(index[i], value[i], from, to, a.class_stride, out + offset[i]);
      }
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
