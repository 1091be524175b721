// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on the CPU.
//
// The gradient at a position is one number, in one of its classes.  It is computed once, as an element of out.  Then
// out is written in blocks of positions and classes that stay in the cache: zeros, then the gradients among them. Where
// neighbours in memory are positions and the classes few (NCHW), gradients are that dense that comparing is cheaper:
// each class's plane is written by asking each position whether it is its class.  Where rows are long and all of out is
// larger than the cache, the zeros of all rows come first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nll_loss/nll_loss_backward_cpu.cc"
#include <hwy/foreach_target.h>

#include "ops/nll_loss/nll_loss_backward_cut_cpu-inl.h"
#include "ops/nll_loss/nll_loss_backward_values_cpu-inl.h"
#include "ops/nll_loss/nll_loss_kernels.h"
#include "src/loops/parallel.h"
#include "src/loops/store_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

constexpr int64_t kInCache = 1 << 20;  // bytes of out that the cache keeps

// Positions and classes of out that are written together.
template <class Bits> struct Block {
  Bits* out;  // the first position's first class, of this block or not
  int64_t positions, step;
  int64_t first_class, end_class, class_stride;
};

template <class Bits> void write_zeros(const Block<Bits>& block) {
  Axis inner{block.end_class - block.first_class, block.class_stride, 1}, outer{block.positions, block.step, 1};
  if (detail::magnitude(outer.stride) < detail::magnitude(inner.stride)) std::swap(inner, outer);
  if (inner.stride == 1 && outer.stride == inner.extent) inner.extent *= outer.extent, outer.extent = 1;
  Bits* run = block.out + block.first_class * block.class_stride;
  for (int64_t i = 0; i < outer.extent; ++i, run += outer.stride) {
    if (inner.stride == 1)
      zero_in_cache(reinterpret_cast<std::byte*>(run), static_cast<size_t>(inner.extent) * sizeof(Bits));
    else
      for (int64_t j = 0; j < inner.extent; ++j) run[j * inner.stride] = Bits{};
  }
}
template <class Bits, class Stride>
void write_values(const Block<Bits>& block, const int64_t* HWY_RESTRICT index, const Bits* HWY_RESTRICT value,
                  Stride class_stride) {
  const int64_t step = block.step, first_class = block.first_class;
  const uint64_t classes = static_cast<uint64_t>(block.end_class - first_class);
  Bits* const out = block.out;
  const auto write = [=](int64_t i) __attribute__((always_inline)) {
    const int64_t c = index[i];
    if (HWY_LIKELY(static_cast<uint64_t>(c - first_class) < classes)) out[i * step + c * class_stride] = value[i];
  };
  in_fours(block.positions, write);
}

// The same of all classes, where each has its value: from the targets to out in one pass.
template <class Bits, class Target, class Stride>
void write_by_class(const Block<Bits>& block, const Counts counts, const Bits* HWY_RESTRICT table,
                    const Target* HWY_RESTRICT targets, int64_t target_step, Stride class_stride) {
  const int64_t step = block.step;
  Bits* HWY_RESTRICT const out = block.out;
  const auto write = [=](int64_t i) __attribute__((always_inline)) {
    const int64_t c = static_cast<int64_t>(targets[i * target_step]);
    if (HWY_LIKELY(counts(c))) out[i * step + c * class_stride] = table[c];
  };
  in_fours(block.positions, write);
}

// A vector of values where the number is the wanted one, zeros elsewhere.
template <class D, class V, class Bits>
HWY_INLINE void write_where(D d, const Bits* number, const Bits* value, V wanted, Bits* out) {
  hn::StoreU(hn::IfThenElseZero(hn::Eq(hn::LoadU(d, number), wanted), hn::LoadU(d, value)), d, out);
}

// All of the classes of neighbouring positions, class by class.
template <class Bits>
void write_planes(const Block<Bits>& block, const int64_t* HWY_RESTRICT index, const Bits* HWY_RESTRICT value) {
  const hn::ScalableTag<Bits> d;
  const int64_t n = block.positions, lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN Bits number[kTile];
  for (int64_t i = 0; i < n; ++i) number[i] = static_cast<Bits>(index[i]);
  Bits* HWY_RESTRICT out = block.out;
  for (int64_t c = 0; c < block.end_class; ++c, out += block.class_stride) {
    const auto wanted = hn::Set(d, static_cast<Bits>(c));
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      write_where(d, number + i, value + i, wanted, out + i);
      write_where(d, number + i + lanes, value + i + lanes, wanted, out + i + lanes);
      write_where(d, number + i + 2 * lanes, value + i + 2 * lanes, wanted, out + i + 2 * lanes);
      write_where(d, number + i + 3 * lanes, value + i + 3 * lanes, wanted, out + i + 3 * lanes);
    }
    for (; i < n; ++i) out[i] = index[i] == c ? value[i] : Bits{0};
  }
}

template <class Bits> void write_block(const Block<Bits>& block, const int64_t* index, const Bits* value, bool far) {
  constexpr int64_t kFew = 32;
  if constexpr (std::is_integral_v<Bits>)
    if (far && block.step == 1 && block.class_stride != 1 && block.first_class == 0 && block.end_class <= kFew)
      return write_planes(block, index, value);
  write_zeros(block);
  if (block.class_stride == 1)  // known to be that: no product of 64 bits for each
    write_values(block, index, value, std::integral_constant<int64_t, 1>());
  else
    write_values(block, index, value, block.class_stride);
}

// All classes of a tile whose gradients are known by class.
template <class Bits>
void write_tile(const NLLLossBackwardArgs& a, void* const* data, const Tile& tile, const Bits* table) {
  const int64_t target_step = innermost_stride(a.points, 1);
  for_each_row(a.points, tile.first, tile.positions, [&](const int64_t* element, int64_t count) {
    const Block<Bits> block{static_cast<Bits*>(data[0]) + element[0],
                            count,
                            innermost_stride(a.points, 0),
                            0,
                            a.classes.count,
                            a.class_stride};
    write_zeros(block);
    visit(IndexTypes{}, a.points.dtype[1], [&]<class Target> {
      const auto* const targets = static_cast<const Target*>(data[1]) + element[1];
      if (block.class_stride == 1)
        write_by_class(block, Counts(a.classes), table, targets, target_step, std::integral_constant<int64_t, 1>());
      else
        write_by_class(block, Counts(a.classes), table, targets, target_step, block.class_stride);
    });
  });
}

// Long rows without gaps.  Gradients among the zeros of some rows would wait for memory, to look them up and to write
// them, while it is busy with zeros: two Neoverse V1 cores take 6 to 10 % longer so.
template <class Bits> bool are_long_rows(const NLLLossBackwardArgs& a) {
  constexpr int64_t kLong = 16 << 10;  // bytes
  return a.class_stride == 1 && a.classes.count * static_cast<int64_t>(sizeof(Bits)) >= kLong && a.points.rank <= 1 &&
         (a.points.rank == 0 || a.points.stride[0][0] == a.classes.count);
}
template <class Bits>
void write_long_rows(const NLLLossBackwardArgs& a, void* const* data, const Gradients& gradients) {
  constexpr int64_t kFewestParts = 8;  // or one a thread; the longer they are the faster
  Bits* const out = static_cast<Bits*>(data[0]);
  const int64_t points = a.points.points(), classes = a.classes.count, elements = points * classes;
  const int64_t per_part = elements / std::max<int64_t>(kFewestParts, parallel_width());
  const int64_t stretch = (per_part / kTile + 1) * kTile;  // begins at a line, as out does most often
  parallel_for(elements, stretch, [&](int64_t begin, int64_t end) {
    fill_with_zeros(reinterpret_cast<std::byte*>(out + begin), static_cast<size_t>(end - begin) * sizeof(Bits));
  });
  // Each waits for memory twice: few at a time, for threads to share them.
  parallel_for(points, std::clamp<int64_t>(points / 16, 64, kTile), [&](int64_t begin, int64_t end) {
    int64_t index[kTile];
    HWY_ALIGN Bits value[kTile];
    const int64_t count = end - begin;
    gradients.load({.first = begin, .positions = count, .row = 0, .rows = 1}, nullptr, index, value);
    write_values(Block<Bits>{out + begin * classes, count, classes, 0, classes, 1}, index, value,
                 std::integral_constant<int64_t, 1>());
  });
}

// Bits are an element of out as what it is in size.
template <class Bits> void write_gradients(const NLLLossBackwardArgs& a, void* const* data) {
  const Gradients gradients(a, data);
  const Cut cut(a);
  const bool far = a.points.points() * a.classes.count * static_cast<int64_t>(sizeof(Bits)) > kInCache;
  if (far && are_long_rows<Bits>(a)) return write_long_rows<Bits>(a, data, gradients);
  const Bits* const table = gradients.by_class<Bits>();
  if (table != nullptr && !far && cut.has_whole_tiles())
    return parallel_for(cut.units(), cut.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) write_tile(a, data, cut.tile(cut.tile_of(unit)), table);
    });
  parallel_for(cut.units(), cut.grain(), [&](int64_t begin, int64_t end) {
    int64_t index[kTile];
    HWY_ALIGN Bits value[kTile];
    CrossingTargets crossing(a.points, data[1], cut.row());
    int64_t number = -1;
    Tile tile{};
    for (int64_t unit = begin; unit < end; ++unit) {
      if (cut.tile_of(unit) != number) {
        number = cut.tile_of(unit);
        tile = cut.tile(number);
        gradients.load(tile, crossing.of(tile), index, value);
      }
      int64_t done = 0;
      for_each_run(a.points, 0, tile.first, tile.positions, [&](int64_t element, int64_t step, int64_t count) {
        const Block<Bits> block{static_cast<Bits*>(data[0]) + element,
                                count,
                                step,
                                cut.first_class(unit),
                                cut.end_class(unit),
                                a.class_stride};
        write_block(block, index + done, value + done, far);
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
