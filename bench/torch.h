// SPDX-License-Identifier: MIT
// PyTorch on the memory of a benchmark's call: what an operator's *_torch.cc needs.
#pragma once
#include <ATen/ATen.h>

#include "bench/peer.h"

namespace descend::bench {

inline at::ScalarType torch_type(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return at::kFloat;
    case ACL_FLOAT16:
      return at::kHalf;
    case ACL_BF16:
      return at::kBFloat16;
    case ACL_DOUBLE:
      return at::kDouble;
    case ACL_INT32:
      return at::kInt;
    case ACL_UINT8:
      return at::kByte;
    default:
      return at::kLong;
  }
}

// The same view of the same memory.
inline at::Tensor torch_view(const Call& call, const std::string& name) {
  const Tensor& t = call.tensor(name);
  return at::from_blob(t.data(), t.spec().shape, t.strides(), at::TensorOptions(torch_type(t.spec().dtype)));
}

inline bool add_torch(const std::string& function, MakePeer make) {
  return add_peer("torch", function, std::move(make));
}

}  // namespace descend::bench
