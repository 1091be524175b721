# SPDX-License-Identifier: MIT
# A plug-in and the engine must agree on every structure they exchange.  The number they compare is a digest of the
# headers that define those structures, so that nobody has to remember to change it.
file(GLOB abi_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.h ${CMAKE_SOURCE_DIR}/src/device/*.h
     ${CMAKE_SOURCE_DIR}/src/tensor/*.h ${CMAKE_SOURCE_DIR}/ops/*/*_kernels.h)
list(SORT abi_headers)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${abi_headers})
set(digests "")
foreach(header ${abi_headers})
  file(SHA256 ${header} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/descend_abi.h @ONLY CONTENT
"// Made by cmake/backend_abi.cmake.
#pragma once
#include <cstdint>
namespace descend {
inline constexpr uint64_t kBackendAbi = 0x@digest@;
}  // namespace descend
")
