// SPDX-License-Identifier: MIT
// The calls of the cross entropy whose bits never change.
#include <limits>

#include "aclnnop/aclnn_cross_entropy_loss.h"
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"
#include "tests/harness/dtypes.h"
#include "tests/harness/variable.h"

namespace descend::test {
namespace {

constexpr int64_t kIgnored = 1;

struct Case {
  int64_t rows, classes;
  DataType dtype = DataType::kFloat;
  const char* reduction = "mean";
  double smoothing = 0;
  bool weighted = false;
  double zloss = 0;  // lseSquareScaleForZloss; the z-loss's tensors are given when it is not 0
  DataType target = DataType::kInt64;
  bool finite = true;
  bool zeros = false;     // gradients and scores are 0 and -0
  bool cancels = false;   // what the z-loss is the square of; of a multiple of 8 classes
  bool in_place = false;  // logProb's memory is the scores'

  std::string words() const {
    return cat(label(dtype, {rows, classes}), " ", reduction, smoothing != 0 ? cat(" smoothing ", smoothing) : "",
               weighted ? " weighted" : "", zloss != 0 ? " with z-loss" : "", finite ? "" : " at landmarks",
               zeros ? " of zeros" : "", cancels ? " of logarithms of probabilities" : "", in_place ? " in place" : "");
  }
  Sizes matrix() const { return {rows, classes}; }
  Sizes loss() const { return std::string(reduction) == "none" ? Sizes{rows} : Sizes{}; }
  char* reduction_text() const { return const_cast<char*>(reduction); }  // as the API takes it
};

aclTensor* weight_of(BitCall& call, const Case& c, Layout layout) {
  std::vector<double> weights;
  for (int k = 0; k < 11; ++k) weights.push_back(0.25 + k * 5 % 11 * 0.13);
  return c.weighted ? call.in(DataType::kFloat, {c.classes}, weights, layout) : nullptr;
}
std::vector<double> scores(const Case& c, bool of_gradient) {
  if (c.zeros) return {0, -0.0, -1};
  if (c.cancels) {
    std::vector<double> values{0.53674386516593564, 0.75, 0.25, 0, -0.25, -0.5, -1, -2};  // exp of them adds up to 8
    for (double& v : values) v -= std::log(static_cast<double>(c.classes));
    return values;
  }
  if (!c.finite)  // few: a row of scores with one that is no number is none
    return mixed_values(c.dtype, 1, {-58, -59, -80, -87.5, -95, -103.5, -104, 60, 88, 89}, of_gradient ? 4 : 100);
  std::vector<double> values = finite_values(c.dtype, 1);
  if (of_gradient)
    for (double& v : values) v = -std::fabs(v);
  return values;
}

void forward(BitCall& call, const Case& c, Way way) {
  const aclTensor* weight = weight_of(call, c, way.in);
  aclTensor* const input = c.in_place ? call.in_out(c.dtype, c.matrix(), scores(c, false), way.in)
                                      : call.in(c.dtype, c.matrix(), scores(c, false), way.in);
  call.run(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, input,
           call.labels(c.target, {c.rows}, c.classes, kIgnored, way.in), weight, c.reduction_text(), kIgnored,
           c.smoothing, c.zloss, c.zloss != 0, call.out(c.dtype, c.loss(), way.out),
           c.in_place ? input : call.out(c.dtype, c.matrix(), way.out), call.out(c.dtype, c.loss(), way.out),
           call.out(c.dtype, {c.rows}, way.out));
}
// Two rows have the same scores, the second one's are a column further, and the labels' are the largest.  Their weights
// leave nothing of the loss but what additions have lost, and 2^20 times that: results show how they were made.
void forward_of_orders(BitCall& call, DataType dtype, int64_t classes) {
  const auto n = static_cast<size_t>(classes);
  std::vector<double> scores(2 * n), weights(n, 1);
  for (size_t i = 0; i < n; ++i)
    scores[i] = scores[n + (i + 1) % n] = i == 0 ? 1 : static_cast<double>(i * i % 997) * 1e-3;
  weights[0] = 0x1p20, weights[1] = -0x1p20;
  call.run(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, call.in(dtype, {2, classes}, scores),
           call.in(DataType::kInt64, {2}, {0, 1}), call.in(DataType::kFloat, {classes}, weights),
           Case{.rows = 2, .classes = classes, .reduction = "sum"}.reduction_text(), -100, 0, 0, false,
           call.out(dtype, {}), call.out(dtype, {2, classes}), call.out(dtype, {}), call.out(dtype, {2}));
}
// Scores of which many are as far below the largest as counts, and differ from it by what float does not hold.
void forward_far_below(BitCall& call, DataType dtype) {
  struct Row {
    double most, other;
    size_t others;
  };
  constexpr Row kRows[] = {{0x1.58p-14, -0x1.6cp5, 2840}, {0x1.ccp-13, -0x1.7ep5, 2776}, {-0x1.f2p-12, -0x1.8p5, 3600}};
  constexpr int64_t kCount = std::size(kRows), kClasses = 4096;
  std::vector<double> scores;
  for (const Row& row : kRows) {
    scores.insert(scores.end(), row.others, row.other);
    scores.resize(scores.size() + static_cast<size_t>(kClasses) - row.others - 1,
                  -std::numeric_limits<double>::infinity());
    scores.push_back(row.most);
  }
  const Case c{.rows = kCount, .classes = kClasses, .reduction = "none"};
  call.run(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, call.in(dtype, c.matrix(), scores),
           call.labels(DataType::kInt64, {kCount}, kClasses, kIgnored), nullptr, c.reduction_text(), kIgnored, 0, 0,
           false, call.out(dtype, c.loss()), call.out(dtype, c.matrix()), call.out(dtype, c.loss()),
           call.out(dtype, {kCount}));
}
// Of which each has one thing that others have not, or nothing: so long a row would have every landmark, and be NaN.
void forward_of_a_landmark_each(BitCall& call, const Case& c) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto n = static_cast<size_t>(c.classes);
  std::vector<double> scores(static_cast<size_t>(c.rows) * n);
  for (size_t row = 0; row < static_cast<size_t>(c.rows); ++row)
    for (size_t i = 0; i < n; ++i) {
      const bool here = i == row * 37 % n;  // also before or behind whole pieces
      double& x = scores[row * n + i];
      x = static_cast<double>((row * 7 + i * 13) % 61) / 8 - 4;
      if (row % 8 == 1 && here) x = std::numeric_limits<double>::quiet_NaN();
      if (row % 8 == 2 && here) x = kInf;
      if (row % 8 == 3 && !here) x = -kInf;
      if (row % 8 == 4) x = i < n / 2 ? x : -kInf;
      if (row % 8 == 5) x = -kInf;
      if (row % 8 == 6) x = here ? 60 : i % 2 == 0 ? -60 : 59.5;
      if (row % 8 == 7) x = here ? 0.0 : -0.0;
    }
  call.run(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, call.in(c.dtype, c.matrix(), scores),
           call.labels(c.target, {c.rows}, c.classes, kIgnored), nullptr, c.reduction_text(), kIgnored, 0, 0, false,
           call.out(c.dtype, c.loss()), call.out(c.dtype, c.matrix()), call.out(c.dtype, c.loss()),
           call.out(c.dtype, {c.rows}));
}
// Largest scores of all sizes, and others up to 160 below them.
void forward_of_any_largest(BitCall& call, const Case& c) {
  constexpr double kLargest[] = {0x1p-140, 0.3,  17.7,  -511.97, 511.97, 512,      -512, -512.03,
                                 667,      -1e4, 1.3e6, -7e9,    1e22,   -3.39e38, 3e38, -88.8};
  std::vector<double> scores;
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t i = 0; i < c.classes; ++i)
      scores.push_back(kLargest[row % 16] -
                       static_cast<double>((row * 7 + i * 13) % 61) * (row % 3 == 0 ? 2.63 : 0.07));
  call.run(aclnnCrossEntropyLossGetWorkspaceSize, aclnnCrossEntropyLoss, call.in(c.dtype, c.matrix(), scores),
           call.labels(c.target, {c.rows}, c.classes, kIgnored), nullptr, c.reduction_text(), kIgnored, 0, 0, false,
           call.out(c.dtype, c.loss()), call.out(c.dtype, c.matrix()), call.out(c.dtype, c.loss()),
           call.out(c.dtype, {c.rows}));
}
void backward(BitCall& call, const Case& c, Way way) {
  const aclTensor* weight = weight_of(call, c, way.in);
  const aclTensor *gradZloss = nullptr, *lse = nullptr;
  std::vector<double> gradients{0.7, -1.3, 2.5, 1e-3, 40, 0, 1e-20, 3e13};
  if (c.zeros) gradients = {-0.0, 0};
  if (c.zloss != 0) {
    gradZloss = call.in(c.dtype, c.loss(), {0.2, 0.4}, way.in);
    lse = call.in(c.dtype, {c.rows}, {3.1, -2.2, 0.4, 5.5}, way.in);
  }
  call.run(aclnnCrossEntropyLossGradGetWorkspaceSize, aclnnCrossEntropyLossGrad,
           call.in(c.dtype, c.loss(), gradients, way.in), call.in(c.dtype, c.matrix(), scores(c, true), way.in),
           call.labels(c.target, {c.rows}, c.classes, kIgnored, way.in), weight, gradZloss, lse, c.reduction_text(),
           kIgnored, c.smoothing, c.zloss, call.out(c.dtype, c.matrix(), way.out));
}

template <class Call> void add(Bits& bits, const char* function, Call run, const Case& c, Way way) {
  bits.add(cat(function, " ", c.words()), cat("by ", descend::name(c.target), ", ", way.words()), [=](BitCall& call) {
    const Variable extensions("DESCEND_EXTENSIONS", c.zloss != 0 ? "zloss" : "");
    const Variable product("DESCEND_SOC", c.target == DataType::kInt32 ? "Ascend950PR_9599" : "Ascend910B1");
    run(call, c, way);
  });
}
void add(Bits& bits, const Case& c, Way way = {}) {
  add(bits, "aclnnCrossEntropyLoss", forward, c, way);
  add(bits, "aclnnCrossEntropyLossGrad", backward, c, way);
}

[[maybe_unused]] const bool added = add_bits("cross_entropy_loss", [](Bits& bits) {
  for (DataType t : kFloats) {
    for (const char* reduction : {"none", "mean", "sum"})
      for (bool weighted : {false, true})
        for (double zloss : {0.0, 0.01}) {
          for (double smoothing : {0.0, 0.1}) add(bits, {19, 53, t, reduction, smoothing, weighted, zloss});
          add(bits, {70, 10, t, reduction, 0, weighted, zloss});  // rows of few classes, more than are taken at a time
        }
    for (const Way& way : all_ways()) add(bits, {70, 10, t, "none"}, way);
    for (bool smooth : {false, true})
      bits.add(cat("aclnnCrossEntropyLoss ", descend::name(t), " of 1 to 67 and about 512 classes",
                   smooth ? " smoothing" : ""),
               "contiguous", [=](BitCall& call) {
                 for (int64_t classes = 1; classes < 517; classes += classes == 67 ? 443 : 1) {
                   const Case c{3, classes, t, "sum", smooth ? 0.2 : 0, smooth};
                   forward(call, c, {});
                   backward(call, c, {});
                 }
               });
    for (const char* reduction : {"none", "mean"})
      for (bool smooth : {false, true}) {
        const double smoothing = smooth ? 0.1 : 0;
        for (int64_t classes : {29, 128, 600}) {
          for (const Way& way : all_ways()) add(bits, {13, classes, t, reduction, smoothing, smooth}, way);
          Case c{13, classes, t, reduction, smoothing, smooth};
          c.target = DataType::kInt32;
          add(bits, c);
        }
        for (int64_t classes : {11, 64, 83}) {
          Case c{97, classes, t, reduction, smoothing, smooth};
          c.finite = false;
          add(bits, c);
        }
      }
  }
  for (DataType t : {DataType::kFloat16, DataType::kBfloat16})
    bits.add(cat("aclnnCrossEntropyLoss ", descend::name(t), " [3,4096] far below the largest score"), "contiguous",
             [=](BitCall& call) { forward_far_below(call, t); });
  // Rows of several parts; and of parts of more than the least length, which a GPU keeps in several blocks or not at
  // all.
  for (DataType t : kFloats)
    for (bool smooth : {false, true}) {
      const double smoothing = smooth ? 0.1 : 0;
      for (const Way& way : all_ways())
        add(bits, "aclnnCrossEntropyLoss", forward, {7, 5000, t, "none", smoothing, smooth}, way);
      add(bits, "aclnnCrossEntropyLoss", forward, {2, 270001, t, "mean", smoothing, smooth}, {});
      add(bits, "aclnnCrossEntropyLoss", forward, {2, 600000, t, "sum", smoothing, smooth}, {});
      add(bits, "aclnnCrossEntropyLoss", forward, {40, 9008, t, "mean", smoothing, smooth, 0.01}, {});
    }
  for (double zloss : {0.0, 0.01})
    add(bits, "aclnnCrossEntropyLoss", forward, {2, 1200000, DataType::kFloat16, "sum", 0, false, zloss}, {});
  for (DataType t : kFloats)
    for (int64_t classes : {5, 40, 700})
      for (double smoothing : {0.0, 0.1}) {
        Case c{12, classes, t, "none", smoothing};
        c.zeros = true;
        add(bits, "aclnnCrossEntropyLossGrad", backward, c, {});
      }
  // Rows of the gradient up to which, and beyond which, a GPU's warp has a whole row, or looks for labels by itself.
  for (DataType t : kFloats) {
    for (int64_t classes : {512, 520, 1024, 1032, 2047, 2049}) {
      add(bits, "aclnnCrossEntropyLossGrad", backward, {3, classes, t, "none"}, {});
      add(bits, "aclnnCrossEntropyLossGrad", backward, {13, classes, t, "mean", 0, true}, {});
    }
    // So many that a GPU counts them, or adds their weights, by themselves; of as many rows as a warp has lanes, or of
    // fewer, each with its own scale, in whole pieces or not.
    add(bits, "aclnnCrossEntropyLossGrad", backward, {600, 1000, t, "mean"}, {});
    for (int64_t classes : {17, 33, 64, 128, 1000, 1001})
      for (double smoothing : {0.0, 0.1})
        add(bits, "aclnnCrossEntropyLossGrad", backward, {701, classes, t, "mean", smoothing, true}, {});
    Case c{701, 1001, t, "mean"};
    c.target = DataType::kInt32;
    add(bits, "aclnnCrossEntropyLossGrad", backward, c, {});
  }
  // A row that threads share, more rows than blocks of losses, and blocks of more rows than a GPU's warp has at once.
  add(bits, {2, 33001, DataType::kFloat, "mean", 0.1, true});
  add(bits, {2, 33001, DataType::kBfloat16, "mean"});
  // Rows that a GPU's blocks share, of which some have a part more.
  for (DataType t : kFloats)
    for (int64_t classes : {50257, 100003}) add(bits, "aclnnCrossEntropyLoss", forward, {3, classes, t, "mean"}, {});
  // So many rows of halves that an H200 has them in rings of chunks; but where they do not begin with a piece.
  for (DataType t : {DataType::kFloat16, DataType::kBfloat16})
    for (int64_t classes : {1000, 1001}) {
      Case c{1109, classes, t, "mean"};
      for (const Way& way : {Way{.in = Layout::kOffset}, Way{.out = Layout::kOffset}})
        add(bits, "aclnnCrossEntropyLoss", forward, c, way);
      c.in_place = true;
      add(bits, "aclnnCrossEntropyLoss", forward, c, {});
      c.in_place = false;
      add(bits, "aclnnCrossEntropyLoss", forward, c, {});
      add(bits, "aclnnCrossEntropyLoss", forward, {1109, classes, t, "none", 0, true}, {});
      add(bits, "aclnnCrossEntropyLoss", forward, {1109, classes, t, "sum", 0, true}, {});
    }
  // And where a chunk has fewer rows than these, or warps fewer lanes for one, or chunks begin anywhere within a piece.
  for (DataType t : kFloats)
    for (int64_t classes : {1302, 1303, 1996, 1999, 2048, 3001, 4096}) {
      const bool is_float = t == DataType::kFloat;
      if (is_float && classes > 1303) continue;
      Case c{is_float || classes > 2048 ? 271 : 541, classes, t, "mean", 0, true};
      if (t != DataType::kFloat16 && classes != 1302) c.reduction = "none", c.weighted = false, c.in_place = true;
      add(bits, "aclnnCrossEntropyLoss", forward, c, {});
    }
  // By most of the ways that a row is added up.
  constexpr std::pair<int64_t, int64_t> kSomeRows[] = {{25, 31},     {200, 128},  {25, 600},  {1061, 1000},
                                                       {1061, 1001}, {541, 1303}, {17, 9001}, {5, 50257}};
  for (DataType t : kFloats)
    for (const auto& [rows, classes] : kSomeRows) {
      if (t == DataType::kFloat && classes == 1000) continue;  // as 600
      const Case c{rows, classes, t, "none"};
      bits.add(cat("aclnnCrossEntropyLoss ", c.words(), ", each with a landmark"), "contiguous",
               [=](BitCall& call) { forward_of_a_landmark_each(call, c); });
      if (t != DataType::kFloat) continue;
      bits.add(cat("aclnnCrossEntropyLoss ", c.words(), ", of any largest score"), "contiguous",
               [=](BitCall& call) { forward_of_any_largest(call, c); });
    }
  add(bits, {120, 301, DataType::kFloat, "mean", 0.1, true});
  add(bits, {4500, 3, DataType::kFloat, "mean", 0, true});
  for (DataType t : kFloats) add(bits, {70001, 8, t, "mean", 0, false, 0.01});
  for (DataType t : {DataType::kFloat16, DataType::kBfloat16})
    for (int64_t classes : {8, 48, 200, 600, 33008}) {
      Case c{3, classes, t, "none", 0, false, 0x1p20};
      c.cancels = true;
      for (const Way& way : all_ways()) add(bits, "aclnnCrossEntropyLoss", forward, c, way);
    }
  // Of which a GPU's warp has two batches, whole ones or not, and as much shared memory as they may take.
  for (DataType t : kFloats) {
    add(bits, "aclnnCrossEntropyLoss", forward, {70001, 48, t, "mean"}, {});
    for (int64_t classes : {80, 192}) add(bits, "aclnnCrossEntropyLoss", forward, {5, classes, t, "mean"}, {});
  }
  add(bits, "aclnnCrossEntropyLoss", forward, {64000, 128, DataType::kFloat, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {130000, 128, DataType::kFloat16, "mean"}, {});
  // In place, where a warp has other rows on their way while it writes these.
  for (DataType t : kFloats)
    for (const auto& [rows, classes] : {std::pair{3001, 128}, std::pair{9001, 48}}) {
      Case c{rows, classes, t, "mean"};
      c.in_place = true;
      add(bits, "aclnnCrossEntropyLoss", forward, c, {});
    }
  // So many that a GPU's warp has several rows of one part, in as many ways as it has; and a block several of more.
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 600, DataType::kFloat, "mean"}, {});
  for (DataType t : kFloats)
    add(bits, "aclnnCrossEntropyLoss", forward, {2100, 1500, t, "mean", 0, t == DataType::kBfloat16}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 3000, DataType::kFloat16, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 2104, DataType::kFloat, "mean"}, {});  // two rounds in a unit
  add(bits, "aclnnCrossEntropyLoss", forward, {4100, 2304, DataType::kFloat, "mean", 0.1}, {});
  // Of which each begins at another place in a word, or in a piece.
  for (DataType t : kFloats)
    for (int64_t classes : {1023, 9001}) {
      add(bits, "aclnnCrossEntropyLoss", forward, {6, classes, t, "none"}, {});
      add(bits, "aclnnCrossEntropyLossGrad", backward, {6, classes, t, "mean", 0, true}, {});
    }
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 2101, DataType::kFloat, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 601, DataType::kFloat, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {4200, 1001, DataType::kFloat16, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 1021, DataType::kBfloat16, "none"}, {});
  for (int64_t classes : {605, 4099})
    add(bits, "aclnnCrossEntropyLoss", forward, {2100, classes, DataType::kFloat16, "mean", 0.1}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {2100, 1301, DataType::kFloat16, "mean"}, {});
  for (DataType t : kFloats) {
    for (int64_t classes : {1535, 2047, 4095}) add(bits, "aclnnCrossEntropyLoss", forward, {9, classes, t, "none"}, {});
    // With smoothing, of which a GPU's warp has several at once, and others again.
    add(bits, "aclnnCrossEntropyLoss", forward, {2100, 600, t, "mean", 0.1}, {});
    add(bits, "aclnnCrossEntropyLoss", forward, {20001, 48, t, "mean", 0.1, t == DataType::kBfloat16}, {});
  }
  for (DataType t : {DataType::kFloat16, DataType::kBfloat16}) {
    Case c{97, 601, t, "none"};
    c.finite = false;
    add(bits, "aclnnCrossEntropyLoss", forward, c, {});
  }
  // By every way that a row is added up.
  for (DataType t : kFloats)
    for (int64_t classes : {31, 100, 128, 600, 1001, 9001, 40000, 270001})
      bits.add(cat("aclnnCrossEntropyLoss ", label(t, {2, classes}), " sum of a row and another order of it"),
               "contiguous", [=](BitCall& call) { forward_of_orders(call, t, classes); });
  // Of three parts, and so many that a GPU's block of fewer threads than others adds all columns of their losses.
  add(bits, "aclnnCrossEntropyLoss", forward, {1600, 4101, DataType::kFloat, "mean"}, {});
  // So many that its warps share them, and take others again.
  add(bits, "aclnnCrossEntropyLoss", forward, {33000, 520, DataType::kFloat, "mean"}, {});
  // So many that a GPU's warps take more than one batch, without a sum; and again, when that has been done before.
  for (DataType t : kFloats) add(bits, "aclnnCrossEntropyLoss", forward, {40000, 16, t, "none"}, {});
  // So many that a GPU counts them by themselves, whatever the labels are.
  for (DataType target : {DataType::kInt64, DataType::kInt32})
    for (const Way& way : all_ways()) {
      Case c{603, 16, DataType::kFloat, "mean"};
      c.target = target;
      add(bits, "aclnnCrossEntropyLossGrad", backward, c, way);
    }
  // So many that a part of their losses has several rows, or several of a column.
  add(bits, "aclnnCrossEntropyLoss", forward, {17001, 520, DataType::kFloat16, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {270001, 16, DataType::kFloat, "mean", 0, false, 0.01}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {270001, 16, DataType::kFloat16, "mean"}, {});
  add(bits, "aclnnCrossEntropyLoss", forward, {270001, 7, DataType::kBfloat16, "mean", 0, false, 0.01}, {});
});

}  // namespace
}  // namespace descend::test
