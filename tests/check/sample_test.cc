// SPDX-License-Identifier: MIT
// Floats where a tensor has elements of 16 bits: what is taken for them, and when nobody can know.
#include "src/check/sample.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/check/checker_fixture.h"

namespace descend::test {
namespace {

template <class T> std::string floats_in(const std::vector<T>& data, DataType half) {
  return Sample(data.data(), data.size() * sizeof(T), {}).floats_as(half);
}
template <class Half> std::vector<Half> rounded(const std::vector<float>& values) {
  std::vector<Half> all;
  for (const float each : values) all.push_back(Half::from(each));
  return all;
}
std::vector<float> normal(size_t count, uint32_t seed) {
  std::mt19937 bits(seed);
  std::vector<float> values(count);
  for (float& each : values) {  // as good as, and the same everywhere
    each = -6;
    for (int i = 0; i < 12; ++i) each += static_cast<float>(bits() >> 8) * 0x1p-24f;
  }
  return values;
}

constexpr DataType kHalves[] = {DataType::kFloat16, DataType::kBfloat16};

TEST(CheckSample, floats_of_any_kind_are_floats) {
  for (const DataType half : kHalves)
    for (const std::vector<float>& values : std::vector<std::vector<float>>{
             {1, 2, 3}, {0, 1, 2, 3}, {0.5f, -0.25f, 8, 1000}, normal(1000, 1), normal(100000, 2)})
      EXPECT_NE(floats_in(values, half), "") << name(half) << " " << values.size();
}

TEST(CheckSample, of_bfloat16_one_float_is_enough_unless_it_is_short) {
  EXPECT_EQ(floats_in<float>({0.1f}, DataType::kBfloat16),
            "bytes 0 to 4 are 0.1 as FLOAT, but -107479040 and 0.099609375 as BF16");
  EXPECT_EQ(floats_in<float>({0, 0.5f, 0.1f}, DataType::kBfloat16).substr(0, 13), "bytes 8 to 12");
  EXPECT_EQ(floats_in<float>({1}, DataType::kBfloat16), "");
}

TEST(CheckSample, elements_are_no_floats) {
  for (uint32_t seed = 0; seed < 200; ++seed)
    for (const size_t count : {2, 4, 6, 20, 1000}) {
      const std::vector<float> values = normal(count, seed);
      EXPECT_EQ(floats_in(rounded<float16>(values), DataType::kFloat16), "") << seed;
      EXPECT_EQ(floats_in(rounded<bfloat16>(values), DataType::kBfloat16), "") << seed;
    }
}

TEST(CheckSample, what_may_be_either_is_taken_for_elements) {
  std::vector<float> one_hot(300);
  for (size_t row = 0; row < 100; ++row) one_hot[3 * row + row * row % 3] = 1;
  for (const std::vector<float>& values :
       std::vector<std::vector<float>>{{},
                                       {0, 0, 0, 0},
                                       {0, 1},
                                       {0, 1, 0, 2},
                                       {1, 0, 1, 0, 1, 0},
                                       one_hot,
                                       {0, 1, 0, 1, 0, 1, 0, 1},  // rows of two classes
                                       {1e-8f, 1},
                                       {1e-8f, 1, 2e-8f, 1, 3e-8f, 1, 1, 4e-8f},     // probabilities
                                       {-1e9f, 1, -1e9f, 2, -1e9f, 3, -1e9f, 4}}) {  // what is masked
    EXPECT_EQ(floats_in(rounded<float16>(values), DataType::kFloat16), "") << values.size();
    EXPECT_EQ(floats_in(rounded<bfloat16>(values), DataType::kBfloat16), "") << values.size();
  }
  EXPECT_EQ(floats_in<uint8_t>({1, 2, 3}, DataType::kBfloat16), "");
  EXPECT_EQ(floats_in(rounded<float16>({0, 1, 0, 2, 0, 3, 0, 15}), DataType::kFloat16), "");
  EXPECT_EQ(floats_in<float>({1, 2, 4, 8}, DataType::kFloat16), "");
  EXPECT_EQ(floats_in(normal(1000, 3), DataType::kInt16), "");
}

// Floats in a block, and a BF16 view of its first half.
class CheckCheckerFloats : public CheckChecker {
 protected:
  static constexpr int64_t kCount = 16;
  static constexpr uint64_t kBytes = kCount * sizeof(float);

  void copy(void* to, const void* from, uint64_t bytes, int32_t kind, const StreamInfo* stream = nullptr) {
    (void)checker_.submitting(stream,
                              {.function = "aclrtMemcpy", .to = to, .from = from, .bytes = bytes, .kind = kind});
  }
  static Use view(DataType dtype, const Allocation& memory, bool written = false) {
    Use made = use("self", memory, written);
    made.view.dtype = dtype;
    made.view.shape = {kCount};
    return made;
  }
  // What is said of the view after floats were copied and then before(memory) was done.
  template <class Before> Ids after(const Before& before, bool written = false) {
    const Allocation memory = allocate(kBytes);
    copy(memory.begin, floats_.data(), kBytes, 1);
    before(memory);
    return now(memory, written);
  }
  Ids now(const Allocation& memory, bool written = false) {
    const std::ptrdiff_t known = std::ssize(found());
    EXPECT_TRUE(run(1, {view(DataType::kBfloat16, memory, written)}).ok());
    checker_.joined(stream_);
    free(memory);
    const Ids all = found();
    return {all.begin() + known, all.end()};
  }

  const std::vector<float> floats_ = std::vector<float>(kCount, 0.1f);
  const StreamInfo stream_{1, 0, &device_, nullptr};
};

TEST_F(CheckCheckerFloats, are_reported_of_inputs_and_of_outputs) {
  EXPECT_EQ(after([](const Allocation&) {}), Ids{"DSC-112"});
  EXPECT_EQ(after([](const Allocation&) {}, true), Ids{"DSC-112"});
}

TEST_F(CheckCheckerFloats, are_not_there_any_more_when_anything_else_was_done_with_the_memory) {
  const std::vector<uint16_t> elements(2 * kCount);
  const Allocation other = allocate(kBytes);
  copy(other.begin, elements.data(), kBytes, 1);
  EXPECT_EQ(after([&](const Allocation& m) { copy(m.begin, elements.data(), kBytes, 1); }), Ids{});
  EXPECT_EQ(after([&](const Allocation& m) { copy(m.begin, elements.data(), kBytes / 2, 1); }), Ids{});
  EXPECT_EQ(after([&](const Allocation& m) { copy(m.begin, other.begin, kBytes, 3); }), Ids{});
  EXPECT_EQ(after([&](const Allocation& m) { copy(m.begin, nullptr, kBytes, -1); }), Ids{});  // a fill
  for (const bool written : {false, true})
    EXPECT_EQ(after([&](const Allocation& m) { (void)run(1, {view(DataType::kFloat, m, written)}); }, true), Ids{});
  free(other);
}

TEST_F(CheckCheckerFloats, are_not_looked_for_where_a_view_is_not_half_of_its_memory_in_one_piece) {
  const auto said_of = [&](const auto& change) {
    const Allocation memory = allocate(kBytes);
    copy(memory.begin, floats_.data(), kBytes, 1);
    Use made = view(DataType::kBfloat16, memory);
    change(made.view);
    EXPECT_TRUE(run(1, {made}).ok());
    checker_.joined(stream_);
    free(memory);
    return found();
  };
  EXPECT_EQ(said_of([](aclTensor& view) { view.offset = 1; }), Ids{});
  EXPECT_EQ(said_of([](aclTensor& view) { view.shape = {2 * kCount}; }), Ids{});
  EXPECT_EQ(said_of([](aclTensor& view) { view.shape = {kCount / 2}; }), Ids{});
  EXPECT_EQ(said_of([](aclTensor& view) { view.strides = {2}; }), Ids{});
  EXPECT_EQ(said_of([](aclTensor& view) { view.shape = {6}, view.strides = {3}; }), Ids{});  // has gaps
  EXPECT_EQ(said_of([](aclTensor& view) { view.dtype = DataType::kInt16; }), Ids{});
}

TEST_F(CheckCheckerFloats, are_not_meant_where_another_tensor_of_the_call_has_some_of_the_rest) {
  const Allocation apart = allocate(kBytes);
  copy_in(apart);
  const auto said_beside = [&](const auto& other_in) {
    const Allocation memory = allocate(kBytes);
    copy(memory.begin, floats_.data(), kBytes, 1);
    EXPECT_TRUE(run(1, {view(DataType::kBfloat16, memory), other_in(memory)}).ok());
    checker_.joined(stream_);
    free(memory);
    return found();
  };
  EXPECT_EQ(said_beside([](const Allocation& memory) {
              Use rest = view(DataType::kBfloat16, memory);
              rest.view.offset = kCount;
              return rest;
            }),
            Ids{});
  EXPECT_EQ(said_beside([](const Allocation& memory) { return view(DataType::kFloat, memory); }), Ids{});
  EXPECT_EQ(said_beside([&](const Allocation&) { return view(DataType::kBfloat16, apart); }), Ids{"DSC-112"});
  free(apart);
}

TEST_F(CheckCheckerFloats, are_looked_at_only_when_they_are_there) {
  Allocation pinned;
  std::vector<float> bytes = floats_;
  pinned.memory = pinned.begin = reinterpret_cast<std::byte*>(bytes.data());
  pinned.bytes = pinned.asked = kBytes;
  pinned.device = &device_;
  pinned.kind = MemoryKind::kHost;
  checker_.allocated(pinned);
  const auto from = [&](const std::byte* source, const StreamInfo* stream) {
    const Allocation memory = allocate(kBytes);
    copy(memory.begin, source, kBytes, 1, stream);
    return now(memory);
  };
  EXPECT_EQ(from(pinned.begin, nullptr), Ids{"DSC-112"});
  EXPECT_EQ(from(pinned.begin, &stream_), Ids{});              // the stream reads it later
  EXPECT_EQ(from(pinned.begin + kBytes - 4, nullptr), Ids{});  // which is refused
  checker_.host_function(2, &bytes, HostFunction::kQueued);    // which may write it
  EXPECT_EQ(from(reinterpret_cast<const std::byte*>(floats_.data()), &stream_), Ids{});
  checker_.freeing(pinned);
}

}  // namespace
}  // namespace descend::test
