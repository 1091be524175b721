// SPDX-License-Identifier: MIT
// Making tensors and filling them.
#include "bench/tensor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "src/base/dtype.h"

namespace descend::bench {
namespace {

using Values = Dtypes<float, float16, bfloat16, double, int32_t, int64_t, uint8_t>;

template <class T> T number(std::mt19937& random, const TensorSpec& spec) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uniform_int_distribution<int64_t>(0, spec.classes - 1)(random));
  } else {
    const float value = std::uniform_real_distribution<float>(spec.low, spec.high)(random);
    if constexpr (std::is_floating_point_v<T>)
      return value;
    else
      return T::from(value);
  }
}

// Elements of memory that the view of a spec takes, and its strides.
int64_t lay_out(const TensorSpec& spec, Sizes& strides) {
  const size_t rank = spec.shape.size();
  std::vector<size_t> order(rank);  // outermost first
  std::iota(order.begin(), order.end(), size_t{0});
  if (spec.layout == Layout::kTransposed) std::swap(order[rank - 1], order[rank - 2]);
  if (spec.layout == Layout::kChannelsLast) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  strides.assign(rank, 0);
  int64_t step = 1;
  for (size_t k = rank; k-- > 0;) {
    if (spec.layout == Layout::kRepeated && order[k] == 0) continue;
    strides[order[k]] = step;
    step *= spec.shape[order[k]];
  }
  return step;
}

}  // namespace

std::string name(Layout layout) {
  switch (layout) {
    case Layout::kTransposed:
      return "transposed";
    case Layout::kChannelsLast:
      return "channels-last";
    case Layout::kRepeated:
      return "broadcast";
    default:
      return "contiguous";
  }
}

void must(int32_t code, const char* what) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s failed: %d %s\n", what, code, text ? text : "");
  std::exit(1);
}

Tensor::Tensor(const TensorSpec& spec, unsigned seed) : spec_(spec) {
  const int64_t count = lay_out(spec, strides_);
  bytes_ = static_cast<uint64_t>(count) * aclDataTypeSize(spec.dtype);
  must(aclrtMalloc(&data_, std::max<uint64_t>(bytes_, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  std::mt19937 random(seed);
  const bool known = visit(Values{}, static_cast<DataType>(spec.dtype), [&]<class T>() {
    std::vector<T> values(static_cast<size_t>(std::min<int64_t>(count, 65537)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = number<T>(random, spec);
    // 65537 is a prime: the pattern does not line up with rows.
    for (int64_t at = 0; at < count; at += static_cast<int64_t>(values.size())) {
      const auto n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(values.size()), count - at));
      must(aclrtMemcpy(static_cast<T*>(data_) + at, n * sizeof(T), values.data(), n * sizeof(T),
                       ACL_MEMCPY_HOST_TO_DEVICE),
           "aclrtMemcpy");
    }
  });
  must(known ? 0 : -1, "a benchmark tensor of this dtype");
  tensor_ = aclCreateTensor(spec.shape.data(), spec.shape.size(), spec.dtype, strides_.data(), 0, spec.format,
                            spec.shape.data(), spec.shape.size(), data_);
}

Tensor::~Tensor() {
  aclDestroyTensor(tensor_);
  aclrtFree(data_);
}

uint64_t bytes_picked(const Tensor& from, const Tensor& labels) {
  constexpr uint64_t kLine = 64;
  const Sizes& positions = labels.spec().shape;
  const size_t classes = from.strides().size() > 1 ? 1 : 0;
  Sizes strides = from.strides();
  const int64_t class_stride = strides[classes];
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(classes));
  strides.resize(positions.size(), 0);
  const uint64_t size = aclDataTypeSize(from.spec().dtype);
  std::vector<bool> picked(from.bytes() / kLine + 1);
  const auto* const label = static_cast<const int64_t*>(labels.data());
  const auto count = static_cast<int64_t>(labels.bytes() / sizeof *label);
  for (int64_t i = 0; i < count; ++i) {
    int64_t element = label[i] * class_stride, rest = i;
    for (size_t k = positions.size(); k-- > 0; rest /= positions[k]) element += rest % positions[k] * strides[k];
    picked[static_cast<uint64_t>(element) * size / kLine] = true;
  }
  const auto lines = static_cast<uint64_t>(std::count(picked.begin(), picked.end(), true));
  return std::min(lines * kLine, from.bytes());
}

}  // namespace descend::bench
