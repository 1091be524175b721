// SPDX-License-Identifier: MIT
// A second source of the sample, which names the headers of aclnn without their folder.
#include "acl_meta.h"
#include "aclnn_base.h"

aclIntArray* empty_array() { return aclCreateIntArray(nullptr, 0); }
