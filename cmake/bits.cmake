# SPDX-License-Identifier: MIT
# descend_bits: tests/bits/ and every operator's *_bits.cc.  It needs no test library, so that it is built wherever the
# libraries are.
file(GLOB bits_sources CONFIGURE_DEPENDS tests/bits/*.cc ops/*/*_bits.cc)
add_executable(descend_bits ${bits_sources})
target_link_libraries(descend_bits PRIVATE descend_flags descend ascendcl nnopbase opapi)
set_source_files_properties(tests/bits/main.cc PROPERTIES COMPILE_DEFINITIONS DESCEND_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
set_target_properties(descend_bits PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64")
