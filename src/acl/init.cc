// SPDX-License-Identifier: MIT
// acl.h: starting and ending the runtime; versions.
#include "acl/acl.h"
#include "src/acl/guarded.h"
#include "src/runtime/lifecycle.h"
#include "src/runtime/rules.h"

using namespace descend;

extern "C" {

aclError aclInit(const char* configPath) {
  return guarded(__func__, [&] { return initialize(configPath); });
}

aclError aclFinalize() {
  return guarded(__func__, [] { return finalize(); });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return guarded(__func__, [&] { return finalize_reference(refCount); });
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = not_null(majorVersion, "majorVersion"); !s.ok()) return s;
    if (Status s = not_null(minorVersion, "minorVersion"); !s.ok()) return s;
    if (Status s = not_null(patchVersion, "patchVersion"); !s.ok()) return s;
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return {};
  });
}

}  // extern "C"
