// SPDX-License-Identifier: MIT
#include "src/plan/objects.h"

namespace descend {

Pool<aclTensor>& tensors() {
  static Pool<aclTensor>& pool = *new Pool<aclTensor>;
  return pool;
}
Pool<aclScalar>& scalars() {
  static Pool<aclScalar>& pool = *new Pool<aclScalar>;
  return pool;
}
Pool<aclIntArray>& int_arrays() {
  static Pool<aclIntArray>& pool = *new Pool<aclIntArray>;
  return pool;
}
Pool<aclFloatArray>& float_arrays() {
  static Pool<aclFloatArray>& pool = *new Pool<aclFloatArray>;
  return pool;
}
Pool<aclBoolArray>& bool_arrays() {
  static Pool<aclBoolArray>& pool = *new Pool<aclBoolArray>;
  return pool;
}
Pool<aclTensorList>& tensor_lists() {
  static Pool<aclTensorList>& pool = *new Pool<aclTensorList>;
  return pool;
}
Pool<aclScalarList>& scalar_lists() {
  static Pool<aclScalarList>& pool = *new Pool<aclScalarList>;
  return pool;
}

}  // namespace descend
