// SPDX-License-Identifier: MIT
// The parts of the checker: which bytes were written, what happens before what, and the values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "src/check/order.h"
#include "src/check/reporter.h"
#include "src/check/shadow.h"
#include "src/check/values.h"

namespace descend::test {
namespace {

aclTensor view_of(DataType dtype, Dims shape, Dims strides, void* data, int64_t offset = 0) {
  aclTensor view;
  view.dtype = dtype;
  view.shape = shape;
  view.strides = strides;
  view.data = data;
  view.offset = offset;
  return view;
}

TEST(CheckShadow, knows_every_range_of_bytes) {
  constexpr size_t kBytes = 200;
  for (size_t begin = 0; begin < kBytes; begin += 7)
    for (size_t end = begin + 1; end <= kBytes; end += 13) {
      Shadow shadow(kBytes);
      shadow.mark(begin, end);
      EXPECT_EQ(shadow.first_unwritten(begin, end), end);
      EXPECT_EQ(shadow.first_unwritten(begin, kBytes), end);
      if (begin == 0) continue;
      EXPECT_EQ(shadow.first_unwritten(begin - 1, end), begin - 1);
    }
}

TEST(CheckShadow, knows_where_the_next_written_byte_is) {
  constexpr size_t kBytes = 200;
  for (size_t begin = 0; begin < kBytes; begin += 7)
    for (size_t end = begin + 1; end <= kBytes; end += 13) {
      Shadow shadow(kBytes);
      EXPECT_EQ(shadow.first_written(0, end), end);
      shadow.mark(begin, end);
      for (size_t from = 0; from < kBytes; ++from)
        EXPECT_EQ(shadow.first_written(from, kBytes), from < end ? std::max(from, begin) : kBytes)
            << begin << " " << end;
      EXPECT_EQ(shadow.first_written(0, begin), begin);
      EXPECT_EQ(shadow.first_written(end, kBytes + 50), kBytes + 50) << "past the end nothing is written";
    }
}

TEST(CheckShadow, past_the_end_nothing_is_written) {
  Shadow shadow(100);
  shadow.mark(0, 200);
  EXPECT_EQ(shadow.first_unwritten(0, 100), 100u);
  EXPECT_EQ(shadow.first_unwritten(0, 150), 100u);
  EXPECT_EQ(shadow.first_unwritten(120, 150), 120u);
}

TEST(CheckShadow, nothing_is_written_at_first_and_parts_add_up) {
  Shadow shadow(128);
  EXPECT_EQ(shadow.first_unwritten(5, 128), 5u);
  shadow.mark(0, 64);
  shadow.mark(65, 128);
  EXPECT_EQ(shadow.first_unwritten(0, 128), 64u);
  shadow.mark(64, 65);
  EXPECT_EQ(shadow.first_unwritten(0, 128), 128u);
}

// Against a vector of bools: what is copied is as written as its source, also within one and past the end.
TEST(CheckShadow, carries_over_what_was_written_and_what_was_not) {
  constexpr size_t kBytes = 200;
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<bool> expected[2] = {std::vector<bool>(kBytes), std::vector<bool>(kBytes)};
    Shadow shadows[2] = {Shadow(kBytes), Shadow(kBytes)};
    for (int step = 0; step < 12; ++step) {
      const size_t to = below(2), from = below(2), begin = below(4) == 0 ? 0 : below(kBytes);
      const size_t bytes = begin == 0 && below(2) == 0 ? kBytes : 1 + below(kBytes - begin),
                   source = below(kBytes + 20);
      if (below(2) == 0) {
        shadows[to].mark(begin, begin + bytes);
        std::fill_n(expected[to].begin() + static_cast<std::ptrdiff_t>(begin), bytes, true);
      } else {
        shadows[to].mark_as(shadows[from], source, begin, bytes);
        const std::vector<bool> before = expected[from];
        for (size_t i = 0; i < bytes; ++i) expected[to][begin + i] = source + i < kBytes && before[source + i];
      }
      for (size_t i = 0; i < kBytes; ++i)
        ASSERT_EQ(shadows[to].first_unwritten(i, i + 1) == i + 1, expected[to][i]) << round << " " << step << " " << i;
    }
  }
}

// The bytes that the runs cover, and how many runs there are.
std::pair<std::vector<bool>, int> covered(const aclTensor& view, const std::vector<float>& memory) {
  std::vector<bool> bytes(memory.size() * sizeof(float), false);
  int runs = 0;
  const auto base = reinterpret_cast<uintptr_t>(memory.data());
  for_each_run(view, [&](uintptr_t begin, uintptr_t end) {
    ++runs;
    for (uintptr_t at = begin; at < end; ++at) bytes[at - base] = true;
    return true;
  });
  return {bytes, runs};
}

TEST(CheckRuns, cover_exactly_the_elements_of_a_view) {
  std::vector<float> memory(64);
  const struct {
    Dims shape, strides;
    int64_t offset;
    int runs;
  } cases[] = {{{4, 8}, {8, 1}, 0, 1}, {{8, 4}, {1, 8}, 0, 1}, {{4, 3}, {8, 1}, 2, 4}, {{4}, {-2}, 9, 4},
               {{5, 3}, {0, 1}, 1, 1}, {{}, {}, 7, 1},         {{0, 4}, {4, 1}, 0, 0}, {{2, 3, 4}, {24, 8, 2}, 1, 24}};
  for (const auto& c : cases) {
    const aclTensor view = view_of(DataType::kFloat, c.shape, c.strides, memory.data(), c.offset);
    const auto [bytes, runs] = covered(view, memory);
    std::vector<bool> expected(bytes.size(), false);
    for (int64_t i = 0; i < size_of(view); ++i) {
      int64_t at = c.offset, rest = i;
      for (size_t k = c.shape.size(); k-- > 0; rest /= c.shape[k]) at += rest % c.shape[k] * c.strides[k];
      for (size_t b = 0; b < sizeof(float); ++b) expected[static_cast<size_t>(at) * sizeof(float) + b] = true;
    }
    EXPECT_EQ(bytes, expected) << describe(view);
    EXPECT_EQ(runs, c.runs) << describe(view);
  }
}

TEST(CheckOrder, work_is_over_when_the_host_has_waited) {
  Order order;
  const auto work = order.submit(1);
  const uint64_t number = work.number;
  EXPECT_FALSE(order.before(1, number, order.host()));
  order.join(1);
  EXPECT_TRUE(order.before(1, number, order.host()));
  EXPECT_FALSE(order.before(1, order.submit(1).number, order.host()));
}

TEST(CheckOrder, an_event_carries_what_was_before_it_and_nothing_after) {
  Order order;
  const int event = 0;
  const uint64_t first = order.submit(1).number;
  order.record(&event, 1);
  const uint64_t second = order.submit(1).number;
  EXPECT_FALSE(order.before(1, first, order.submit(2).after));
  order.wait(2, &event);
  const auto later = order.submit(2);
  EXPECT_TRUE(order.before(1, first, later.after));
  EXPECT_FALSE(order.before(1, second, later.after));
  // Through a third stream, and to the host.
  const int other = 0;
  order.record(&other, 2);
  order.wait(3, &other);
  EXPECT_TRUE(order.before(1, first, order.submit(3).after));
  order.join_event(&other);
  EXPECT_TRUE(order.before(1, first, order.host()));
  EXPECT_FALSE(order.before(1, second, order.host()));
}

TEST(CheckOrder, an_event_that_was_reset_carries_what_the_resetting_stream_knew) {
  Order order;
  const int event = 0;
  const uint64_t number = order.submit(1).number;
  order.record(&event, 1);
  order.reset(&event, 2);
  order.wait(3, &event);
  EXPECT_FALSE(order.before(1, number, order.submit(3).after));
  order.record(&event, 1);
  order.wait(2, &event);
  order.reset(&event, 2);
  order.wait(3, &event);
  EXPECT_TRUE(order.before(1, number, order.submit(3).after));
}

TEST(CheckOrder, a_stream_that_has_ended_is_before_everything) {
  Order order;
  const uint64_t number = order.submit(1).number;
  order.end(1);
  EXPECT_TRUE(order.before(1, number, order.host()));
  EXPECT_TRUE(order.before(1, number, order.submit(2).after));
}

TEST(CheckValues, finds_the_one_number_that_is_not_finite_wherever_it_is) {
  std::vector<float> values(300000, 1e30f);
  const auto all = view_of(DataType::kFloat, {300000}, {1}, values.data());
  const auto odd = view_of(DataType::kFloat, {150000}, {2}, values.data(), 1);
  EXPECT_FALSE(has_not_finite(all));
  for (const size_t at : {size_t{0}, size_t{131071}, values.size() - 2}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), NAN}) {
      values[at] = bad;
      EXPECT_TRUE(has_not_finite(all)) << at;
      EXPECT_EQ(has_not_finite(odd), at % 2 == 1) << at;
    }
    values[at] = 0;
  }
  EXPECT_FALSE(has_not_finite(view_of(DataType::kInt32, {1}, {1}, values.data())));
}

TEST(CheckValues, knows_every_half_and_doubles_of_either_sign) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    EXPECT_EQ(has_not_finite(view_of(DataType::kFloat16, {1}, {1}, &half)), (bits & 0x7c00) == 0x7c00) << bits;
    EXPECT_EQ(has_not_finite(view_of(DataType::kBfloat16, {1}, {1}, &half)), (bits & 0x7f80) == 0x7f80) << bits;
  }
  for (double value : {0.0, -0.0, 1e308, -1e308, double{INFINITY}, -double{INFINITY}, double{NAN}, -double{NAN}})
    EXPECT_EQ(has_not_finite(view_of(DataType::kDouble, {1}, {1}, &value)), !std::isfinite(value)) << value;
}

// A part that is not finite, in an element at either end of many and in one by itself.
template <class Part> void check_complex(DataType dtype, Part one, Part bad) {
  std::vector<Part> parts(80, one);
  const auto all = view_of(dtype, {40}, {1}, parts.data()), last = view_of(dtype, {1}, {1}, parts.data(), 39);
  EXPECT_FALSE(has_not_finite(all));
  for (const size_t at : {size_t{0}, size_t{1}, parts.size() - 2, parts.size() - 1}) {
    parts[at] = bad;
    EXPECT_TRUE(has_not_finite(all)) << at;
    EXPECT_EQ(has_not_finite(last), at / 2 == 39) << at;
    parts[at] = one;
  }
}

TEST(CheckValues, either_part_of_a_complex_number_may_be_a_nan) {
  check_complex<uint16_t>(DataType::kComplex32, 0x3c00, 0x7e00);
  check_complex<float>(DataType::kComplex64, 1, NAN);
  check_complex<double>(DataType::kComplex128, 1, NAN);
}

TEST(CheckReporter, counts_what_is_not_suppressed_and_ends_with_the_remarks) {
  testing::internal::CaptureStderr();
  Reporter reporter("DSC-3*, DSC-201", "");
  for (const Finding finding : {Finding::kObjectAlive, Finding::kRaceOfStreams, Finding::kTarget, Finding::kTarget})
    reporter.report({finding, "aclnnTest", "target", "text", {}});
  for (int i = 0; i < 2; ++i) reporter.remark("the device is far away");
  EXPECT_EQ(reporter.found(), 1u);
  reporter.summarize();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("==descend== DSC-401 aclnnTest, target: a target is no class"), 0u) << text;
  EXPECT_TRUE(text.ends_with("\n==descend== 1 finding: DSC-401 (2 times); the device is far away\n")) << text;
}

TEST(CheckReporter, what_is_no_finding_cannot_be_suppressed_and_is_said) {
  testing::internal::CaptureStderr();
  Reporter reporter("DSC-4, DSC-40*,leaks,, ", "");
  reporter.report({Finding::kTarget, "aclnnTest", "target", "text", {}});
  EXPECT_EQ(reporter.found(), 0u);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* wrong : {"'DSC-4'", "'leaks'"})
    EXPECT_NE(text.find(std::string(wrong) + ", which is the id of no finding"), std::string::npos) << text;
  for (const char* right : {"'DSC-40*'", "''"}) EXPECT_EQ(text.find(right), std::string::npos) << text;
}

TEST(CheckReporter, findings_that_no_longer_fit_in_the_file_are_on_standard_error) {
  testing::internal::CaptureStderr();
  Reporter reporter("", "/dev/full");
  reporter.report({Finding::kTarget, "aclnnTest", "target", "text", {}});
  reporter.report({Finding::kTarget, "aclnnOther", "target", "text", {}});
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* once : {"DESCEND_CHECK_JSON cannot be written any more (No space left on device)",
                           "\"function\":\"aclnnTest\"", "\"function\":\"aclnnOther\""}) {
    EXPECT_NE(text.find(once), std::string::npos) << once << text;
    EXPECT_EQ(text.find(once), text.rfind(once)) << once << text;
  }
}

TEST(CheckReporter, a_forked_child_begins_with_nothing_found) {
  testing::internal::CaptureStderr();
  Reporter reporter("", "");
  const Reported found{Finding::kTarget, "aclnnTest", "target", "text", {}};
  reporter.report(found);
  reporter.leave_to_parent();
  EXPECT_EQ(reporter.found(), 0u);
  reporter.report(found);
  EXPECT_EQ(reporter.found(), 1u);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("DSC-401"), text.rfind("DSC-401")) << text;  // it is said in both
}

TEST(CheckValues, counts_classes_in_logical_order) {
  int64_t targets[6] = {0, 5, -100, 2, 3, -1};
  const auto count = count_classes(view_of(DataType::kInt64, {3, 2}, {1, 3}, targets), {"target", 3, -100, false});
  EXPECT_TRUE(count.valid);         // 0 and 2
  EXPECT_EQ(count.wrong, 3);        // 5, 3 and -1
  EXPECT_EQ(count.first_wrong, 2);  // 0, 2, 5, 3, -100, -1
  EXPECT_EQ(count.value, 5);
}

TEST(CheckValues, of_right_and_ignored_classes_nothing_is_wrong) {
  std::vector<int32_t> targets(200000, -100);
  const auto view = view_of(DataType::kInt32, {200000}, {1}, targets.data());
  const Advice::Classes classes{"target", 3, -100, true};
  EXPECT_FALSE(count_classes(view, classes).valid);
  targets[150000] = 2;
  EXPECT_TRUE(count_classes(view, classes).valid);
  EXPECT_EQ(count_classes(view, classes).wrong, 0);
  targets[150001] = 3;
  EXPECT_EQ(count_classes(view, classes).wrong, 1);
  EXPECT_EQ(count_classes(view, classes).first_wrong, 150001);
}

TEST(CheckValues, of_rows_that_are_0_elsewhere_the_targets_are_looked_at) {
  float values[12] = {0, NAN, 0, 0, 0, 1, INFINITY, 0, 0, 0, 0, 0};  // 4 x 3
  int64_t targets[4] = {0, 2, -100, 7};
  const auto rows = view_of(DataType::kFloat, {4, 3}, {3, 1}, values);
  const auto view = view_of(DataType::kInt64, {4}, {1}, targets);
  const Advice::Classes classes{"target", 3, -100, false};
  EXPECT_FALSE(has_not_finite_at(rows, view, classes));
  targets[2] = 0;
  EXPECT_TRUE(has_not_finite_at(rows, view, classes));
}

}  // namespace
}  // namespace descend::test
