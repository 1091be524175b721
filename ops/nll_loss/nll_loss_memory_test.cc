// SPDX-License-Identifier: MIT
// What memory the negative log likelihood loss touches, and where its tensors may lie.
#include <sys/mman.h>

#include "ops/nll_loss/nll_loss_test.h"
#include "tests/harness/sparse.h"

namespace descend::test::nll_loss {
namespace {

// Memory that nothing may read or write.
class ForbiddenMemory {
 public:
  ForbiddenMemory() : at_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(at_, MAP_FAILED);
  }
  ~ForbiddenMemory() { EXPECT_EQ(munmap(at_, kBytes), 0); }
  ForbiddenMemory(const ForbiddenMemory&) = delete;
  ForbiddenMemory& operator=(const ForbiddenMemory&) = delete;
  void* at() const { return at_; }

 private:
  static constexpr size_t kBytes = 1 << 16;
  void* at_;
};

TEST_F(NLLLossOperators, gradient_reads_neither_self_nor_a_total_it_does_not_need) {
  const ForbiddenMemory forbidden;
  for (const Sizes& shape : {Sizes{2, 3, 4, 5}, Sizes{40, 3}})
    for (const bool one_element : {false, true})
      for (int64_t reduction : {kNone, kSum}) {
        const Sizes positions = positions_of(shape), zeros(shape.size(), 0);
        const int64_t* strides = one_element ? zeros.data() : nullptr;
        aclTensor* self = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides, 0, ACL_FORMAT_ND,
                                          shape.data(), shape.size(), forbidden.at());
        aclTensor* total =
            aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, forbidden.at());
        Tensor gradOutput(DataType::kFloat, reduction == kNone ? positions : Sizes{}),
            target(DataType::kInt64, positions), weight(DataType::kFloat, {3}), out(DataType::kFloat, shape);
        gradOutput.fill({2});
        weight.fill({1, 2, 3});
        for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, 1);
        for (Tensor* t : {&gradOutput, &target, &weight}) t->upload();
        ASSERT_EQ(backward_of(gradOutput.on_device(), self, target.on_device(), weight.on_device(), reduction, -100,
                              total, out.on_device()),
                  0);
        out.download();
        double sum = 0;
        for (int64_t i = 0; i < out.size(); ++i) sum += out.get(i);
        EXPECT_EQ(sum, -4.0 * static_cast<double>(target.size()));
        EXPECT_EQ(aclDestroyTensor(self), 0);
        EXPECT_EQ(aclDestroyTensor(total), 0);
      }
}

TEST_F(NLLLossOperators, reach_elements_more_than_2_to_the_31_apart) {
  // Of 6 GiB only the pages around a few elements are ever touched.
  constexpr int64_t kFar = (int64_t{1} << 31) - 5, kBegin = 3;
  const SparseMemory memory(static_cast<size_t>(3 * kFar / 2 + 100) * 2);
  Tensor one(DataType::kFloat16, {}), weight(DataType::kFloat16, {2}), loss(DataType::kFloat16, {}),
      total(DataType::kFloat16, {});
  one.fill({1});
  weight.fill({2, 4});
  for (Tensor* t : {&one, &weight}) t->upload();
  struct Far {
    Sizes shape, strides;
    int64_t offset;
  };
  // The last element lies beyond 2^31 along the rows, the classes, all four dimensions, and by the offset.
  for (const Far& far : std::vector<Far>{{{2, 2}, {3 * kFar / 2, 1}, kBegin},
                                         {{2, 2}, {1, 3 * kFar / 2}, kBegin},
                                         {{2, 2}, {-2, -(3 * kFar / 2)}, 3 * kFar / 2 + 20},
                                         {{2, 2}, {2, 1}, 3 * kFar / 2},
                                         {{2, 2, 2, 2}, {kFar / 4, kFar, kFar / 8, kFar / 16}, kBegin},
                                         {{2, 2, 1, 3}, {7, kFar, kFar, 1}, kBegin}}) {
    const Sizes positions = positions_of(far.shape);
    aclTensor* there = aclCreateTensor(far.shape.data(), far.shape.size(), ACL_FLOAT16, far.strides.data(), far.offset,
                                       ACL_FORMAT_ND, far.shape.data(), far.shape.size(), memory.data());
    Tensor target(DataType::kInt64, positions);
    for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, 1);
    target.upload();
    ASSERT_EQ(backward_of(one.on_device(), there, target.on_device(), weight.on_device(), kSum, -100, total.on_device(),
                          there),
              0)
        << recent_error();
    Sizes at(far.shape.size(), 0);
    for (int64_t i = 0; i < 4 * target.size() / 2; ++i) {
      int64_t rest = i, element = 0;
      for (size_t k = at.size(); k-- > 0; rest /= far.shape[k])
        at[k] = rest % far.shape[k], element += at[k] * far.strides[k];
      EXPECT_EQ(memory.get<uint16_t>(far.offset + element), at[1] == 1 ? 0xc400 : 0) << i;  // -4
    }
    const bool planes = far.shape.size() == 4;
    ASSERT_EQ(call(planes ? aclnnNLLLoss2dGetWorkspaceSize : aclnnNLLLossGetWorkspaceSize,
                   planes ? aclnnNLLLoss2d : aclnnNLLLoss, nullptr, there, target.on_device(), weight.on_device(), kSum,
                   int64_t{-100}, loss.on_device(), total.on_device()),
              0)
        << recent_error();
    loss.download();
    EXPECT_EQ(loss.get(0), 16.0 * static_cast<double>(target.size()));
    EXPECT_EQ(aclDestroyTensor(there), 0);
  }
}

TEST_F(NLLLossOperators, strides_that_leave_the_address_space_fail) {
  const int64_t shape[] = {2, 3, 4, 5}, positions[] = {2, 4, 5};
  const int64_t wild[] = {kMost, kMost / 2, 1, kMost / 3};
  Tensor self(DataType::kFloat, {2, 3, 4, 5}), target(DataType::kInt64, {2, 4, 5}), weight(DataType::kFloat, {3}),
      one(DataType::kFloat, {}), out(DataType::kFloat, {2, 3, 4, 5});
  for (Tensor* input : {&self, &target, &weight, &one}) input->upload();
  aclTensor* wild_self = aclCreateTensor(shape, 4, ACL_FLOAT, wild, 0, ACL_FORMAT_ND, shape, 4, self.device_data());
  aclTensor* wild_target =
      aclCreateTensor(positions, 3, ACL_INT64, wild, 0, ACL_FORMAT_ND, positions, 3, target.device_data());
  const auto ask = [&](const aclTensor* s, const aclTensor* t, aclTensor* o) {
    return backward_of(one.on_device(), s, t, weight.on_device(), kSum, -100, one.on_device(), o);
  };
  EXPECT_EQ(ask(wild_self, target.on_device(), out.on_device()), 161002);
  EXPECT_NE(recent_error().find("self must satisfy: has strides and an offset that stay in the address space"),
            std::string::npos);
  EXPECT_EQ(ask(self.on_device(), wild_target, out.on_device()), 161002);
  EXPECT_EQ(ask(self.on_device(), target.on_device(), wild_self), 161002);
  EXPECT_EQ(ask(self.on_device(), target.on_device(), out.on_device()), 0);
  EXPECT_EQ(call(aclnnNLLLoss2dGetWorkspaceSize, aclnnNLLLoss2d, nullptr, wild_self, target.on_device(),
                 weight.on_device(), kSum, int64_t{0}, one.on_device(), one.on_device()),
            161002);
  EXPECT_EQ(aclDestroyTensor(wild_self), 0);
  EXPECT_EQ(aclDestroyTensor(wild_target), 0);
}

TEST_F(NLLLossOperators, empty_tensors_need_no_memory_and_no_sensible_strides) {
  const int64_t shape[] = {2, 0, 3, 4}, classes[] = {0}, wild[] = {5, kLeast, kMost, kMost - 1};
  Tensor target(DataType::kInt64, {2, 3, 4}), out(DataType::kFloat, {2, 3, 4}), total(DataType::kFloat, {});
  target.fill({0, 1, -1});
  target.upload();
  out.upload();
  aclTensor* self = aclCreateTensor(shape, 4, ACL_FLOAT, wild, kMost - 9, ACL_FORMAT_ND, shape, 4, nullptr);
  aclTensor* weight = aclCreateTensor(classes, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, classes, 1, nullptr);
  for (int64_t reduction : {kNone, kSum}) {
    const aclTensor* loss = reduction == kNone ? out.on_device() : total.on_device();
    ASSERT_EQ(call(aclnnNLLLoss2dGetWorkspaceSize, aclnnNLLLoss2d, nullptr, self, target.on_device(), weight, reduction,
                   int64_t{7}, const_cast<aclTensor*>(loss), total.on_device()),
              0)
        << recent_error();
  }
  out.download();
  total.download();
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.get(i), 0);
  EXPECT_EQ(total.get(0), 0);
  ASSERT_EQ(backward_of(total.on_device(), self, target.on_device(), weight, kSum, 7, total.on_device(), self), 0);
  EXPECT_EQ(aclDestroyTensor(self), 0);
  EXPECT_EQ(aclDestroyTensor(weight), 0);
}

TEST_F(NLLLossOperators, gradient_may_be_written_over_self) {
  for (const Sizes& shape : {Sizes{2, 3, 4, 5}, Sizes{40, 3}}) {
    Tensor g(DataType::kFloat, {1}), self(DataType::kFloat, shape), target(DataType::kInt32, positions_of(shape)),
        weight(DataType::kFloat, {3}), total(DataType::kFloat, {}), out(DataType::kFloat, shape);
    g.fill({3});
    weight.fill({1, 2, 3});
    self.fill({std::nan("")});
    fill_targets(target, 3);
    for (Tensor* t : {&g, &self, &target, &weight}) t->upload();
    uint64_t workspace = 1;
    ASSERT_EQ(backward(g, self, target, weight, kSum, 1, total, out), 0);
    ASSERT_EQ(backward(g, self, target, weight, kSum, 1, total, self, &workspace), 0);
    EXPECT_EQ(workspace, 0u);
    out.download();
    self.download();
    for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(self.bits(i), out.bits(i)) << i;
  }
}

TEST_F(NLLLossOperators, gradient_over_any_other_input_reads_it_first) {
  // out is memory in which, in turn, the inputs lie: at its end, which is written late, or its beginning.
  const Sizes shape{600, 2, 2, 2}, positions{600, 2, 2};
  constexpr int64_t kMargin = 16, kElements = 4800;
  Tensor separate(DataType::kFloat, shape), memory(DataType::kFloat, shape);
  const auto view = [&](aclDataType dtype, const Sizes& s, int64_t element) {  // from a float of `memory` on
    const int64_t offset = (element + kMargin) * 4 / (dtype == ACL_INT64 ? 8 : dtype == ACL_UINT8 ? 1 : 4);
    return aclCreateTensor(s.data(), s.size(), dtype, nullptr, offset, ACL_FORMAT_ND, s.data(), s.size(),
                           memory.device_data());
  };
  for (int over = 0; over < 5; ++over)
    for (const int64_t at : {int64_t{0}, kElements / 2, kElements - 2}) {
      if (over < 3 && at == kElements - 2) continue;  // too large for the last two
      const int64_t reduction = over == 0 ? kNone : kMean;
      Tensor g(DataType::kFloat, reduction == kNone ? positions : Sizes{1}), target(DataType::kUint8, positions),
          weight(DataType::kFloat, {2}), total(DataType::kFloat, {1});
      g.fill({1, 2, 3});
      weight.fill({5, 7});
      total.fill({2});
      for (int64_t i = 0; i < target.size(); ++i) target.set_integer(i, i % 3);
      for (int64_t i = 0; i < memory.size(); ++i) memory.set(i, 0.5);
      // The input that lies in out: gradOutput, INT32 target, UINT8 target, weight, totalWeight.
      if (over == 0)
        for (int64_t i = 0; i < g.size(); ++i) memory.set(at + i, g.get(i));
      if (over == 3) memory.set(at, 5), memory.set(at + 1, 7);
      if (over == 4) memory.set(at, 2);
      for (Tensor* t : {&g, &target, &weight, &total, &memory}) t->upload();
      auto* bytes = static_cast<char*>(memory.device_data()) + (at + kMargin) * 4;
      for (int32_t i = 0; i < 2400 && over == 1; ++i) {
        const int32_t t = i % 3;
        ASSERT_EQ(aclrtMemcpy(bytes + i * 4, 4, &t, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
      }
      for (int i = 0; i < 2400 && over == 2; ++i) {
        const auto t = static_cast<uint8_t>(i % 3);
        ASSERT_EQ(aclrtMemcpy(bytes + i, 1, &t, 1, ACL_MEMCPY_HOST_TO_DEVICE), 0);
      }
      aclTensor* input = over == 0   ? view(ACL_FLOAT, positions, at)
                         : over == 1 ? view(ACL_INT32, positions, at)
                         : over == 2 ? view(ACL_UINT8, positions, at)
                                     : view(ACL_FLOAT, over == 3 ? Sizes{2} : Sizes{1}, at);
      uint64_t workspace = 0;
      ASSERT_EQ(backward(g, separate, target, weight, reduction, -100, total, separate), 0);
      ASSERT_EQ(backward_of(over == 0 ? input : g.on_device(), separate.on_device(),
                            over == 1 || over == 2 ? input : target.on_device(), over == 3 ? input : weight.on_device(),
                            reduction, -100, over == 4 ? input : total.on_device(), memory.on_device(), &workspace),
                0)
          << recent_error();
      EXPECT_GT(workspace, 0u);
      memory.download();
      separate.download();
      for (int64_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory.get(i), separate.get(i)) << over << ", " << i;
      EXPECT_EQ(aclDestroyTensor(input), 0);
    }
}

TEST_F(NLLLossOperators, results_over_the_weights_read_them_first) {
  Tensor g(DataType::kFloat, {}), self(DataType::kFloat, {4}), target(DataType::kInt64, {}), w(DataType::kFloat, {4}),
      total(DataType::kFloat, {});
  g.fill({1});
  w.fill({2, 3, 4, 5});
  target.fill({2});
  for (Tensor* t : {&g, &target, &w}) t->upload();
  ASSERT_EQ(backward(g, self, target, w, kNone, -1, total, w), 0) << recent_error();
  w.download();
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(w.get(c), c == 2 ? -4 : 0);

  constexpr int64_t kCount = 40000;  // losses that are their own weights, over several tasks
  Tensor rows(DataType::kFloat, {kCount, kCount}, View{{0, 0}, 0, 1}), targets(DataType::kInt32, {kCount}),
      weights(DataType::kFloat, {kCount});
  rows.set(0, -1);
  for (int64_t i = 0; i < kCount; ++i) {
    targets.set_integer(i, kCount - 1 - i);
    weights.set(i, static_cast<double>(i));
  }
  for (Tensor* t : {&rows, &targets, &weights}) t->upload();
  ASSERT_EQ(forward(rows, targets, weights, kNone, -1, weights, total), 0) << recent_error();
  weights.download();
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(weights.get(i), static_cast<double>(kCount - 1 - i));
}

}  // namespace
}  // namespace descend::test::nll_loss
