// SPDX-License-Identifier: MIT
// aclScalar: a number of any dtype, copied.
#include <cstring>

#include "aclnn/acl_meta.h"
#include "src/aclnn/guard.h"
#include "src/aclnn/observed.h"
#include "src/base/usual_floats.h"
#include "src/plan/objects.h"

using namespace descend;

namespace {

template <class T> T read(const void* value) {
  T copy;
  std::memcpy(&copy, value, sizeof copy);
  return copy;
}

void set(aclScalar& s, float v) { s.real = v; }
void set(aclScalar& s, double v) { s.real = v; }
void set(aclScalar& s, float16 v) { s.real = static_cast<float>(v); }
void set(aclScalar& s, bfloat16 v) { s.real = static_cast<float>(v); }
template <class T>
requires std::is_integral_v<T>
void set(aclScalar& s, T v) { s.integer = static_cast<int64_t>(v); }
void set(aclScalar& s, complex32 v) {
  s.real = static_cast<float>(v.real), s.imaginary = static_cast<float>(v.imaginary);
}
template <class T> void set(aclScalar& s, std::complex<T> v) { s.real = v.real(), s.imaginary = v.imag(); }

// False for a dtype that no number has.
bool read_scalar(aclScalar& s, DataType dtype, const void* value) {
  s = {.dtype = dtype};
  if (dtype == DataType::kBool) {  // any byte but 0 is true; reading it as a C++ bool would not be defined
    s.real = read<uint8_t>(value) != 0;
    return true;
  }
  const auto take = [&]<class T> { set(s, read<T>(value)); };
  return visit(Reals{}, dtype, take) || visit(Complexes{}, dtype, take);
}

}  // namespace

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  aclScalar* made = nullptr;
  guarded("aclCreateScalar", [&]() -> Status {
    if (!value) return null_argument("value");
    const UsualFloats here;
    aclScalar scalar;
    const auto dtype = static_cast<DataType>(dataType);
    if (!read_scalar(scalar, dtype, value))
      return {Code::kInvalid, cat("dataType must satisfy: is the dtype of a number; it is ", name(dtype))};
    aclScalar* slot = scalars().make();
    if (!slot) throw std::bad_alloc();
    *slot = scalar;
    made = slot;
    tell_created(made);
    return {};
  });
  return made;
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return guarded("aclDestroyScalar", [&]() -> Status {
    if (scalar && scalars().alive(scalar)) tell_destroyed(scalar);
    if (!scalar || scalars().destroy(scalar)) return {};
    return check_object("scalar", scalars(), scalar);
  });
}
