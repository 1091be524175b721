# SPDX-License-Identifier: MIT
# A toolchain for the processor that this machine is not, x86-64 or aarch64.  `./dev test --targets` builds descend_bits
# with it, for emulation; the libraries it needs are in build/foreign_libraries.
set(CMAKE_SYSTEM_NAME Linux)
if(CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
else()
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
endif()
set(CMAKE_C_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)
set(CMAKE_PREFIX_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/foreign_libraries/usr)
