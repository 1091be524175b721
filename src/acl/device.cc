// SPDX-License-Identifier: MIT
// acl_rt.h: devices.
#include <mutex>
#include <set>
#include <string>

#include "acl/acl_rt.h"
#include "src/acl/guarded.h"
#include "src/base/environment.h"
#include "src/base/leaf_mutex.h"
#include "src/base/product.h"
#include "src/runtime/context.h"
#include "src/runtime/devices.h"
#include "src/runtime/memory.h"
#include "src/runtime/rules.h"

using namespace descend;

namespace {

// The same text for ever, whatever the environment is read as later.
const char* kept_for_ever(const std::string& text) {
  static LeafMutex& mutex = *new LeafMutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts.insert(text).first->c_str();
}

}  // namespace

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return guarded(__func__, [&] { return set_device(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return guarded(__func__, [&] { return reset_device(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return guarded(__func__, [&] { return reset_device(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return guarded(__func__, [&] { return get_device(deviceId); });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded(__func__, [&] { return device_count(count); });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return guarded(__func__, [&] {
    Status s = not_null(runMode, "runMode");
    if (s.ok()) *runMode = ACL_HOST;
    return s;
  });
}

const char* aclrtGetSocName() {
  const char* name = nullptr;
  guarded(__func__, [&]() -> Status {
    const std::string soc = environment().soc;
    if (!product_of(soc)) return violation(Code::kSocVersion, "DESCEND_SOC", "is the name of a product", soc);
    name = kept_for_ever(soc);
    return {};
  });
  return name;
}

aclError aclrtSynchronizeDevice() {
  return guarded(__func__, [] { return synchronize_device(); });
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return guarded(__func__, [&] { return set_saturation(mode); });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return guarded(__func__, [&] {
    int32_t kept = 0;
    Status s = not_null(mode, "mode");
    if (s.ok()) s = get_saturation(&kept);
    if (s.ok()) *mode = static_cast<aclrtFloatOverflowMode>(kept);
    return s;
  });
}

// Nothing here sets an overflow flag: an overflow is an infinity in the result.  So the flag reads as zeros.
aclError aclrtGetOverflowStatus(void* outputAddr, size_t outputSize, aclrtStream stream) {
  return guarded(__func__, [&]() -> Status {
    if (Status s = not_null(outputAddr, "outputAddr"); !s.ok()) return s;
    if (outputSize == 0) return violation(Code::kParamInvalid, "outputSize", "is more than 0", "0");
    return fill_memory({.at = outputAddr, .room = outputSize, .byte = 0, .bytes = outputSize}, stream);
  });
}

aclError aclrtResetOverflowStatus(aclrtStream stream) {
  return guarded(__func__, [&] { return find_stream(stream).status; });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return guarded(__func__, [&] { return can_access_peer(canAccessPeer, deviceId, peerDeviceId); });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return guarded(__func__, [&] { return enable_peer(peerDeviceId, flags); });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return guarded(__func__, [&] { return disable_peer(peerDeviceId); });
}

}  // extern "C"
