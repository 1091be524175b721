// SPDX-License-Identifier: MIT
// A tensor of a test: the same view over device memory, for the operator, and over host memory, for its reference.
#pragma once
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "src/tensor/tensor.h"
#include "tests/harness/guarded.h"
#include "tests/harness/layout.h"
#include "tests/harness/must.h"
#include "tests/harness/numbers.h"

namespace descend::test {

// Where a tensor's storage ends: in memory of the device; or, where that is the host's, before memory that may not even
// be read, within so many bytes that it begins at 16, or with no byte between them.
enum class Ends { kAnywhere, kAtGuard, kExactlyAtGuard };

class Tensor {
 public:
  Tensor(DataType dtype, Sizes shape, Layout layout = Layout::kContiguous, aclFormat format = ACL_FORMAT_ND,
         Ends ends = Ends::kAnywhere)
      : Tensor(dtype, shape, lay_out(shape, layout), format, ends) {}

  Tensor(DataType dtype, Sizes shape, View view, aclFormat format = ACL_FORMAT_ND, Ends ends = Ends::kAnywhere)
      : dtype_(dtype), shape_(std::move(shape)), view_(std::move(view)), format_(format) {
    // Elements before and behind the storage, to see what is written outside.
    const size_t storage = static_cast<size_t>(view_.storage) * item(), margin = kMargin * item();
    host_.assign(storage + 2 * margin, kPoison);
    on_device_bytes_ = host_.size();
    if (ends == Ends::kAnywhere) {
      must(aclrtMalloc(&device_, on_device_bytes_, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      copy_to_device(margin + storage, margin);
    } else {
      on_device_bytes_ -= margin;
      guarded_.emplace(on_device_bytes_, ends == Ends::kAtGuard ? (16 - storage % 16) % 16 : 0);
      device_ = guarded_->data();
    }
    copy_to_device(0, margin);
    on_device_ = make(device_);
    on_host_ = make(host_.data());
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    aclDestroyTensor(on_device_);
    aclDestroyTensor(on_host_);
    if (!guarded_) aclrtFree(device_);
  }

  aclTensor* on_device() const { return on_device_; }
  aclTensor* on_host() const { return on_host_; }
  void* device_data() const { return device_; }
  DataType dtype() const { return dtype_; }
  const Sizes& shape() const { return shape_; }
  // What a complex element consists of; otherwise the dtype.
  DataType part_type() const {
    if (dtype_ == DataType::kComplex32) return DataType::kFloat16;
    if (dtype_ == DataType::kComplex64) return DataType::kFloat;
    return dtype_ == DataType::kComplex128 ? DataType::kDouble : dtype_;
  }
  size_t item() const { return size_of(dtype_); }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : shape_) n *= d;
    return n;
  }

  // Element i in logical, row-major order.  The imaginary half of a complex dtype is its second part.
  double get(int64_t i, int part = 0) const {
    return decode(part_type(), at(i) + static_cast<size_t>(part) * part_size());
  }
  void set(int64_t i, double v) { encode(part_type(), v, at(i)); }
  // An integer that a double might not hold.
  void set_integer(int64_t i, int64_t v) {
    visit(Dtypes<int64_t, int32_t, uint8_t>{}, dtype_, [&]<class T> {
      const T element = static_cast<T>(v);
      std::memcpy(at(i), &element, sizeof element);
    });
  }
  std::string bits(int64_t i) const { return std::string(at(i), item()); }

  // Element i becomes values[i % n]; a seed of 0 leaves the order, others start elsewhere.
  void fill(const std::vector<double>& values, size_t start = 0) {
    for (int64_t i = 0; i < size(); ++i) set(i, values[(start + static_cast<size_t>(i)) % values.size()]);
  }
  void upload() { copy_to_device(0, on_device_bytes_); }
  void download() {
    must(aclrtMemcpy(host_.data(), on_device_bytes_, device_, on_device_bytes_, ACL_MEMCPY_DEVICE_TO_HOST),
         "aclrtMemcpy");
  }

  // Whether every byte that no element of the view owns is still poison.
  bool untouched_outside() const {
    std::vector<bool> owned(host_.size(), false);
    for (int64_t i = 0; i < size(); ++i) {
      const size_t first = static_cast<size_t>(at(i) - host_.data());
      for (size_t b = 0; b < item(); ++b) owned[first + b] = true;
    }
    for (size_t b = 0; b < host_.size(); ++b)
      if (!owned[b] && host_[b] != kPoison) return false;
    return true;
  }

 private:
  static constexpr size_t kMargin = 16;
  static constexpr char kPoison = static_cast<char>(0xA5);

  aclTensor* make(void* data) const {
    return aclCreateTensor(shape_.data(), shape_.size(), static_cast<aclDataType>(dtype_), view_.strides.data(),
                           view_.offset + static_cast<int64_t>(kMargin), format_, shape_.data(), shape_.size(), data);
  }
  void copy_to_device(size_t at, size_t bytes) {
    must(aclrtMemcpy(static_cast<char*>(device_) + at, bytes, host_.data() + at, bytes, ACL_MEMCPY_HOST_TO_DEVICE),
         "aclrtMemcpy");
  }
  size_t part_size() const { return size_of(part_type()); }
  const char* at(int64_t i) const {
    int64_t element = view_.offset + static_cast<int64_t>(kMargin);
    for (size_t k = shape_.size(); k-- > 0; i /= shape_[k]) element += i % shape_[k] * view_.strides[k];
    return host_.data() + element * static_cast<int64_t>(item());
  }
  char* at(int64_t i) { return const_cast<char*>(static_cast<const Tensor*>(this)->at(i)); }

  DataType dtype_;
  Sizes shape_;
  View view_;
  aclFormat format_;
  std::vector<char> host_;
  std::optional<GuardedMemory> guarded_;
  void* device_ = nullptr;
  size_t on_device_bytes_;
  aclTensor* on_device_ = nullptr;
  aclTensor* on_host_ = nullptr;
};

// A number of a test.
class Scalar {
 public:
  explicit Scalar(double v, DataType dtype = DataType::kFloat) {
    unsigned char bytes[16] = {};
    encode(dtype, v, bytes);
    scalar_ = aclCreateScalar(bytes, static_cast<aclDataType>(dtype));
  }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  ~Scalar() { aclDestroyScalar(scalar_); }
  operator const aclScalar*() const { return scalar_; }  // NOLINT: passed as the handle it is

 private:
  aclScalar* scalar_ = nullptr;
};

// An array of integers of a test.
class Ints {
 public:
  explicit Ints(const Sizes& values) : array_(aclCreateIntArray(values.data(), values.size())) {}
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() { aclDestroyIntArray(array_); }
  operator const aclIntArray*() const { return array_; }  // NOLINT: passed as the handle it is

 private:
  aclIntArray* array_;
};

}  // namespace descend::test
