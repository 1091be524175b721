// SPDX-License-Identifier: MIT
// Tensor descriptions of the single-operator interface, which this implementation does not have.
#include "acl/acl_base.h"
#include "src/acl/unsupported.h"

using descend::kSingleOperator;
using descend::unsupported;

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType, int, const int64_t*, aclFormat) {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

void aclDestroyTensorDesc(const aclTensorDesc* object) {
  if (object != nullptr) unsupported(__func__, kSingleOperator);
}

aclError aclSetTensorFormat(aclTensorDesc*, aclFormat) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorShape(aclTensorDesc*, int, const int64_t*) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorShapeRange(aclTensorDesc*, size_t, int64_t[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclSetTensorValueRange(aclTensorDesc*, size_t, int64_t[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclSetTensorStorageFormat(aclTensorDesc*, aclFormat) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorStorageShape(aclTensorDesc*, int, const int64_t*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclSetTensorOriginFormat(aclTensorDesc*, aclFormat) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorOriginShape(aclTensorDesc*, int, const int64_t*) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorDynamicInput(aclTensorDesc*, const char*) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorConst(aclTensorDesc*, void*, size_t) { return unsupported(__func__, kSingleOperator); }

aclError aclSetTensorPlaceMent(aclTensorDesc*, aclMemType) { return unsupported(__func__, kSingleOperator); }

void aclSetTensorDescName(aclTensorDesc*, const char*) { unsupported(__func__, kSingleOperator); }

aclDataType aclGetTensorDescType(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return ACL_FORMAT_UNDEFINED;
}

size_t aclGetTensorDescSize(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return 0;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return 0;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return 0;
}

int64_t aclGetTensorDescDim(const aclTensorDesc*, size_t) {
  unsupported(__func__, kSingleOperator);
  return 0;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc*, size_t, int64_t*) {
  return unsupported(__func__, kSingleOperator);
}

aclError aclGetTensorDescDimRange(const aclTensorDesc*, size_t, size_t, int64_t*) {
  return unsupported(__func__, kSingleOperator);
}

const char* aclGetTensorDescName(aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

void* aclGetTensorDescAddress(const aclTensorDesc*) {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc*, size_t) {
  unsupported(__func__, kSingleOperator);
  return nullptr;
}

aclError aclTransTensorDescFormat(const aclTensorDesc*, aclFormat, aclTensorDesc**) {
  return unsupported(__func__, kSingleOperator);
}

}  // extern "C"
