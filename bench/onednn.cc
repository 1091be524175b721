// SPDX-License-Identifier: MIT
// Views of a call's tensors for oneDNN, and running its primitives.
#include "bench/onednn.h"

#include <omp.h>

namespace descend::bench {
namespace {

using Type = dnnl::memory::data_type;

// DOUBLE is not among oneDNN 2's.
Type type_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return Type::f32;
    case ACL_FLOAT16:
      return Type::f16;
    case ACL_BF16:
      return Type::bf16;
    default:
      throw dnnl::error(dnnl_unimplemented, "no such dtype");
  }
}

[[maybe_unused]] const bool added =
    add_library({"onednn",
                 std::to_string(DNNL_VERSION_MAJOR) + "." + std::to_string(DNNL_VERSION_MINOR) + "." +
                     std::to_string(DNNL_VERSION_PATCH),
                 omp_set_num_threads});

}  // namespace

dnnl::memory onednn_view(const Call& call, const std::string& name) {
  const Tensor& tensor = call.tensor(name);
  const TensorSpec& spec = tensor.spec();
  return {{spec.shape, type_of(spec.dtype), tensor.strides()}, onednn_engine(), tensor.data()};
}

bool add_onednn(const std::string& function, MakePrimitive make) {
  return add_peer("onednn", function, [make](const Call& call) -> std::function<void()> {
    try {
      return [prepared = make(call), stream = dnnl::stream(onednn_engine())]() mutable {
        prepared.primitive.execute(stream, prepared.arguments);
        stream.wait();
      };
    } catch (const dnnl::error&) {
      return {};
    }
  });
}

}  // namespace descend::bench
