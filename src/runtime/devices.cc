// SPDX-License-Identifier: MIT
// Devices: counting their users, waiting for them, and what is set per device.
#include "src/runtime/devices.h"

#include "src/runtime/contexts.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"
#include "src/runtime/streams.h"

namespace descend {
namespace {

// The default context of a device, made if there is none, with `more` users.
MadeContext retain_default_context(int32_t device_id, uint64_t more) {
  Process& all = process();
  const auto retain = [&](std::shared_ptr<Context> fresh) {
    const std::lock_guard lock(all.mutex);
    DeviceUse& use = all.devices[device_id];
    if (use.context != nullptr && !use.context->alive) use.context = nullptr;  // aclFinalize came in between
    if (use.context == nullptr) use.context = std::move(fresh);
    if (use.context != nullptr) use.count += more;
    return use.context;
  };
  if (std::shared_ptr<Context> context = retain(nullptr)) return {std::move(context), {}};
  MadeContext made = make_context(device_id, true);
  if (!made.status.ok()) return made;
  std::shared_ptr<Context> context = retain(made.context);
  if (context != made.context) end_context(made.context, true);  // another thread was first
  return {std::move(context), {}};
}

Status is_peer(int32_t device_id, int32_t peer_id) {
  if (device_id != peer_id) return {};
  return violation(Code::kParamInvalid, "peerDeviceId", "is another device", "the current one");
}

}  // namespace

std::shared_ptr<Context> default_context(int32_t device_id) { return retain_default_context(device_id, 0).context; }

Status set_device(int32_t device_id) {
  if (Status s = is_device(device_id, "deviceId"); !s.ok()) return s;
  MadeContext retained = retain_default_context(device_id, 1);
  if (!retained.status.ok()) return retained.status;
  thread_state().context = std::move(retained.context);
  return {};
}

Status reset_device(int32_t device_id, bool whatever_the_count) {
  if (Status s = is_device(device_id, "deviceId"); !s.ok()) return s;
  if (Status s = may_wait_for(0); !s.ok()) return s;
  std::shared_ptr<Context> last;
  {
    const std::lock_guard lock(process().mutex);
    DeviceUse& use = process().devices[device_id];
    if (use.count == 0)
      return violation(Code::kContextRelease, "deviceId", "is a device that aclrtSetDevice has set",
                       cat(device_id, ", which was not set or was reset already"));
    use.count = whatever_the_count ? 0 : use.count - 1;
    if (use.count == 0) last = std::move(use.context);
  }
  if (last != nullptr) end_context(last, false);
  return {};
}

Status get_device(int32_t* device_id) {
  if (Status s = not_null(device_id, "deviceId"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  *device_id = context->device_id;
  return {};
}

Status device_count(uint32_t* count) {
  if (Status s = not_null(count, "count"); !s.ok()) return s;
  const VisibleDevices& devices = visible_devices();
  if (!devices.status.ok()) return {Code::kNoDevice, devices.status.message(), devices.status.solution()};
  *count = static_cast<uint32_t>(devices.entries.size());
  return {};
}

Status synchronize_device() {
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  if (Status s = may_wait_for(0); !s.ok()) return s;
  std::vector<std::shared_ptr<StreamObject>> streams;
  for (const auto& each : process().contexts.all())
    if (each->device.device == context->device.device)
      for (auto& stream : streams_of(each)) streams.push_back(std::move(stream));
  for (const auto& stream : streams)
    if (Status s = process().reports->may_wait_for(stream->id); !s.ok()) return s;
  return wait_until_idle(streams);
}

Status set_saturation(int32_t mode) {
  if (Status s = is_between(mode, 0, 1, "mode"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  const std::lock_guard lock(process().mutex);
  process().devices[context->device_id].saturation = mode;
  return {};
}

Status get_saturation(int32_t* mode) {
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  const std::lock_guard lock(process().mutex);
  *mode = process().devices[context->device_id].saturation;
  return {};
}

Status can_access_peer(int32_t* can_access, int32_t device_id, int32_t peer_id) {
  if (Status s = not_null(can_access, "canAccessPeer"); !s.ok()) return s;
  if (Status s = is_device(device_id, "deviceId"); !s.ok()) return s;
  if (Status s = is_device(peer_id, "peerDeviceId"); !s.ok()) return s;
  *can_access = device_id != peer_id;  // copies go between all devices, if need be through the host
  return {};
}

Status enable_peer(int32_t peer_id, uint32_t flags) {
  if (flags != 0) return violation(Code::kParamInvalid, "flags", "is 0", cat(flags));
  if (Status s = is_device(peer_id, "peerDeviceId"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  if (Status s = is_peer(context->device_id, peer_id); !s.ok()) return s;
  const std::lock_guard lock(process().mutex);
  process().peers.emplace(context->device_id, peer_id);
  return {};
}

Status disable_peer(int32_t peer_id) {
  if (Status s = is_device(peer_id, "peerDeviceId"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  if (Status s = is_peer(context->device_id, peer_id); !s.ok()) return s;
  const std::lock_guard lock(process().mutex);
  if (process().peers.erase({context->device_id, peer_id}) == 0)
    return violation(Code::kParamInvalid, "peerDeviceId", "is a device whose access was enabled", "one that was not");
  return {};
}

}  // namespace descend
