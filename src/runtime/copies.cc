// SPDX-License-Identifier: MIT
// Copying and filling memory: what is checked, and which device or stream does it.
#include <cstring>
#include <memory>
#include <optional>

#include "src/runtime/allocations.h"
#include "src/runtime/context.h"
#include "src/runtime/memory.h"
#include "src/runtime/observed.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

// One side of a copy or a fill.
struct Place {
  std::optional<Allocation> allocation;  // empty: pageable host memory

  bool on_device() const { return allocation && allocation->kind == MemoryKind::kDevice; }
  bool pageable() const { return !allocation; }
  Device* device() const { return on_device() ? allocation->device : nullptr; }
  // An address here as the device knows it.
  void* real(void* address) const { return allocation ? allocation->real(address) : address; }
};

struct Located {
  Place place;
  Status status;
};

// Fails when the range begins in an allocation and runs past its end.
Located locate(const void* address, size_t bytes, const char* parameter) {
  Place place{allocations().find(address)};
  if (place.allocation) {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - place.allocation->begin);
    if (bytes > place.allocation->bytes - offset)
      return {place,
              violation(Code::kParamInvalid, "count", cat("ends within the allocation that ", parameter, " is in"),
                        cat(bytes, ", and ", parameter, " is ", describe_address(address)))};
  }
  return {std::move(place), {}};
}

// As observers see it.
Work work_of(const Copy& copy) {
  return {.function = current_function(), .to = copy.to, .from = copy.from, .bytes = copy.bytes, .kind = copy.kind};
}
Work work_of(const Fill& fill) { return {.function = current_function(), .to = fill.at, .bytes = fill.bytes}; }

// A range that is none of one's own: observers know best whose it is.
Status refuse(const Status& why, Work work) {
  work.refused = true;
  observe([&](Observer& o) { (void)o.submitting(nullptr, work); });
  return why;
}

// What is asked before any address is looked at.
Status is_copy(const Copy& copy) {
  if (Status s = not_null(copy.to, "dst"); !s.ok()) return s;
  if (Status s = not_null(copy.from, "src"); !s.ok()) return s;
  if (Status s = is_between(copy.kind, 0, 5, "kind"); !s.ok()) return s;
  if (copy.room == 0) return violation(Code::kParamInvalid, "destMax", "is more than 0", "0");
  if (copy.bytes > copy.room)
    return violation(Code::kParamInvalid, "count", cat("is at most destMax, ", copy.room), cat(copy.bytes));
  return {};
}

Status is_fill(const Fill& fill) {
  if (Status s = not_null(fill.at, "devPtr"); !s.ok()) return s;
  if (fill.bytes > fill.room)
    return violation(Code::kParamInvalid, "count", cat("is at most maxCount, ", fill.room), cat(fill.bytes));
  return {};
}

Located locate_fill(const Fill& fill) {
  Located found = locate(fill.at, fill.bytes, "devPtr");
  if (found.status.ok() && found.place.pageable())
    found.status = violation(Code::kParamInvalid, "devPtr", "is memory from aclrtMalloc or aclrtMallocHost",
                             describe_address(fill.at));
  return found;
}

bool overlap(const Copy& copy) {
  const auto to = reinterpret_cast<uintptr_t>(copy.to), from = reinterpret_cast<uintptr_t>(copy.from);
  return to < from + copy.bytes && from < to + copy.bytes;
}

// As the devices see it.
Copy real(const Place& to, const Place& from, Copy copy) {
  copy.to = to.real(copy.to);
  copy.from = from.real(const_cast<void*>(copy.from));
  return copy;
}

// Between two devices, through the host.
Status copy_between(Device& to_device, Device& from_device, const Copy& copy) {
  const auto staged = std::make_unique_for_overwrite<std::byte[]>(copy.bytes);
  if (Status s = from_device.copy(staged.get(), copy.from, copy.bytes); !s.ok()) return s;
  return to_device.copy(copy.to, staged.get(), copy.bytes);
}

Status copy_now(const Place& to, const Place& from, const Copy& copy) {
  if (!to.on_device() && !from.on_device()) {
    std::memmove(copy.to, copy.from, copy.bytes);
    return {};
  }
  if (to.on_device() && from.on_device() && (to.device() != from.device() || overlap(copy)))
    return copy_between(*to.device(), *from.device(), copy);
  Device& device = to.on_device() ? *to.device() : *from.device();
  return device.copy(copy.to, copy.from, copy.bytes);
}

// Returns when everything that is queued now is done.  What failed is left for the next synchronisation.
Status wait_for_queued(StreamObject& object) {
  Stream& stream = *object.stream;
  if (stream.idle()) {
    tell_joined(object);
    return {};
  }
  const std::unique_ptr<Event> event = object.context->device.device->make_event();
  if (event == nullptr) return {Code::kNoEventResource, "the device has no event left"};
  if (Status s = stream.record(*event); !s.ok()) return s;
  if (Status s = event->synchronize({}); !s.ok()) return s;
  tell_joined(object);
  return {};
}

// A call that waits for its stream must not come from a function that the stream waits for.
Status may_wait(const StreamObject& object) {
  if (Status s = may_wait_for(object.id); !s.ok()) return s;
  return process().reports->may_wait_for(object.id);
}

// The ranges overlap: the bytes take a way over memory of their own.
Status copy_overlapping(Device& device, Stream& stream, const Copy& copy) {
  void* staged = device.allocate(copy.bytes);
  if (staged == nullptr)
    return {Code::kOutOfMemory, cat("no ", copy.bytes, " bytes are free for a copy whose ranges overlap")};
  Status status = stream.copy(staged, copy.from, copy.bytes);
  if (status.ok()) status = stream.copy(copy.to, staged, copy.bytes);
  device.free(staged);  // given back after the copies
  return status;
}

}  // namespace

Status copy_memory(const Copy& copy) {
  if (copy.bytes == 0) return {};
  if (Status s = is_copy(copy); !s.ok()) return s;
  if (current_context() == nullptr) return no_context();
  const Located to = locate(copy.to, copy.bytes, "dst");
  if (!to.status.ok()) return refuse(to.status, work_of(copy));
  const Located from = locate(copy.from, copy.bytes, "src");
  if (!from.status.ok()) return refuse(from.status, work_of(copy));
  if (copy.to == copy.from) return {};
  return observed_work(nullptr, work_of(copy),
                       [&] { return copy_now(to.place, from.place, real(to.place, from.place, copy)); });
}

Status copy_memory(const Copy& copy, void* stream) {
  if (copy.bytes == 0) return {};
  if (Status s = is_copy(copy); !s.ok()) return s;
  if (current_context() == nullptr) return no_context();
  const FoundStream found = find_stream(stream);
  if (!found.status.ok()) return found.status;
  StreamObject& object = *found.object;
  const Located to = locate(copy.to, copy.bytes, "dst");
  if (!to.status.ok()) return refuse(to.status, work_of(copy));
  const Located from = locate(copy.from, copy.bytes, "src");
  if (!from.status.ok()) return refuse(from.status, work_of(copy));
  if (copy.to == copy.from) return {};
  if (!to.place.on_device() && !from.place.on_device())
    return {Code::kNotSupported, "dst and src are both memory of the host, which no stream copies",
            "use aclrtMemcpy, or memory from aclrtMalloc on one side"};

  Device* device = object.context->device.device;
  const auto foreign = [&](const Place& place) { return place.on_device() && place.device() != device; };
  const bool between = foreign(to.place) || foreign(from.place);
  const bool waits = between || to.place.pageable() || from.place.pageable();
  if (waits)
    if (Status s = may_wait(object); !s.ok()) return s;
  return observed_work(&object, work_of(copy), [&]() -> Status {
    const Copy placed = real(to.place, from.place, copy);
    if (between) {
      if (Status s = wait_for_queued(object); !s.ok()) return s;
      return copy_now(to.place, from.place, placed);
    }
    if (!waits) {
      if (overlap(placed)) return copy_overlapping(*device, *object.stream, placed);
      return object.stream->copy(placed.to, placed.from, placed.bytes);
    }
    // A device may wait for the stream when it is told to copy, and hold up whoever asks it for anything else: so it
    // is told when the stream is done, unless another thread adds something in between.
    if (Status s = wait_for_queued(object); !s.ok()) return s;
    if (Status s = object.stream->copy(placed.to, placed.from, placed.bytes); !s.ok()) return s;
    return wait_for_queued(object);
  });
}

Status fill_memory(const Fill& fill) {
  if (fill.bytes == 0) return {};
  if (Status s = is_fill(fill); !s.ok()) return s;
  if (current_context() == nullptr) return no_context();
  const Located found = locate_fill(fill);
  if (!found.status.ok()) return refuse(found.status, work_of(fill));
  return observed_work(nullptr, work_of(fill), [&] {
    return found.place.allocation->device->fill(found.place.real(fill.at), fill.byte, fill.bytes);
  });
}

Status fill_memory(const Fill& fill, void* stream) {
  if (fill.bytes == 0) return {};
  if (Status s = is_fill(fill); !s.ok()) return s;
  if (current_context() == nullptr) return no_context();
  const FoundStream on = find_stream(stream);
  if (!on.status.ok()) return on.status;
  const Located found = locate_fill(fill);
  if (!found.status.ok()) return refuse(found.status, work_of(fill));
  if (found.place.on_device() && found.place.device() != on.object->context->device.device)
    return violation(Code::kParamInvalid, "devPtr", "is memory of the stream's device", describe_address(fill.at));
  return observed_work(on.object.get(), work_of(fill),
                       [&] { return on.object->stream->fill(found.place.real(fill.at), fill.byte, fill.bytes); });
}

}  // namespace descend
