// SPDX-License-Identifier: MIT
// What observers are told of the objects of aclnn.
#pragma once
#include "src/observe/observer.h"

namespace descend {

constexpr ObjectKind kind_of(const aclTensor*) { return ObjectKind::kTensor; }
constexpr ObjectKind kind_of(const aclScalar*) { return ObjectKind::kScalar; }
constexpr ObjectKind kind_of(const aclIntArray*) { return ObjectKind::kIntArray; }
constexpr ObjectKind kind_of(const aclFloatArray*) { return ObjectKind::kFloatArray; }
constexpr ObjectKind kind_of(const aclBoolArray*) { return ObjectKind::kBoolArray; }
constexpr ObjectKind kind_of(const aclTensorList*) { return ObjectKind::kTensorList; }
constexpr ObjectKind kind_of(const aclScalarList*) { return ObjectKind::kScalarList; }

template <class T> void tell_created(const T* object) {
  observe([&](Observer& o) { o.created(kind_of(object), object); });
}
template <class T> void tell_destroyed(const T* object) {
  observe([&](Observer& o) { o.destroyed(kind_of(object), object); });
}

}  // namespace descend
