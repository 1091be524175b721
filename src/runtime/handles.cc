// SPDX-License-Identifier: MIT
// Making handles and saying what a wrong one is.
#include "src/runtime/handles.h"

#include "src/runtime/rules.h"

namespace descend {
namespace {

// 0x5D in the top byte: outside the user address space of every 64-bit system here.
constexpr uint64_t kMark = 0x5Dull << 56;
constexpr int kKindShift = 48;
constexpr int kNumberShift = 4;

// One count for all kinds and for the life of the process and its children.
std::atomic<uint64_t> last_number{0};

const char* noun(HandleKind kind) {
  switch (kind) {
    case HandleKind::kContext:
      return "a context";
    case HandleKind::kStream:
      return "a stream";
    case HandleKind::kEvent:
      return "an event";
  }
  return nullptr;
}

}  // namespace

void* new_handle(HandleKind kind) {
  const uint64_t number = ++last_number;
  return reinterpret_cast<void*>(kMark | uint64_t{static_cast<uint8_t>(kind)} << kKindShift | number << kNumberShift);
}

std::string describe_handle(const void* handle) {
  const uint64_t value = reinterpret_cast<uint64_t>(handle);
  const auto kind = static_cast<HandleKind>(value >> kKindShift);
  const uint64_t number = (value & ((1ull << kKindShift) - 1)) >> kNumberShift;
  const char* what = noun(kind);
  if (value >> 56 != kMark >> 56 || what == nullptr || number == 0 || number > last_number.load())
    return cat(handle, ", which no function of this library returned");
  return cat(handle, ", the handle of ", what);
}

Status invalid_handle(const char* parameter, HandleKind expected, const void* handle) {
  const std::string value = describe_handle(handle);
  const bool destroyed = value.ends_with(noun(expected));
  return violation(Code::kInvalidHandle, parameter, cat("is ", noun(expected), " that exists"),
                   destroyed ? value + " that was destroyed" : value);
}

}  // namespace descend
