// SPDX-License-Identifier: MIT
// Streams: making, finding, waiting for, ending.
#include "src/runtime/streams.h"

#include "src/base/log.h"
#include "src/runtime/failures.h"
#include "src/runtime/host_function.h"
#include "src/runtime/observed.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

std::atomic<uint32_t> last_stream_id{0};

}  // namespace

std::shared_ptr<StreamObject> make_stream(const std::shared_ptr<Context>& context, Status& why) {
  auto object = std::make_shared<StreamObject>();
  why = {Code::kNoStreamResource, "the device has no stream left"};
  object->stream = context->device.device->make_stream(&why);
  if (object->stream == nullptr) return nullptr;
  object->context = context;
  object->id = ++last_stream_id;
  object->stream->on_failure(
      [device = context->device_id, id = object->id](const Status& status) { tell_of_failure(device, id, status); });
  return object;
}

Status create_stream(void** handle) {
  if (Status s = not_null(handle, "stream"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  Status why;
  const std::shared_ptr<StreamObject> object = make_stream(context, why);
  if (object == nullptr) return why;
  object->handle = new_handle(HandleKind::kStream);
  process().streams.add(object->handle, object);
  bool stop = false;
  {
    const std::lock_guard lock(process().mutex);
    stop = context->stop_on_failure;
  }
  if (stop) object->stream->stop_on_failure(true);
  // The context may have died meanwhile, before it could see this stream.
  if (!context->alive) {
    process().streams.remove(object->handle);
    return no_context();
  }
  *handle = object->handle;
  observe([&](Observer& o) { o.created(ObjectKind::kStream, object->handle); });
  return {};
}

Status destroy_stream(void* handle, Ending ending) {
  if (handle == nullptr)
    return violation(Code::kInvalidParam, "stream", "is not null", "null",
                     "the default stream belongs to its context and ends with it");
  const FoundStream found = find_stream(handle);
  if (!found.status.ok()) return found.status;
  StreamObject& stream = *found.object;
  if (ending == Ending::kWait)
    if (Status s = may_wait_for(stream.id); !s.ok()) return s;
  if (process().streams.remove(handle) == nullptr) return invalid_handle("stream", HandleKind::kStream, handle);
  stream.alive = false;
  next_stream_epoch();
  if (ending == Ending::kWait) {
    process().reports->release_if_mine(stream);
    if (Status s = wait_until_idle(stream, {}); !s.ok())
      log(LogLevel::kError, cat("a destroyed stream had failed: ", s.message()));
  }
  process().reports->forget(stream, ending == Ending::kForce);
  if (ending == Ending::kForce) stream.stream->abandon();
  tell_ended(stream);
  return {};
}

Status synchronize_stream(void* handle, Timeout timeout) {
  const FoundStream found = find_stream(handle, true);
  if (!found.status.ok()) return found.status;
  if (Status s = may_wait_for(found.object->id); !s.ok()) return s;
  if (!timeout)
    if (Status s = process().reports->may_wait_for(found.object->id); !s.ok()) return s;
  return wait_until_idle(*found.object, timeout);
}

Status query_stream(void* handle, bool* complete) {
  const FoundStream found = find_stream(handle);
  if (!found.status.ok()) return found.status;
  *complete = found.object->stream->idle();
  if (*complete) tell_joined(*found.object);
  return {};
}

Status set_failure_mode(void* handle, uint64_t mode) {
  if (mode > 1)
    return violation(Code::kParamInvalid, "mode", "is ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)",
                     cat(mode));
  const FoundStream found = find_stream(handle);
  if (!found.status.ok()) return found.status;
  if (found.object->failure_mode_chosen.exchange(true))
    return violation(Code::kParamInvalid, "stream", "had no failure mode set before", "one that had");
  if (mode == 0) return {};
  // A stream that stops makes the whole context stop: also the streams that are made later.
  const std::shared_ptr<Context>& context = found.object->context;
  {
    const std::lock_guard lock(process().mutex);
    context->stop_on_failure = true;
  }
  for (const auto& stream : streams_of(context)) stream->stream->stop_on_failure(true);
  return {};
}

Status launch_host_function(void* handle, void (*function)(void*), void* argument) {
  if (Status s = not_null(reinterpret_cast<const void*>(function), "func"); !s.ok()) return s;
  const FoundStream found = find_stream(handle);
  if (!found.status.ok()) return found.status;
  auto call = std::make_shared<HostCall>(function, argument, found.object->id, true);
  // It is over before the stream goes on, however long the stream keeps what it has called.
  return found.object->stream->call_host([call = std::move(call)]() mutable { std::exchange(call, nullptr)->run(); });
}

Status wait_until_idle(StreamObject& stream, Timeout timeout) {
  Status status = as_runtime_failure(stream.stream->synchronize(timeout));
  if (status.code() != Code::kStreamTimeout) tell_joined(stream);
  return status;
}

Status wait_until_idle(const std::vector<std::shared_ptr<StreamObject>>& streams) {
  Status first;
  for (const auto& stream : streams) {
    Status s = wait_until_idle(*stream, {});
    if (s.ok()) continue;
    if (first.ok())
      first = std::move(s);
    else
      log(LogLevel::kError, cat("another stream had failed too: ", s.message()));
  }
  return first;
}

std::vector<std::shared_ptr<StreamObject>> streams_of(const std::shared_ptr<Context>& context) {
  std::vector<std::shared_ptr<StreamObject>> streams;
  {
    const std::lock_guard lock(process().mutex);
    if (context->default_stream != nullptr) streams.push_back(context->default_stream);
  }
  for (auto& stream : process().streams.all())
    if (stream->context == context) streams.push_back(std::move(stream));
  return streams;
}

}  // namespace descend
