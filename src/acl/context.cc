// SPDX-License-Identifier: MIT
// acl_rt.h: contexts.
#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/runtime/contexts.h"

using namespace descend;

extern "C" {

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return guarded(__func__, [&] { return create_context(context, deviceId); });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return guarded(__func__, [&] { return destroy_context(context); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return guarded(__func__, [&] { return set_current_context(context); });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return guarded(__func__, [&] { return get_current_context(context); });
}

}  // extern "C"
