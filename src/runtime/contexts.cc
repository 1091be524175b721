// SPDX-License-Identifier: MIT
// Contexts: making, choosing and ending them.
#include "src/runtime/contexts.h"

#include "src/base/log.h"
#include "src/runtime/observed.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"
#include "src/runtime/streams.h"

namespace descend {

namespace {

Status is_one_of(const VisibleDevices& devices, int32_t device_id, const char* parameter) {
  if (!devices.status.ok()) return {Code::kNoDevice, devices.status.message(), devices.status.solution()};
  const auto count = static_cast<int64_t>(devices.entries.size());
  if (device_id >= 0 && device_id < count) return {};
  if (count == 0)
    return violation(Code::kInvalidDeviceId, parameter, "names a device", cat(device_id, ", and there is no device"),
                     "see DESCEND_DEVICE and ASCEND_RT_VISIBLE_DEVICES");
  return violation(Code::kInvalidDeviceId, parameter, cat("is 0 to ", count - 1), cat(device_id));
}

}  // namespace

Status is_device(int32_t device_id, const char* parameter) {
  return is_one_of(visible_devices(), device_id, parameter);
}

MadeContext make_context(int32_t device_id, bool is_default) {
  const VisibleDevices& devices = visible_devices();  // one look: another thread's aclInit may choose others
  if (Status s = is_one_of(devices, device_id, "deviceId"); !s.ok()) return {nullptr, s};
  auto context = std::make_shared<Context>();
  context->device_id = device_id;
  context->device = devices.entries[static_cast<size_t>(device_id)];
  context->is_default = is_default;
  Status why;
  context->default_stream = make_stream(context, why);
  if (context->default_stream == nullptr) return {nullptr, why};
  context->handle = new_handle(HandleKind::kContext);
  process().contexts.add(context->handle, context);
  return {std::move(context), {}};
}

Status create_context(void** handle, int32_t device_id) {
  if (Status s = not_null(handle, "context"); !s.ok()) return s;
  MadeContext made = make_context(device_id, false);
  if (!made.status.ok()) return made.status;
  *handle = made.context->handle;
  observe([&](Observer& o) { o.created(ObjectKind::kContext, *handle); });
  thread_state().context = std::move(made.context);
  return {};
}

Status destroy_context(void* handle) {
  if (Status s = not_null(handle, "context"); !s.ok()) return s;
  const std::shared_ptr<Context> context = process().contexts.find(handle);
  if (context == nullptr) return invalid_handle("context", HandleKind::kContext, handle);
  if (context->is_default)
    return violation(Code::kNoContext, "context", "was made by aclrtCreateContext", "the default context of its device",
                     "end it with aclrtResetDevice");
  if (Status s = may_wait_for(0); !s.ok()) return s;
  // Of two threads that destroy it at once, one does.
  if (process().contexts.remove(handle) == nullptr) return invalid_handle("context", HandleKind::kContext, handle);
  end_context(context, false);
  if (thread_state().context == context) thread_state().context.reset();
  return {};
}

Status set_current_context(void* handle) {
  if (Status s = not_null(handle, "context"); !s.ok()) return s;
  std::shared_ptr<Context> context = process().contexts.find(handle);
  if (context == nullptr) {
    const Status why = invalid_handle("context", HandleKind::kContext, handle);
    return {Code::kParamInvalid, why.message()};
  }
  thread_state().context = std::move(context);
  return {};
}

Status get_current_context(void** handle) {
  if (Status s = not_null(handle, "context"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  *handle = context->handle;
  return {};
}

void end_context(const std::shared_ptr<Context>& context, bool drop_callbacks) {
  Process& all = process();
  const auto streams = streams_of(context);
  for (const auto& stream : streams) {
    if (drop_callbacks)
      all.reports->forget(*stream, true);
    else
      all.reports->release_if_mine(*stream);
  }
  if (Status s = wait_until_idle(streams); !s.ok())
    log(LogLevel::kError, cat("a stream had failed when its context ended: ", s.message()));
  context->alive = false;
  all.contexts.remove(context->handle);
  for (const auto& stream : streams_of(context)) {
    stream->alive = false;
    if (stream->handle != nullptr) all.streams.remove(stream->handle);
    all.reports->forget(*stream, drop_callbacks);
    tell_ended(*stream);
  }
  observe([&](Observer& o) { o.destroyed(ObjectKind::kContext, context->handle); });
  std::shared_ptr<StreamObject> default_stream;  // ends without the lock
  {
    const std::lock_guard lock(process().mutex);
    default_stream = std::move(context->default_stream);
  }
  next_stream_epoch();
}

}  // namespace descend
