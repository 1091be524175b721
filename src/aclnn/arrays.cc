// SPDX-License-Identifier: MIT
// Arrays of numbers, and lists that own tensors or scalars.
#include "aclnn/acl_meta.h"
#include "src/aclnn/guard.h"
#include "src/aclnn/observed.h"
#include "src/plan/objects.h"

using namespace descend;

namespace {

// A new object of the pool, filled by copying `size` values; null values mean none.
template <class T, class Value, class Copied>
T* make_array(const char* function, Pool<T>& pool, std::vector<Copied> T::*values, const Value* from,
              uint64_t size) noexcept {
  T* made = nullptr;
  guarded(function, [&]() -> Status {
    std::vector<Copied> copy;
    if (from && size > copy.max_size())
      return {Code::kInvalid, cat("size must satisfy: is a number of elements that memory can hold; it is ", size)};
    if (from) copy.assign(from, from + size);
    T* array = pool.make();
    if (!array) throw std::bad_alloc();
    array->*values = std::move(copy);
    made = array;
    tell_created(made);
    return {};
  });
  return made;
}

template <class T>
aclnnStatus destroy(const char* function, const char* parameter, Pool<T>& pool, const T* object) noexcept {
  return guarded(function, [&]() -> Status {
    if (object && pool.alive(object)) tell_destroyed(object);
    if (!object || pool.destroy(object)) return {};
    return check_object(parameter, pool, object);
  });
}

// Destroys the list and what it owns.  An element that the caller destroyed already is left alone.
template <class T, class Element>
aclnnStatus destroy_list(const char* function, Pool<T>& pool, std::vector<const Element*> T::*elements,
                         Pool<Element>& element_pool, const T* list) noexcept {
  return guarded(function, [&]() -> Status {
    if (!list) return {};
    if (!pool.retire(list)) return check_object("array", pool, list);
    auto* owned = const_cast<T*>(list);
    tell_destroyed(list);
    for (const Element* element : owned->*elements) {
      tell_destroyed(element);
      element_pool.destroy(element);
    }
    pool.recycle(owned);
    return {};
  });
}

template <class T, class Value>
aclnnStatus get_size(const char* function, const char* parameter, const Pool<T>& pool, std::vector<Value> T::*values,
                     const T* array, uint64_t* size) noexcept {
  return guarded(function, [&]() -> Status {
    if (Status s = check_object(parameter, pool, array); !s.ok()) return s;
    if (!size) return null_argument("size");
    *size = (array->*values).size();
    return {};
  });
}

}  // namespace

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return make_array("aclCreateIntArray", int_arrays(), &aclIntArray::values, value, size);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy("aclDestroyIntArray", "array", int_arrays(), array);
}
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return get_size("aclGetIntArraySize", "array", int_arrays(), &aclIntArray::values, array, size);
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return make_array("aclCreateFloatArray", float_arrays(), &aclFloatArray::values, value, size);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", "array", float_arrays(), array);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return get_size("aclGetFloatArraySize", "array", float_arrays(), &aclFloatArray::values, array, size);
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  // As bytes: what a C caller stored need not be 0 or 1.
  return make_array("aclCreateBoolArray", bool_arrays(), &aclBoolArray::values, reinterpret_cast<const uint8_t*>(value),
                    size);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy("aclDestroyBoolArray", "array", bool_arrays(), array);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return get_size("aclGetBoolArraySize", "array", bool_arrays(), &aclBoolArray::values, array, size);
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return make_array("aclCreateTensorList", tensor_lists(), &aclTensorList::tensors, value, size);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return destroy_list("aclDestroyTensorList", tensor_lists(), &aclTensorList::tensors, tensors(), array);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return get_size("aclGetTensorListSize", "tensorList", tensor_lists(), &aclTensorList::tensors, tensorList, size);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return make_array("aclCreateScalarList", scalar_lists(), &aclScalarList::scalars, value, size);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return destroy_list("aclDestroyScalarList", scalar_lists(), &aclScalarList::scalars, scalars(), array);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return get_size("aclGetScalarListSize", "scalarList", scalar_lists(), &aclScalarList::scalars, scalarList, size);
}
