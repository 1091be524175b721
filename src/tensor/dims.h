// SPDX-License-Identifier: MIT
// A short list of int64: shapes and strides.  Ranks the operators accept (up to 8) need no allocation.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace descend {

inline constexpr int kMaxRank = 8;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), values.size()) {}
  Dims(const int64_t* values, size_t size) { assign(values, size); }
  Dims(const Dims& other) : Dims(other.begin(), other.size()) {}
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.begin(), other.size());
    return *this;
  }

  void assign(const int64_t* values, size_t size) {
    resize(size);
    std::copy_n(values, size, begin());
  }
  void assign(size_t size, int64_t value) {
    resize(size);
    std::fill_n(begin(), size, value);
  }
  void push_back(int64_t value) {
    const size_t at = size_;
    if (at < kMaxRank) {
      ++size_;
      inside_[at] = value;
      return;
    }
    Dims longer;
    longer.resize(at + 1);
    std::copy_n(begin(), at, longer.begin());
    longer[at] = value;
    std::swap(outside_, longer.outside_);
    size_ = at + 1;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* begin() { return size_ > kMaxRank ? outside_.get() : inside_; }
  int64_t* end() { return begin() + size_; }
  const int64_t* begin() const { return size_ > kMaxRank ? outside_.get() : inside_; }
  const int64_t* end() const { return begin() + size_; }
  int64_t& operator[](size_t i) { return begin()[i]; }
  int64_t operator[](size_t i) const { return begin()[i]; }
  int64_t& back() { return begin()[size_ - 1]; }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  // Changes the size; the contents are unspecified afterwards.
  void resize(size_t size) {
    if (size > kMaxRank && size > size_) outside_ = std::make_unique<int64_t[]>(size);
    size_ = size;
  }

  size_t size_ = 0;
  int64_t inside_[kMaxRank];
  std::unique_ptr<int64_t[]> outside_;  // all elements, when there are more than kMaxRank
};

using Shape = Dims;

std::string describe(const Dims& dims);  // "[2,3]"

}  // namespace descend
