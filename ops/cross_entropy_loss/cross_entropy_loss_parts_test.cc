// SPDX-License-Identifier: MIT
// Rows of several parts: each part's exponentials are those of differences to its own largest score.
#include <limits>

#include "ops/cross_entropy_loss/cross_entropy_loss_test.h"

namespace descend::test::cross_entropy_loss {
namespace {

constexpr int64_t kHalfPart = 1024;  // of FLOAT, and a quarter of halves

TEST_F(CrossEntropyLossOperators, parts_of_a_row_may_be_of_any_length_and_far_from_each_other) {
  for (DataType dtype : kFloats)
    for (double step : {0.0, 9.0, -9.0, 40.0})  // from one half of a part to the next
      for (int64_t classes : {2047, 2048, 2049, 4095, 4096, 4097, 6145, 8193, 10000, 20481})
        for (double smoothing : {0.0, 0.1}) {
          Loss l({.rows = 3, .classes = classes, .dtype = dtype, .reduction = "none", .smoothing = smoothing});
          for (int64_t i = 0; i < l.input.size(); ++i)
            l.input.set(i, l.input.get(i) + step * static_cast<double>(i % classes / kHalfPart));
          l.input.upload();
          l.expect_right();
        }
}

TEST_F(CrossEntropyLossOperators, scores_of_one_part_that_are_no_numbers_are_the_whole_rows) {
  constexpr int64_t kClasses = 9001;  // of what is said below; other rows have as much of it
  const double least = std::numeric_limits<float>::lowest(), least_of_halves = -65504;
  struct Row {
    double usual;
    int64_t begin, end;  // where there is something else
    double other;
  };
  for (DataType dtype : kFloats) {
    const double lowest = dtype == DataType::kFloat16 ? least_of_halves : least;
    const std::vector<Row> rows{
        {0.5, 0, 4096, -kInfinity},           // parts of nothing but -Inf, first ones or last ones
        {0.5, 4096, kClasses, -kInfinity},    //
        {-kInfinity, 5000, 5001, 0.5},        // one number
        {-kInfinity, 0, 0, 0},                // none
        {0.5, 8999, 9000, kNan},              //
        {-kInfinity, 4500, 4501, kNan},       //
        {kNan, 0, 4096, 1},                   //
        {0.5, 4200, 4201, kInfinity},         //
        {-kInfinity, 8999, 9000, kInfinity},  //
        {lowest, 0, 4096, -kInfinity},        // numbers as small as the one that stands for parts without any
        {-kInfinity, 100, 101, lowest},       //
        {lowest, 0, 0, 0},                    //
        {0, 4096, 8192, -200},                // so far below that nothing is left of them
        {-200, 9000, kClasses, 0},            //
        {-0.0, 0, 5000, 0.0},                 // both are as large
        {3, 2048, 6144, -kInfinity},          //
    };
    for (int64_t classes : {kClasses, int64_t{9008}, int64_t{2001}, int64_t{2008}}) {
      Loss l({.rows = static_cast<int64_t>(rows.size()), .classes = classes, .dtype = dtype, .reduction = "none"});
      for (int64_t row = 0; row < l.c.rows; ++row)
        for (int64_t j = 0; j < classes; ++j) {
          const Row& r = rows[static_cast<size_t>(row)];
          const bool is_other = j >= r.begin * classes / kClasses && j < (r.end * classes - 1) / kClasses + 1;
          l.input.set(row * classes + j, r.end > r.begin && is_other ? r.other : r.usual);
        }
      l.input.upload();
      l.expect_right();
    }
  }
}

TEST_F(CrossEntropyLossOperators, a_row_does_not_show_its_neighbours_numbers) {
  // Rows begin and end anywhere within pieces of memory that have elements of two of them.
  for (DataType dtype : kFloats)
    for (double step : {20.0, -20.0})  // from row to row
      for (int64_t classes : {513, 1001, 1023, 4099, 9001, 33001})
        for (double smoothing : {0.0, 0.1}) {
          Loss l({.rows = 9, .classes = classes, .dtype = dtype, .reduction = "none", .smoothing = smoothing});
          for (int64_t i = 0; i < l.input.size(); ++i)
            l.input.set(i, l.input.get(i) + step * static_cast<double>(i / classes));
          l.input.upload();
          l.expect_right();
        }
}

TEST_F(CrossEntropyLossOperators, largest_score_may_be_in_any_part) {
  // The label's probability is almost 1, and the loss as small as the others' exponentials.
  for (DataType dtype : kFloats)
    for (int64_t place : {0, 2047, 2048, 4096, 6000, 12287, 12999}) {
      Loss l({.rows = 2, .classes = 13000, .dtype = dtype, .reduction = "none"});
      l.input.fill({-31.5, -40, -33.25});
      for (int64_t row = 0; row < 2; ++row) {
        l.input.set(row * 13000 + place, 0.25);
        l.target.set_integer(row, place);
      }
      l.input.set(13000 + (place + 5000) % 13000, 0.25);  // of the second row twice, in different parts
      l.input.upload();
      l.target.upload();
      l.expect_right();
    }
}

}  // namespace
}  // namespace descend::test::cross_entropy_loss
