// SPDX-License-Identifier: MIT
// What the nearest upsampling and its gradient are to each other, and at chosen places.
#include "ops/upsample_nearest3d/upsample_nearest3d_test.h"

namespace descend::test::upsample_nearest3d {
namespace {

TEST_F(UpsampleNearest3dOperators, sources_and_boxes_at_the_landmarks) {
  struct Mapping {
    double scale;
    int64_t in, out;
    std::vector<double> sources;
  };
  for (const Mapping& m : std::vector<Mapping>{{0, 3, 7, {0, 0, 0, 1, 1, 2, 2}},
                                               {0, 2, 4, {0, 0, 1, 1}},
                                               {0, 5, 2, {0, 2}},
                                               {2, 2, 5, {0, 0, 1, 1, 1}},
                                               {2.5, 2, 5, {0, 0, 0, 1, 1}},
                                               {0.25, 9, 3, {0, 4, 8}},
                                               {1e-30, 4, 3, {0, 3, 3}},
                                               {1e30, 4, 3, {0, 0, 0}}}) {
    Volume self(DataType::kFloat, {1, 1, 1, 1, m.in}), out(DataType::kFloat, {1, 1, 1, 1, m.out});
    for (int64_t i = 0; i < m.in; ++i) self.set(i, static_cast<double>(i));
    self.upload();
    const double one = m.scale > 0 ? 1 : 0;
    ASSERT_EQ(forward(self, {1, 1, m.out}, {one, one, m.scale}, out), 0) << recent_error();
    out.download();
    for (int64_t i = 0; i < m.out; ++i)
      EXPECT_EQ(out.get(i), m.sources[static_cast<size_t>(i)]) << m.in << " to " << m.out << " by " << m.scale;
  }
  // The page's example.
  const Case page{{2, 2, 1, 1, 1}, {2, 2, 2}};
  Volume gradOut(DataType::kFloat, page.out_sizes()), gradInput(DataType::kFloat, page.in);
  for (int64_t i = 0; i < 32; ++i) gradOut.set(i, static_cast<double>(i + 1));
  gradOut.upload();
  ASSERT_EQ(backward(gradOut, page, gradInput), 0);
  gradInput.download();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(gradInput.get(i), 36 + 64 * i);
}

TEST_F(UpsampleNearest3dOperators, gradient_is_the_adjoint_of_the_upsampling) {
  // <up(x), g> = <x, back(g)>.  Small integers: every sum is exact.  Sizes up to 25: beyond, the contract's float32
  // products put the edge of some boxes one off (26 to 14 is the first).
  Random random(6);
  for (int round = 0; round < 60; ++round) {
    const auto any = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.bits() % most); };
    Case c{{any(2), any(5), any(6), any(8), any(25)}, {any(6), any(8), any(25)}};
    if (round % 3 == 0) {  // whole scales, given
      for (size_t axis = 0; axis < 3; ++axis) {
        c.scales[axis] = static_cast<double>(any(3));
        c.out[axis] = c.in[axis + 2] * static_cast<int64_t>(c.scales[axis]);
      }
    }
    const aclFormat format = kFormats[static_cast<size_t>(round) % 3];
    Volume x(DataType::kDouble, c.in, format), up(DataType::kDouble, c.out_sizes(), format);
    Volume g(DataType::kDouble, c.out_sizes(), format), back(DataType::kDouble, c.in, format);
    for (Volume* v : {&x, &g}) {
      for (int64_t i = 0; i < v->size(); ++i) v->set(i, static_cast<double>(random.bits() % 64) - 32);
      v->upload();
    }
    ASSERT_EQ(forward(x, c.out, c.scales, up), 0) << recent_error();
    ASSERT_EQ(backward(g, c, back), 0) << recent_error();
    up.download();
    back.download();
    double left = 0, right = 0, given = 0, kept = 0;
    for (int64_t i = 0; i < up.size(); ++i) left += up.get(i) * g.get(i), given += g.get(i);
    for (int64_t i = 0; i < x.size(); ++i) right += x.get(i) * back.get(i), kept += back.get(i);
    EXPECT_EQ(left, right) << describe_case(c);
    EXPECT_EQ(given, kept) << describe_case(c) << "the sum of the gradient is not conserved";
  }
}

TEST_F(UpsampleNearest3dOperators, gradient_is_the_slope_of_the_upsampling) {
  constexpr double kStep = 1.0 / 64;
  const Case c{{1, 2, 2, 3, 4}, {3, 3, 9}};
  Volume x(DataType::kDouble, c.in), up(DataType::kDouble, c.out_sizes()), g(DataType::kDouble, c.out_sizes()),
      back(DataType::kDouble, c.in);
  x.fill(random_values(50, 7));
  g.fill(random_values(200, 8));
  g.upload();
  ASSERT_EQ(backward(g, c, back), 0);
  back.download();
  const Ints size(c.out);
  UpsampleNearest3d::Params p{x.on_host(), size, 0, 0, 0, up.on_host()};
  const auto loss = [&](int64_t i, double v) {
    const double before = x.get(i);
    x.set(i, v);
    find_operator("aclnnUpsampleNearest3d")->reference(&p);
    x.set(i, before);
    double sum = 0;
    for (int64_t k = 0; k < up.size(); ++k) sum += up.get(k) * g.get(k);
    return sum;
  };
  for (int64_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(back.get(i), (loss(i, x.get(i) + kStep) - loss(i, x.get(i) - kStep)) / (2 * kStep), 1e-9) << i;
}

TEST_F(UpsampleNearest3dOperators, gradient_of_a_constant_counts_the_boxes) {
  for (DataType dtype : kFloatsAndDouble) {
    const Case c{{2, 3, 2, 4, 8}, {6, 8, 32}};
    Volume gradOut(dtype, c.out_sizes()), gradInput(dtype, c.in);
    gradOut.fill({0.5});
    gradOut.upload();
    ASSERT_EQ(backward(gradOut, c, gradInput), 0);
    gradInput.download();
    for (int64_t i = 0; i < gradInput.size(); ++i) ASSERT_EQ(gradInput.get(i), 12);  // 3 * 2 * 4 halves
  }
}

TEST_F(UpsampleNearest3dOperators, payloads_of_nan_survive_the_upsampling) {
  for (DataType dtype : kFloatsAndDouble)
    for (int64_t factor : {1, 2, 3, 4})
      for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC}) {
        const Sizes in{1, 4, 1, 1, 64}, to{1, 4, 1, 1, 64 * factor};
        const size_t item = size_of(dtype);
        void *a = nullptr, *b = nullptr;
        ASSERT_EQ(aclrtMalloc(&a, 256 * item, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        ASSERT_EQ(aclrtMalloc(&b, 256 * item * static_cast<size_t>(factor), ACL_MEM_MALLOC_HUGE_FIRST), 0);
        std::vector<unsigned char> bytes(256 * item), result(bytes.size() * static_cast<size_t>(factor));
        Random random(item);  // any bits; the last byte of every element makes many of them quiet or signalling NaNs
        for (size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = i % item == item - 1 ? (i / item % 2 ? 0x7f : 0x7d) : static_cast<unsigned char>(random.bits());
        ASSERT_EQ(aclrtMemcpy(a, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE), 0);
        const Sizes from_shape = shape_of(in, format), to_shape = shape_of(to, format);
        const auto make = [&](const Sizes& s, void* data) {
          return aclCreateTensor(s.data(), 5, static_cast<aclDataType>(dtype), nullptr, 0, format, s.data(), 5, data);
        };
        aclTensor *self = make(from_shape, a), *out = make(to_shape, b);
        const Ints size({1, 1, 64 * factor});
        ASSERT_EQ(call(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d, nullptr, self,
                       static_cast<const aclIntArray*>(size), 0.0, 0.0, 0.0, out),
                  0);
        ASSERT_EQ(aclrtMemcpy(result.data(), result.size(), b, result.size(), ACL_MEMCPY_DEVICE_TO_HOST), 0);
        for (int64_t w = 0; w < 64 * factor; ++w)
          for (int64_t c = 0; c < 4; ++c) {
            const int64_t i = is_last(format) ? w * 4 + c : c * 64 * factor + w;
            const int64_t k = is_last(format) ? w / factor * 4 + c : c * 64 + w / factor;
            ASSERT_EQ(std::memcmp(result.data() + static_cast<size_t>(i) * item,
                                  bytes.data() + static_cast<size_t>(k) * item, item),
                      0);
          }
        aclDestroyTensor(self);
        aclDestroyTensor(out);
        aclrtFree(a);
        aclrtFree(b);
      }
}

}  // namespace
}  // namespace descend::test::upsample_nearest3d
