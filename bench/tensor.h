// SPDX-License-Identifier: MIT
// Tensors of the benchmarks, in device memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace descend::bench {

using Sizes = std::vector<int64_t>;

// How a shape lies in memory.
enum class Layout {
  kContiguous,
  kTransposed,    // the last two dimensions exchanged: the last but one is the innermost
  kChannelsLast,  // dimension 1 is the innermost
  kRepeated,      // dimension 0 has stride 0
};
// "contiguous", "transposed", "channels-last", "broadcast".
std::string name(Layout layout);

struct TensorSpec {
  aclDataType dtype = ACL_FLOAT;
  Sizes shape;
  Layout layout = Layout::kContiguous;
  int64_t classes = 4;       // integers are from 0 to classes - 1
  float low = -4, high = 4;  // the others are between these
  aclFormat format = ACL_FORMAT_ND;
};

// Arbitrary numbers, the same in every run; tensors of different seeds have different ones.
class Tensor {
 public:
  Tensor(const TensorSpec& spec, unsigned seed);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  operator aclTensor*() const { return tensor_; }
  void* data() const { return data_; }
  const TensorSpec& spec() const { return spec_; }
  const Sizes& strides() const { return strides_; }
  uint64_t bytes() const { return bytes_; }  // of its memory

 private:
  TensorSpec spec_;
  Sizes strides_;
  void* data_ = nullptr;
  aclTensor* tensor_ = nullptr;
  uint64_t bytes_ = 0;
};

// What must be read where INT64 labels, contiguous, pick elements: of one dimension by themselves, of more along
// dimension 1, for each position of the others.  In whole lines of 64 bytes, since memory moves no less.
uint64_t bytes_picked(const Tensor& from, const Tensor& labels);

// Ends the program when a call failed: a benchmark that fails has nothing to say about speed.
void must(int32_t code, const char* what);

}  // namespace descend::bench
