# SPDX-License-Identifier: MIT
# Programs for people who work on the project.
add_executable(descend_doc tools/descend_doc.cc)
target_compile_definitions(descend_doc PRIVATE DESCEND_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
# The operators are listed by loading them, not by calling them.
target_link_options(descend_doc PRIVATE -Wl,--no-as-needed)
target_link_libraries(descend_doc PRIVATE descend_flags descend opapi)
set_target_properties(descend_doc PROPERTIES BUILD_RPATH "${CMAKE_BINARY_DIR}/lib64")
