// SPDX-License-Identifier: MIT
// The gradient of the negative log likelihood loss on NVIDIA GPUs.
//
// out is written once, 16 bytes at a time: along positions where those are neighbours (write_planes; a thread looks at
// its positions' targets once and writes all classes), or along classes (write_flat, write_rows; neighbours look at one
// target).  Any other layout goes element by element.  The numbers are those of nll_loss_backward_cpu.cc.
#include <bit>

#include "ops/nll_loss/nll_loss_cuda.cuh"
#include "src/loops/bytes.h"

namespace descend::cuda {
namespace {

// What is in a position's class.
struct Gradients {
  Classes classes;
  const void *target, *gradOutput, *totalWeight;
  DataType out;
  bool reduced, mean;

  __device__ __forceinline__ int64_t target_at(int64_t at) const { return load_index(classes.index, target, at); }

  // What every class's weight is multiplied with, where gradOutput is one number.
  template <class Element = void> __device__ __forceinline__ double common_factor() const {
    const auto number = [&](const void* at) {
      if constexpr (std::is_void_v<Element>)
        return load_as<double>(classes.dtype, at, 0);
      else
        return widen<double>(*static_cast<const Element*>(at));
    };
    double factor = 1;
    if (reduced) factor = number(gradOutput);
    if (reduced && mean) factor /= number(totalWeight);
    return factor;
  }
  // The gradient in class c of a position, as an element of out.  Not inlined: copies of all its cases would not fit
  // where a multiprocessor keeps its instructions.
  template <class Bits> __device__ __noinline__ Bits of(int64_t c, int64_t gradient_at, double factor) const {
    Bits bits;
    if (reduced) {
      store(-(factor * classes.weight_of<double>(c)), &bits);
    } else {
      store(-(load_as<float>(classes.dtype, gradOutput, gradient_at) * classes.weight_of<float>(c)), &bits);
    }
    return bits;
  }
  // What is in the classes that N targets name, of use where they count; number i's is at gradient_at(i) in gradOutput,
  // if it is_there(i).  Element: every operand is one, and weights are neighbours, so that those of all N are asked for
  // at once; void: anything.
  template <class Element, class Bits, int N, class At, class IsThere>
  __device__ __forceinline__ void values(const int64_t (&target)[N], const At& gradient_at, const IsThere& is_there,
                                         Bits (&value)[N]) const {
    if constexpr (std::is_void_v<Element>) {
      const double factor = common_factor();
#pragma unroll
      for (int i = 0; i < N; ++i)
        if (classes.counts(target[i])) value[i] = of<Bits>(target[i], gradient_at(i), factor);
    } else {
      Element gradient[N] = {}, weight[N];
      if (!reduced) {
#pragma unroll
        for (int i = 0; i < N; ++i)
          if (is_there(i)) gradient[i] = static_cast<const Element*>(gradOutput)[gradient_at(i)];
      }
#pragma unroll
      for (int i = 0; i < N; ++i)
        weight[i] = static_cast<const Element*>(classes.weight)[classes.counts(target[i]) ? target[i] : 0];
      const double factor = common_factor<Element>();
#pragma unroll
      for (int i = 0; i < N; ++i)
        value[i] =
            std::bit_cast<Bits>(reduced ? narrow<Element>(-(factor * widen<double>(weight[i])))
                                        : narrow<Element>(-(widen<float>(gradient[i]) * widen<float>(weight[i]))));
    }
  }

 private:
  template <class T> __device__ __forceinline__ void store(T gradient, void* to) const {
    store_as(out == classes.dtype ? gradient : round_to(classes.dtype, gradient), out, to, 0);
  }
};

// A word of gradients and the classes they are in, as many as it holds: that word of class c's plane.
template <class Bits> struct PlaneWord {
  uint32_t value = 0, number = 0;
  __device__ __forceinline__ uint32_t of_class(uint32_t c) const {
    if constexpr (sizeof(Bits) == 2)
      return __vcmpeq2(number, c * 0x10001u) & value;
    else
      return number == c ? value : 0;
  }
};

// Positions are neighbours in out.  A thread has a vector of them, and the classes of its part: at most kMostClasses,
// and the number behind means none of them.
constexpr int kMostClasses = 0xffff;
template <class Bits> constexpr int kPlaneThreads = 1024 / Vector<Bits>::kCount;  // twice as many of halves: 8 % slower
template <class Bits, class Element>
__global__ void __launch_bounds__(kPlaneThreads<Bits>)
    write_planes(const __grid_constant__ Gradients gradients, const __grid_constant__ Places<3> outer, Divisor per_row,
                 int64_t vectors, int64_t target_step, int64_t gradient_step, int64_t class_stride,
                 int classes_per_part, Divisor blocks, Bits* out) {
  constexpr int count = Vector<Bits>::kCount, kPerWord = 4 / sizeof(Bits);
  int64_t block = blockIdx.x;  // those that run together write neighbouring runs of the same planes
  const int64_t part = blocks.divide(block), first = part * classes_per_part;
  const int64_t left = gradients.classes.count - first;
  const uint32_t classes = static_cast<uint32_t>(left < classes_per_part ? left : classes_per_part);
  int64_t column = block * kPlaneThreads<Bits> + threadIdx.x, offset[3] = {};
  if (column >= vectors) return;
  if (outer.rank > 0) outer.add(per_row.divide(column), offset);
  int64_t target[count];
  visit(Dtypes<int64_t, int32_t, uint8_t>{}, gradients.classes.index, [&]<class Index> {
    const Index* from = static_cast<const Index*>(gradients.target) + offset[1] + column * count * target_step;
#pragma unroll
    for (int i = 0; i < count; ++i, from += target_step) target[i] = *from;
  });
  Bits value[count];
  gradients.values<Element>(
      target, [&](int i) { return offset[2] + (column * count + i) * gradient_step; }, [](int) { return true; }, value);
  PlaneWord<Bits> words[4];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const bool is_here =
        gradients.classes.counts(target[i]) && target[i] >= first && target[i] - first < int64_t{classes};
    PlaneWord<Bits>& word = words[i / kPerWord];
    word.value |= (is_here ? uint32_t{value[i]} : 0) << (i % kPerWord * 16);
    word.number |= (is_here ? static_cast<uint32_t>(target[i] - first) : kMostClasses) << (i % kPerWord * 16);
  }
  out += offset[0] + column * count + first * class_stride;
#pragma unroll 2
  for (uint32_t c = 0; c < classes; ++c, out += class_stride)
    store_at_once(out, uint4{words[0].of_class(c), words[1].of_class(c), words[2].of_class(c), words[3].of_class(c)});
}

// All elements of out are neighbours, position after position.  A thread has some vectors of them, and a block finds
// first what is in the positions that its vectors belong to, which is kept in shared memory.
constexpr int kFlatVectors = 8;  // of a thread, at most
template <class Bits> struct FlatPosition {
  int number;  // of the class
  Bits value;
};
template <class Bits, class Element>
__global__ void __launch_bounds__(kThreads)
    write_flat(const __grid_constant__ Gradients gradients, Divisor per_position, int vectors, int64_t positions,
               int64_t target_step, int64_t gradient_step, Bits* out) {
  constexpr int count = Vector<Bits>::kCount, kPerWord = 4 / sizeof(Bits), kNowhere = -(1 << 30);
  FlatPosition<Bits>* const found = shared_memory<FlatPosition<Bits>>();
  const int classes = static_cast<int>(gradients.classes.count);
  const int per_block = kThreads * vectors * count;
  const int64_t begin = int64_t{blockIdx.x} * per_block, left = positions * classes - begin;
  const int elements = static_cast<int>(left < per_block ? left : per_block);
  int64_t column = begin;
  const int64_t first = per_position.divide(column);
  const int there = (static_cast<int>(column) + elements - 1) / classes + 1;
  constexpr int kAtOnce = 4;  // positions of a thread whose targets are asked for together
  for (int begin_at = static_cast<int>(threadIdx.x); begin_at <= there; begin_at += kAtOnce * kThreads) {
    const auto position = [&](int u) { return begin_at + u * kThreads; };
    int64_t target[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      target[u] = position(u) < there ? gradients.target_at((first + position(u)) * target_step) : -1;  // no class
    Bits value[kAtOnce];
    gradients.values<Element>(
        target, [&](int u) { return (first + position(u)) * gradient_step; },
        [&](int u) { return position(u) < there; }, value);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (position(u) > there) break;  // the last vector may ask for one more
      found[position(u)] = gradients.classes.counts(target[u])
                               ? FlatPosition<Bits>{static_cast<int>(target[u]), value[u]}
                               : FlatPosition<Bits>{kNowhere, Bits{}};
    }
  }
  __syncthreads();
#pragma unroll 4
  for (int v = 0; v < vectors; ++v) {
    const int at = (v * kThreads + static_cast<int>(threadIdx.x)) * count;
    if (at >= elements) return;
    uint32_t c = static_cast<uint32_t>(column) + static_cast<uint32_t>(at);
    int p = static_cast<int>(per_position.divide(c));
    uint32_t words[4] = {};
    int class_0 = -static_cast<int>(c);  // of the position, from the vector's begin
    const auto put = [&] {
      const unsigned mine = static_cast<unsigned>(class_0 + found[p].number);  // large where it is before the vector
      const uint32_t bits = static_cast<uint32_t>(found[p].value) << (mine % kPerWord * 16);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) words[w] |= w == mine / kPerWord ? bits : 0;
      class_0 += classes;
      ++p;
    };
    put();
    put();
    while (class_0 < count && p < there) put();
    if (at + count <= elements) {
      *reinterpret_cast<uint4*>(out + begin + at) = {words[0], words[1], words[2], words[3]};
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (at + i < elements) out[begin + at + i] = static_cast<Bits>(words[i / kPerWord] >> (i % kPerWord * 16));
    }
  }
}

// Classes are neighbours in out: a thread has a vector of them, V elements of one position.
template <class Bits, int V>
__global__ void __launch_bounds__(kThreads)
    write_rows(const __grid_constant__ Gradients gradients, const __grid_constant__ Places<3> places,
               Divisor per_position, int64_t vectors, int64_t class_stride, Bits* out) {
  struct alignas(V == 1 ? alignof(Bits) : V * sizeof(Bits)) Some {
    Bits at[V];
  };
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += step) {
    int64_t column = i, offset[3] = {};
    const int64_t position = per_position.divide(column);
    places.add(position, offset);
    const int64_t index = gradients.target_at(offset[1]), first = column * V;
    Some some = {};
    if (gradients.classes.counts(index) && index >= first && index < first + V) {
      const Bits value = gradients.of<Bits>(index, offset[2], gradients.common_factor());
#pragma unroll
      for (int j = 0; j < V; ++j)
        if (index == first + j) some.at[j] = value;
    }
    *reinterpret_cast<Some*>(out + offset[0] + first * class_stride) = some;
  }
}

// Whether every row of neighbours begins where 16 bytes may be written, and is made of such pieces.
template <class Bits> bool in_vectors(const NLLLossBackwardArgs& a, const void* out, int dimensions, int64_t width) {
  constexpr int64_t count = Vector<Bits>::kCount;
  if (!is_aligned(out) || width % count != 0) return false;
  for (int i = 0; i < dimensions; ++i)
    if (a.points.stride[0][i] % count != 0) return false;
  return true;
}

// The kernel for operands of one type and weights that are neighbours, or for any.
template <class Bits, class Pick> auto kernel_of(const NLLLossBackwardArgs& a, const Pick& pick) {
  auto kernel = pick.template operator()<void>();
  if (a.points.dtype[0] == a.classes.rounded && a.classes.weight.contiguous(0))
    visit(Dtypes<float, float16, bfloat16>{}, a.points.dtype[0], [&]<class Element> {
      if constexpr (sizeof(Element) == sizeof(Bits)) kernel = pick.template operator()<Element>();
    });
  return kernel;
}

template <class Bits> Status write_gradients(const NLLLossBackwardArgs& a, void* const* data, Launch& launch) {
  constexpr int64_t count = Vector<Bits>::kCount;
  const CudaLaunch on = cuda_launch(launch);
  const int64_t points = a.points.points(), classes = a.classes.count;
  if (points == 0 || classes == 0) return {};
  const Gradients gradients{
      Classes(a.classes, a.points.dtype[1], data[3]), data[1], data[2], data[4], a.points.dtype[0], a.reduced, a.mean};
  Bits* const out = static_cast<Bits*>(data[0]);
  const int last = a.points.rank - 1;
  if constexpr (sizeof(Bits) <= 4) {
    if (last >= 0 && a.points.stride[0][last] == 1 && (classes == 1 || a.class_stride % count == 0) &&
        in_vectors<Bits>(a, out, last, a.points.extent[last])) {
      // Enough threads to fill the card, and enough classes for each that looking at the targets costs little.
      constexpr int64_t kFewest = 64;
      const int64_t vectors = points / count, blocks = ceil_divide(vectors, kPlaneThreads<Bits>);
      const int64_t wanted = std::min(ceil_divide(on.multiprocessors * 4, blocks), ceil_divide(classes, kFewest));
      const int64_t per_part = std::min<int64_t>(ceil_divide(classes, wanted), kMostClasses);
      const int64_t parts = ceil_divide(classes, per_part);
      const auto kernel = kernel_of<Bits>(a, [&]<class Element> { return write_planes<Bits, Element>; });
      return start(on, kernel, blocks * parts, kPlaneThreads<Bits>, 0, gradients, Places<3>(a.points, last),
                   Divisor(a.points.extent[last] / count), vectors, a.points.stride[1][last], a.points.stride[2][last],
                   a.class_stride, static_cast<int>(per_part), Divisor(blocks), out);
    }
    const bool packed =
        (classes == 1 || a.class_stride == 1) && (last < 0 || (last == 0 && a.points.stride[0][0] == classes));
    if (packed && is_aligned(out) && classes <= INT32_MAX / 2) {
      // Of few classes so many that a block has 4096 positions at most: any card has shared memory for these.
      const int64_t vectors = std::min<int64_t>(kFlatVectors, 2 * classes), per_block = kThreads * vectors * count;
      static_assert(kThreads * 2 * count <= 4096);
      return start(on, kernel_of<Bits>(a, [&]<class Element> { return write_flat<Bits, Element>; }),
                   ceil_divide(points * classes, per_block), kThreads,
                   static_cast<size_t>(per_block / classes + 3) * sizeof(FlatPosition<Bits>), gradients,
                   Divisor(classes), static_cast<int>(vectors), points, last < 0 ? 0 : a.points.stride[1][0],
                   last < 0 ? 0 : a.points.stride[2][0], out);
    }
  }
  const Places<3> places(a.points);
  const auto rows = [&](auto kernel, int64_t per_position) {
    return start(on, kernel, blocks_for(on, points * per_position, kThreads, 64), kThreads, 0, gradients, places,
                 Divisor(per_position), points * per_position, a.class_stride, out);
  };
  if (count > 1 && a.class_stride == 1 && in_vectors<Bits>(a, out, a.points.rank, classes))
    return rows(write_rows<Bits, static_cast<int>(count)>, classes / count);
  return rows(write_rows<Bits, 1>, classes);
}

Status nll_loss_backward(const NLLLossBackwardArgs& a, void* const* data, Launch& launch) {
  switch (size_of(a.points.dtype[0])) {
    case 2:
      return write_gradients<uint16_t>(a, data, launch);
    case 4:
      return write_gradients<uint32_t>(a, data, launch);
    case 8:
      return write_gradients<uint64_t>(a, data, launch);
    default:
      return write_gradients<detail::Bytes16>(a, data, launch);
  }
}
[[maybe_unused]] const bool registered = cuda_kernels().add(kNLLLossBackward, nll_loss_backward);

}  // namespace
}  // namespace descend::cuda
