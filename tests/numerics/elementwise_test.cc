// SPDX-License-Identifier: MIT
// The elementwise loops on every SIMD target: dtypes, layouts, lengths, alignments, rounding, against a loop of one
// line.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/numerics/elementwise_test.cc"
#include <hwy/foreach_target.h>

#include "src/loops/elementwise_cpu-inl.h"
#include "src/loops/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace descend {
namespace HWY_NAMESPACE {

// a + 2 b + 3 c + ...: exact for small whole numbers, and different for every order of the operands.
struct Weighted {
  template <class D, class V> V operator()(D, V a) const { return hn::Add(a, a); }
  template <class D, class V> V operator()(D d, V a, V b) const { return hn::Add(a, twice(d, b)); }
  template <class D, class V> V operator()(D d, V a, V b, V c) const {
    return hn::Add((*this)(d, a, b), hn::Add(c, twice(d, c)));
  }
  template <class D, class V> V operator()(D d, V a, V b, V c, V e) const {
    return hn::Add((*this)(d, a, b, c), twice(d, twice(d, e)));
  }
  template <class D, class V> static V twice(D, V x) { return hn::Add(x, x); }
};

// Something whose bits change with every shortcut.
struct Curve {
  template <class D, class V> V operator()(D d, V a, V b) const { return hn::Mul(a, expm1(d, hn::Sub(b, a))); }
};

template <class T, class F> void run(int operands, const void* points, void* const* data, DataType rounded, F f) {
  if constexpr (std::is_same_v<F, Weighted>) {
    if (operands == 2) elementwise<T>(*static_cast<const Iteration<2>*>(points), data, rounded, f);
    if (operands == 4) elementwise<T>(*static_cast<const Iteration<4>*>(points), data, rounded, f);
    if (operands == 5) elementwise<T>(*static_cast<const Iteration<5>*>(points), data, rounded, f);
  }
  if (operands == 3) elementwise<T>(*static_cast<const Iteration<3>*>(points), data, rounded, f);
}
void RunWeighted(bool in_double, int operands, const void* points, void* const* data, DataType rounded) {
  in_double ? run<double>(operands, points, data, rounded, Weighted{})
            : run<float>(operands, points, data, rounded, Weighted{});
}
void RunCurve(bool in_double, int operands, const void* points, void* const* data, DataType rounded) {
  in_double ? run<double>(operands, points, data, rounded, Curve{})
            : run<float>(operands, points, data, rounded, Curve{});
}

}  // namespace HWY_NAMESPACE
}  // namespace descend
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tests/numerics/targets.h"

namespace descend {
namespace {

HWY_EXPORT(RunWeighted);
HWY_EXPORT(RunCurve);

template <int N> void weighted(bool in_double, const Iteration<N>& points, void* const* data, DataType rounded) {
  HWY_DYNAMIC_DISPATCH(RunWeighted)(in_double, N, &points, data, rounded);
}
void curve(bool in_double, const Iteration<3>& points, void* const* data, DataType rounded) {
  HWY_DYNAMIC_DISPATCH(RunCurve)(in_double, 3, &points, data, rounded);
}

using Floats = Dtypes<float, float16, bfloat16, double>;
constexpr DataType kFloats[] = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16, DataType::kDouble};

// `value` rounded to the dtype, as the dtype's own conversion says.
double round_to(DataType dtype, double value) {
  switch (dtype) {
    case DataType::kFloat16:
    case DataType::kComplex32:
      return static_cast<float>(float16::from(round_to_odd(value)));
    case DataType::kBfloat16:
      return static_cast<float>(bfloat16::from(round_to_odd(value)));
    case DataType::kFloat:
    case DataType::kComplex64:
      return static_cast<float>(value);
    default:
      return value;
  }
}

// One operand: a view into storage of its own, all of it filled before.
struct Operand {
  aclTensor view;
  std::vector<std::byte> storage;

  Operand(DataType dtype, Shape shape, Dims strides) {
    view.dtype = dtype;
    view.shape = shape;
    view.strides = strides;
    int64_t lowest = 0, highest = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t reach = shape[i] > 0 ? (shape[i] - 1) * strides[i] : 0;
      (reach < 0 ? lowest : highest) += reach;
    }
    view.offset = 3 - lowest;
    storage.assign(static_cast<size_t>(highest - lowest + 7) * size_of(dtype), std::byte{0x5a});
  }
  std::byte* at(int64_t element) {
    return storage.data() + static_cast<size_t>(view.offset + element) * size_of(view.dtype);
  }
  void set(int64_t element, double value) {
    visit(Floats{}, view.dtype, [&]<class T> {
      T converted;
      if constexpr (std::is_arithmetic_v<T>)
        converted = static_cast<T>(value);
      else
        converted = T::from(static_cast<float>(value));
      std::memcpy(at(element), &converted, sizeof converted);
    });
  }
  double get(int64_t element) {
    double value = 0;
    const auto read = [&]<class T> {
      T stored;
      std::memcpy(&stored, at(element), sizeof stored);
      if constexpr (std::is_arithmetic_v<T>)
        value = static_cast<double>(stored);
      else if constexpr (is_complex(dtype_of<T>) && sizeof(T) > 4)
        value = stored.imag() == 0 ? static_cast<double>(stored.real()) : NAN;
      else if constexpr (is_complex(dtype_of<T>))
        value = stored.imaginary.bits == 0 ? static_cast<double>(static_cast<float>(stored.real)) : NAN;
      else
        value = static_cast<double>(static_cast<float>(stored));
    };
    visit(Floats{}, view.dtype, read) || visit(Complexes{}, view.dtype, read);
    return value;
  }
};

// Offsets of every operand at every point of the output, in the order of its indices.
template <int N> std::vector<std::array<int64_t, N>> all_points(std::array<Operand*, N> operands) {
  std::vector<std::array<int64_t, N>> points;
  const Shape& shape = operands[0]->view.shape;
  const int rank = static_cast<int>(shape.size());
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  for (int64_t number = 0; number < count; ++number) {
    std::array<int64_t, N> offset{};
    int64_t rest = number;
    for (int i = rank - 1; i >= 0; rest /= shape[i], --i)
      for (int k = 0; k < N; ++k) {
        const aclTensor& view = operands[k]->view;
        const int own = i - rank + static_cast<int>(view.shape.size());
        if (own >= 0 && view.shape[own] != 1) offset[k] += rest % shape[i] * view.strides[own];
      }
    points.push_back(offset);
  }
  return points;
}

template <int N> Iteration<N> iterate_over(std::array<Operand*, N> operands, std::array<void*, N>& data) {
  std::array<const aclTensor*, N> views;
  for (int k = 0; k < N; ++k) {
    views[k] = &operands[k]->view;
    data[k] = operands[k]->at(0);
  }
  return iterate<N>(views);
}

// Runs Weighted on small whole numbers and compares every element of the output's storage, the untouched ones too.
template <int N> void expect_weighted(std::array<Operand*, N> operands, DataType rounded, bool in_double, double unit) {
  std::mt19937 random(5);
  for (int k = 1; k < N; ++k) {
    const int64_t all = static_cast<int64_t>(operands[k]->storage.size() / size_of(operands[k]->view.dtype));
    for (int64_t i = 0; i < all; ++i)
      operands[k]->set(i - operands[k]->view.offset, unit * (static_cast<double>(random() % 15) - 7));
  }
  Operand wanted = *operands[0];
  std::vector<std::pair<int64_t, double>> values;
  for (const auto& offset : all_points<N>(operands)) {
    double sum = N == 2 ? 2 * operands[1]->get(offset[1]) : 0;
    for (int k = 1; N > 2 && k < N; ++k) sum += k * operands[k]->get(offset[k]);
    values.emplace_back(offset[0], round_to(operands[0]->view.dtype, round_to(rounded, sum)));
  }
  std::array<void*, N> data;
  const Iteration<N> points = iterate_over<N>(operands, data);
  weighted(in_double, points, data.data(), rounded);
  for (const auto& [offset, value] : values) {
    const double got = operands[0]->get(offset);
    ASSERT_TRUE(got == value || (std::isnan(got) && std::isnan(value))) << got << " for " << value << " at " << offset;
    std::memset(operands[0]->at(offset), 0x5a, size_of(operands[0]->view.dtype));
  }
  ASSERT_EQ(operands[0]->storage, wanted.storage) << "written outside the view";
}

struct Layout {
  const char* name;
  Shape shape;
  Dims out, a, b;         // strides
  Shape b_shape = shape;  // may be one that is broadcast
};
std::vector<Layout> layouts() {
  return {{"one point", {}, {}, {}, {}},
          {"nothing", {4, 0}, {1, 1}, {1, 1}, {1, 1}},
          {"contiguous", {2, 5, 7}, {35, 7, 1}, {35, 7, 1}, {35, 7, 1}},
          {"contiguous, long", {1300}, {1}, {1}, {1}},
          {"a broadcast scalar", {9, 7}, {7, 1}, {7, 1}, {}, {}},
          {"a broadcast row", {40, 30}, {30, 1}, {30, 1}, {1}, {30}},
          {"a broadcast column", {40, 30}, {30, 1}, {30, 1}, {1, 1}, {40, 1}},
          {"every second", {300}, {2}, {1}, {3}},
          {"reversed", {300}, {-1}, {1}, {-2}},
          {"a transposed input", {70, 45}, {45, 1}, {45, 1}, {1, 70}},
          {"a transposed output", {70, 45}, {1, 70}, {45, 1}, {45, 1}},
          {"all transposed", {70, 45}, {1, 70}, {1, 70}, {1, 70}},
          {"transposed in a batch", {3, 33, 40}, {1320, 40, 1}, {1320, 1, 33}, {1, 3, 99}},
          {"rows of three", {400, 3}, {4, 1}, {3, 1}, {5, 1}},
          {"a window", {5, 6, 7}, {90, 10, 1}, {90, 10, 1}, {42, 7, 1}},
          {"permuted, eight dimensions",
           {2, 3, 2, 3, 2, 1, 3, 2},
           {1, 2, 6, 12, 36, 1, 72, 216},
           {216, 72, 36, 12, 6, 6, 2, 1},
           {1, 4, 12, 24, 72, 0, 144, -432}},
          {"zero strides in an input", {20, 30}, {30, 1}, {0, 1}, {0, 0}}};
}

class ElementwiseDtypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(elementwise, ElementwiseDtypes, testing::ValuesIn(kFloats),
                         [](const auto& info) { return name(info.param); });

TEST_P(ElementwiseDtypes, one_dtype_in_every_layout) {
  const DataType dtype = GetParam();
  for_each_target([&] {
    for (const Layout& l : layouts()) {
      SCOPED_TRACE(l.name);
      Operand out(dtype, l.shape, l.out), a(dtype, l.shape, l.a), b(dtype, l.b_shape, l.b);
      expect_weighted<3>({&out, &a, &b}, dtype, dtype == DataType::kDouble, 1);
    }
  });
}

TEST_P(ElementwiseDtypes, any_two_dtypes_in_every_layout) {
  const DataType dtype = GetParam();
  for_each_target([&] {
    for (const DataType other : kFloats)
      for (const Layout& l : layouts()) {
        SCOPED_TRACE(testing::Message() << l.name << " with " << name(other));
        Operand out(other, l.shape, l.out), a(dtype, l.shape, l.a), b(other, l.b_shape, l.b);
        const bool in_double = dtype == DataType::kDouble || other == DataType::kDouble;
        expect_weighted<3>({&out, &a, &b}, in_double ? DataType::kDouble : DataType::kFloat, in_double, 1);
      }
  });
}

// The inputs' step is too fine for the sums to be exact in a half kind, so each rounding shows; in the compute type
// they are exact.
TEST_P(ElementwiseDtypes, rounds_to_the_promoted_dtype_and_then_casts) {
  const DataType dtype = GetParam();
  const double unit = dtype == DataType::kBfloat16 ? 0x1.12p0 : dtype == DataType::kFloat16 ? 0x1.134p0 : 0x1.1357p0;
  for_each_target([&] {
    for (const DataType output : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16, DataType::kDouble,
                                  DataType::kComplex32, DataType::kComplex64, DataType::kComplex128})
      for (const Layout& l : layouts()) {
        SCOPED_TRACE(testing::Message() << l.name << " to " << name(output));
        Operand out(output, l.shape, l.out), a(dtype, l.shape, l.a), b(dtype, l.b_shape, l.b);
        expect_weighted<3>({&out, &a, &b}, dtype, dtype == DataType::kDouble, unit);
      }
  });
}

TEST_P(ElementwiseDtypes, two_to_five_operands) {
  const DataType dtype = GetParam();
  const bool in_double = dtype == DataType::kDouble;
  for_each_target([&] {
    for (const Layout& l : layouts()) {
      SCOPED_TRACE(l.name);
      Operand out(dtype, l.shape, l.out), a(dtype, l.shape, l.a), b(dtype, l.b_shape, l.b), c(dtype, l.shape, l.out),
          e(dtype, l.shape, l.a);
      expect_weighted<2>({&out, &b}, dtype, in_double, 1);
      expect_weighted<4>({&out, &a, &b, &c}, dtype, in_double, 1);
      expect_weighted<5>({&out, &a, &b, &c, &e}, dtype, in_double, 1);
    }
  });
}

TEST_P(ElementwiseDtypes, an_input_may_be_the_output) {
  const DataType dtype = GetParam();
  for_each_target([&] {
    for (const Layout& l : layouts()) {
      SCOPED_TRACE(l.name);
      Operand out(dtype, l.shape, l.out), b(dtype, l.b_shape, l.b);
      const auto offsets = all_points<2>({&out, &b});
      std::vector<double> wanted;
      for (size_t i = 0; i < offsets.size(); ++i) out.set(offsets[i][0], static_cast<double>(i % 16));
      for (const auto& offset : offsets) b.set(offset[1], 3);
      for (const auto& offset : offsets) wanted.push_back(out.get(offset[0]) + 6);
      std::array<void*, 3> data;
      const Iteration<3> points = iterate_over<3>({&out, &out, &b}, data);
      weighted(dtype == DataType::kDouble, points, data.data(), dtype);
      for (size_t i = 0; i < offsets.size(); ++i) ASSERT_EQ(out.get(offsets[i][0]), wanted[i]) << i;
    }
  });
}

// More points than a thread takes at a time, in registers and in boxes.
TEST_P(ElementwiseDtypes, large_operands) {
  const DataType dtype = GetParam();
  for (const Layout& l :
       {Layout{"line", {100003}, {1}, {1}, {1}}, Layout{"transposed", {301, 333}, {333, 1}, {1, 301}, {333, 1}},
        Layout{"rows", {33000, 3}, {3, 1}, {4, 1}, {1}, {3}}}) {
    SCOPED_TRACE(l.name);
    Operand out(dtype, l.shape, l.out), a(dtype, l.shape, l.a), b(dtype, l.b_shape, l.b);
    expect_weighted<3>({&out, &a, &b}, dtype, dtype == DataType::kDouble, 1);
  }
}

// Bits of Curve for one element at a time on the first target: what every other way must give.
std::vector<uint64_t> curve_bits(Operand& out, Operand& a, Operand& b) {
  std::array<void*, 3> data;
  const Iteration<3> points = iterate_over<3>({&out, &a, &b}, data);
  curve(out.view.dtype == DataType::kDouble, points, data.data(), out.view.dtype);
  std::vector<uint64_t> bits;
  for (const auto& offset : all_points<3>({&out, &a, &b})) {
    bits.push_back(0);
    std::memcpy(&bits.back(), out.at(offset[0]), size_of(out.view.dtype));
  }
  return bits;
}
double argument(int64_t i, int operand) { return std::sin(static_cast<double>(7 * i + 3 * operand)) * 5; }

TEST_P(ElementwiseDtypes, same_bits_for_any_length_layout_alignment_and_target) {
  const DataType dtype = GetParam();
  constexpr int64_t kLongest = 70;
  std::vector<uint64_t> wanted;
  for (int64_t i = 0; i < kLongest; ++i) {
    Operand out(dtype, {}, {}), a(dtype, {}, {}), b(dtype, {}, {});
    a.set(0, argument(i, 0));
    b.set(0, argument(i, 1));
    wanted.push_back(curve_bits(out, a, b)[0]);
  }
  for_each_target([&] {
    for (int64_t n = 1; n <= kLongest; ++n)
      for (const auto& [out_step, a_step, b_step] :
           {std::array<int64_t, 3>{1, 1, 1}, {1, 2, 1}, {-1, 1, -3}, {2, 1, 1}})
        for (int64_t shift = 0; shift < (out_step == 1 ? 5 : 1); ++shift) {
          Operand out(dtype, {n}, {out_step}), a(dtype, {n}, {a_step}), b(dtype, {n}, {b_step});
          out.view.offset += shift % 3;  // other alignments; the storage has room for it
          a.view.offset += shift % 2;
          b.view.offset -= shift % 4;
          for (int64_t i = 0; i < n; ++i) {
            a.set(i * a_step, argument(i, 0));
            b.set(i * b_step, argument(i, 1));
          }
          ASSERT_EQ(curve_bits(out, a, b), std::vector<uint64_t>(wanted.begin(), wanted.begin() + n)) << n;
        }
  });
}

// Each operand ends where the next page may not be touched, and begins where the page before may not.
TEST_P(ElementwiseDtypes, nothing_outside_the_operands_is_touched) {
  const DataType dtype = GetParam();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), size = size_of(dtype);
  std::array<std::byte*, 3> middle;
  for (std::byte*& m : middle) {
    void* memory = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    m = static_cast<std::byte*>(memory) + page;
    ASSERT_EQ(mprotect(m, page, PROT_READ | PROT_WRITE), 0);
  }
  for_each_target([&] {
    for (int64_t n = 1; n <= 70; ++n)
      for (const DataType rounded : {dtype, DataType::kFloat16})  // in registers, and in boxes
        for (const bool at_end : {true, false}) {
          aclTensor line;
          line.dtype = dtype;
          line.shape = {n};
          line.strides = {1};
          std::array<void*, 3> data;
          for (int k = 0; k < 3; ++k) data[k] = middle[k] + (at_end ? page - static_cast<size_t>(n) * size : 0);
          const Iteration<3> points = iterate<3>({&line, &line, &line});
          weighted(dtype == DataType::kDouble, points, data.data(), rounded);
        }
  });
  for (std::byte* m : middle) munmap(m - page, 3 * page);
}

}  // namespace
}  // namespace descend
#endif
