// SPDX-License-Identifier: MIT
// What observers are told by the runtime.
#pragma once
#include "src/observe/observer.h"
#include "src/runtime/context.h"

namespace descend {

inline StreamInfo info_of(const StreamObject& stream) {
  return {stream.id, stream.context->device_id, stream.context->device.device, stream.stream.get(),
          stream.context->device.backend};
}

// The host knows that the stream's work is done.
inline void tell_joined(const StreamObject& stream) {
  if (observed()) [[unlikely]]
    observe([info = info_of(stream)](Observer& o) { o.joined(info); });
}

// Nobody can name the stream any more.
inline void tell_ended(const StreamObject& stream) {
  observe([&](Observer& o) {
    if (stream.handle != nullptr) o.destroyed(ObjectKind::kStream, stream.handle);
    o.stream_ended(info_of(stream));
  });
}

// Runs submit() -> Status between telling observers that work is handed over and that it was.  One that they refuse is
// not submitted: it fails on its stream.
template <class Submit> Status observed_work(const StreamObject* stream, const Work& work, const Submit& submit) {
  if (!observed()) [[likely]]
    return submit();
  const StreamInfo info = stream == nullptr ? StreamInfo{} : info_of(*stream);
  const StreamInfo* const on = stream == nullptr ? nullptr : &info;
  Status refused;
  observe([&](Observer& o) {
    if (Status s = o.submitting(on, work); !s.ok()) refused = s;
  });
  Status status = refused.ok()    ? submit()
                  : on == nullptr ? refused
                                  : info.stream->submit([refused] { return refused; });
  observe([&](Observer& o) { o.submitted(on, work); });
  return status;
}

}  // namespace descend
