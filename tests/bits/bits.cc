// SPDX-License-Identifier: MIT
// Calls, their digests, and the list of cases.
#include "tests/bits/bits.h"

#include <cmath>
#include <stdexcept>

#include "src/base/text.h"

namespace descend::test {
namespace {

constexpr size_t kValues = 997;  // a prime: the pattern lines up with no row

// Random numbers, and about every n-th of them a mark.
std::vector<double> strewn(const std::vector<double>& marks, uint64_t n, uint64_t seed) {
  std::vector<double> values;
  for (Random random(seed); values.size() < kValues;) {
    const uint64_t r = random.bits();
    const double number = std::ldexp(random.next(), -static_cast<int>(r / n % 12));
    values.push_back(r % n == 0 ? marks[r / n % marks.size()] : number);
  }
  return values;
}

std::map<std::string, void (*)(Bits&)>& adders() {
  static std::map<std::string, void (*)(Bits&)> all;
  return all;
}

}  // namespace

std::vector<double> finite_values(DataType dtype, uint64_t seed) {
  std::vector<double> marks = landmarks(dtype);
  std::erase_if(marks, [](double v) { return !(std::fabs(v) <= 1); });
  return strewn(marks, 16, seed);
}
std::vector<double> mixed_values(DataType dtype, uint64_t seed, const std::vector<double>& own, uint64_t distance) {
  return strewn(landmarks(dtype, own), distance, seed);
}

std::vector<Way> all_ways() {
  std::vector<Way> ways{{}};
  for (Layout layout : output_layouts())
    if (layout != Layout::kContiguous)
      for (const Way& way : {Way{.in = layout}, Way{.out = layout}, Way{layout, layout}}) ways.push_back(way);
  return ways;
}

std::string label(DataType dtype, const Sizes& shape) {
  return cat(descend::name(dtype), " ", describe(Dims(shape.data(), shape.size())));
}

Tensor& BitCall::add(DataType dtype, Sizes shape, Layout layout, aclFormat format) {
  tensors_.push_back(std::make_unique<Tensor>(dtype, std::move(shape), layout, format, ends_));
  return *tensors_.back();
}

aclTensor* BitCall::in(DataType dtype, Sizes shape, const std::vector<double>& values, Layout layout,
                       aclFormat format) {
  Tensor& tensor = add(dtype, std::move(shape), layout, format);
  tensor.fill(values);
  tensor.upload();
  return tensor.on_device();
}

aclTensor* BitCall::labels(DataType dtype, Sizes shape, int64_t classes, int64_t ignored, Layout layout) {
  std::vector<int64_t> none{ignored, -1, classes, std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max()};
  if (dtype == DataType::kInt32) none[3] = none[4] = std::numeric_limits<int32_t>::min();
  if (dtype == DataType::kUint8) none[1] = none[3] = none[4] = 255;
  Tensor& tensor = add(dtype, std::move(shape), layout, ACL_FORMAT_ND);
  Random random(7);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto is_class = static_cast<int64_t>(random.bits() % static_cast<uint64_t>(classes));
    tensor.set_integer(i, i % 7 == 3 ? none[static_cast<size_t>(i / 7 % 5)] : is_class);
  }
  tensor.upload();
  return tensor.on_device();
}

aclTensor* BitCall::out(DataType dtype, Sizes shape, Layout layout, aclFormat format) {
  Tensor& tensor = add(dtype, std::move(shape), layout, format);
  tensor.upload();
  outputs_.push_back(&tensor);
  return tensor.on_device();
}

aclTensor* BitCall::in_out(DataType dtype, Sizes shape, const std::vector<double>& values, Layout layout) {
  aclTensor* tensor = in(dtype, std::move(shape), values, layout);
  outputs_.push_back(tensors_.back().get());
  return tensor;
}

const aclScalar* BitCall::number(double value, DataType dtype) {
  scalars_.push_back(std::make_unique<Scalar>(value, dtype));
  return *scalars_.back();
}

const aclIntArray* BitCall::ints(const Sizes& values) {
  arrays_.push_back({aclCreateIntArray(values.data(), values.size()), &aclDestroyIntArray});
  return arrays_.back().get();
}

void BitCall::clear() {
  outputs_.clear();
  tensors_.clear();
  scalars_.clear();
  arrays_.clear();
}

void BitCall::digest(Tensor& tensor) {
  tensor.download();
  if (!tensor.untouched_outside()) throw std::runtime_error("memory outside of an output was written");
  const size_t part = size_of(tensor.part_type()), parts = tensor.item() / part;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const std::string bits = tensor.bits(i);
    for (size_t k = 0; k < parts; ++k) {
      const bool is_nan = std::isnan(tensor.get(i, static_cast<int>(k)));
      // Which NaN it is nobody promises.
      for (size_t b = 0; b < part; ++b)
        digest_ = (digest_ ^ (is_nan ? 0xff : static_cast<unsigned char>(bits[k * part + b]))) * 0x100000001b3;
    }
  }
}

bool add_bits(const std::string& folder, void (*add)(Bits& bits)) { return adders().emplace(folder, add).second; }

std::map<std::string, Bits> all_bits() {
  std::map<std::string, Bits> all;
  for (const auto& [folder, add] : adders()) add(all[folder]);
  return all;
}

}  // namespace descend::test
