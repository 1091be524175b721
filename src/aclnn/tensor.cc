// SPDX-License-Identifier: MIT
// aclTensor: creation, destruction and what can be asked of one.
#include "aclnn/acl_meta.h"
#include "src/aclnn/guard.h"
#include "src/aclnn/observed.h"
#include "src/plan/objects.h"

using namespace descend;

namespace {

static_assert(static_cast<int>(DataType::kBfloat16) == ACL_BF16 && static_cast<int>(DataType::kDouble) == ACL_DOUBLE);
static_assert(static_cast<int>(Format::kNdhwc) == ACL_FORMAT_NDHWC && static_cast<int>(Format::kNd) == ACL_FORMAT_ND);

void set_view(aclTensor& t, const int64_t* dims, uint64_t n, const int64_t* strides) {
  t.shape.assign(dims, n);
  if (strides)
    t.strides.assign(strides, n);
  else
    t.strides = row_major(t.shape);
}

// An array of the caller's to delete[].
void hand_out(const Dims& dims, int64_t** values, uint64_t* n) {
  auto* copy = new int64_t[dims.size()];
  std::copy(dims.begin(), dims.end(), copy);
  *values = copy;
  *n = dims.size();
}

aclnnStatus get_dims(const char* function, const aclTensor* tensor, Dims aclTensor::*dims, const char* values_name,
                     int64_t** values, const char* count_name, uint64_t* n) noexcept {
  return guarded(function, [&]() -> Status {
    if (Status s = check_object("tensor", tensors(), tensor); !s.ok()) return s;
    if (!values) return null_argument(values_name);
    if (!n) return null_argument(count_name);
    hand_out(tensor->*dims, values, n);
    return {};
  });
}

template <class T, class Get>
aclnnStatus get_value(const char* function, const aclTensor* tensor, const char* name, T* value,
                      const Get& get) noexcept {
  return guarded(function, [&]() -> Status {
    if (Status s = check_object("tensor", tensors(), tensor); !s.ok()) return s;
    if (!value) return null_argument(name);
    *value = get(*tensor);
    return {};
  });
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
  aclTensor* made = nullptr;
  guarded("aclCreateTensor", [&]() -> Status {
    if (!viewDims && viewDimsNum > 0) return null_argument("viewDims");
    aclTensor view;
    view.dtype = static_cast<DataType>(dataType);
    view.format = static_cast<Format>(format);
    set_view(view, viewDims, viewDimsNum, stride);
    if (storageDims) view.storage.assign(storageDims, storageDimsNum);
    view.offset = offset;
    view.data = tensorData;
    aclTensor* tensor = tensors().make();
    if (!tensor) throw std::bad_alloc();
    *tensor = std::move(view);
    made = tensor;
    tell_created(made);
    return {};
  });
  return made;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return guarded("aclDestroyTensor", [&]() -> Status {
    if (tensor && tensors().alive(tensor)) tell_destroyed(tensor);
    if (!tensor || tensors().destroy(tensor)) return {};
    return check_object("tensor", tensors(), tensor);
  });
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
  return guarded("aclInitTensor", [&]() -> Status {
    if (Status s = check_object("tensor", tensors(), tensor); !s.ok()) return s;
    // What is not given stays as it was.
    if (viewDims && viewDimsNum > 0) set_view(*tensor, viewDims, viewDimsNum, stride);
    if (storageDims && storageDimsNum > 0) tensor->storage.assign(storageDims, storageDimsNum);
    if (tensorDataAddr) tensor->data = tensorDataAddr;
    tensor->dtype = static_cast<DataType>(dataType);
    tensor->format = static_cast<Format>(format);
    tensor->offset = offset;
    tensors().renew(tensor);
    return {};
  });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return get_dims("aclGetViewShape", tensor, &aclTensor::shape, "viewDims", viewDims, "viewDimsNum", viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return get_dims("aclGetStorageShape", tensor, &aclTensor::storage, "storageDims", storageDims, "storageDimsNum",
                  storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return get_dims("aclGetViewStrides", tensor, &aclTensor::strides, "stridesValue", stridesValue, "stridesNum",
                  stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return get_value("aclGetViewOffset", tensor, "offset", offset, [](const aclTensor& t) { return t.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return get_value("aclGetFormat", tensor, "format", format,
                   [](const aclTensor& t) { return static_cast<aclFormat>(t.format); });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return get_value("aclGetDataType", tensor, "dataType", dataType,
                   [](const aclTensor& t) { return static_cast<aclDataType>(t.dtype); });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return get_value("aclGetRawTensorAddr", tensor, "addr", addr, [](const aclTensor& t) { return t.data; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return guarded("aclSetRawTensorAddr", [&]() -> Status {
    if (Status s = check_object("tensor", tensors(), tensor); !s.ok()) return s;
    tensor->data = addr;
    return {};
  });
}
