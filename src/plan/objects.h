// SPDX-License-Identifier: MIT
// The life of the objects behind aclTensor*, aclScalar* and the arrays.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/tensor/tensor.h"

// What recycling an object drops.  Everything else is overwritten when the object is made again.
inline void clear(aclTensor& t) { t = aclTensor{}; }
inline void clear(aclScalar&) {}
inline void clear(aclIntArray& a) { a.values = {}; }
inline void clear(aclFloatArray& a) { a.values = {}; }
inline void clear(aclBoolArray& a) { a.values = {}; }
inline void clear(aclTensorList& l) { l.tensors = {}; }
inline void clear(aclScalarList& l) { l.scalars = {}; }

namespace descend {

// The pools are the engine's: one a type, whichever library asks.
Pool<aclTensor>& tensors();
Pool<aclScalar>& scalars();
Pool<aclIntArray>& int_arrays();
Pool<aclFloatArray>& float_arrays();
Pool<aclBoolArray>& bool_arrays();
Pool<aclTensorList>& tensor_lists();
Pool<aclScalarList>& scalar_lists();

inline Pool<aclTensor>& pool_of(const aclTensor*) { return tensors(); }
inline Pool<aclScalar>& pool_of(const aclScalar*) { return scalars(); }
inline Pool<aclIntArray>& pool_of(const aclIntArray*) { return int_arrays(); }

// Live copies of objects, destroyed with this: what a plan keeps of its parameters, what a test changes.
class Copies {
 public:
  Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() { clear(); }

  // A copy that may be changed.  Throws std::bad_alloc.
  template <class T> T* of(const T& object) {
    T* copy = pool_of(&object).make();
    if (!copy) throw std::bad_alloc();
    try {
      copies_.push_back({copy, [](void* p) { pool_of(static_cast<T*>(p)).destroy(static_cast<T*>(p)); }});
    } catch (...) {
      pool_of(copy).destroy(copy);
      throw;
    }
    *copy = object;
    return copy;
  }
  // Texts are kept the same way.
  char* of(const char* text) {
    texts_.push_back(std::make_unique<std::string>(text));
    return texts_.back()->data();
  }

  void clear() {
    for (const Copy& c : copies_) c.destroy(c.object);
    copies_.clear();
    texts_.clear();
  }

 private:
  struct Copy {
    void* object;
    void (*destroy)(void*);
  };
  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

}  // namespace descend
