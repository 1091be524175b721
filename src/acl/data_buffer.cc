// SPDX-License-Identifier: MIT
// acl_base.h: aclDataBuffer, a pair of an address and a size.
#include <memory>
#include <mutex>
#include <unordered_map>

#include "acl/acl_base.h"
#include "src/acl/guarded.h"
#include "src/base/leaf_mutex.h"
#include "src/runtime/rules.h"

using namespace descend;

// What the public header leaves opaque.
struct aclDataBuffer {
  void* data;
  size_t size;
};

namespace {

// The pairs that exist, so that a destroyed one is recognised.
class Buffers {
 public:
  aclDataBuffer* make(void* data, size_t size) {
    auto made = std::make_unique<aclDataBuffer>(aclDataBuffer{data, size});
    const std::lock_guard lock(mutex_);
    aclDataBuffer* buffer = made.get();
    alive_.emplace(buffer, std::move(made));
    return buffer;
  }
  bool destroy(const aclDataBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    return alive_.erase(buffer) != 0;
  }
  bool update(const aclDataBuffer* buffer, const aclDataBuffer& value) {
    const std::lock_guard lock(mutex_);
    const auto it = alive_.find(buffer);
    if (it == alive_.end()) return false;
    *it->second = value;
    return true;
  }
  // Nothing at all for a pair that does not exist.
  aclDataBuffer read(const aclDataBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    const auto it = alive_.find(buffer);
    return it == alive_.end() ? aclDataBuffer{nullptr, 0} : *it->second;
  }

 private:
  LeafMutex mutex_;
  std::unordered_map<const aclDataBuffer*, std::unique_ptr<aclDataBuffer>> alive_;
};

Buffers& buffers() {
  static Buffers& all = *new Buffers;
  return all;
}

Status not_alive(const aclDataBuffer* buffer) {
  if (Status s = not_null(buffer, "dataBuffer"); !s.ok()) return s;
  return violation(Code::kInvalidParam, "dataBuffer", "is what aclCreateDataBuffer returned and was not destroyed",
                   cat(static_cast<const void*>(buffer)));
}

}  // namespace

extern "C" {

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* made = nullptr;
  guarded(__func__, [&]() -> Status {
    made = buffers().make(data, size);
    return {};
  });
  return made;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return guarded(__func__, [&] { return buffers().destroy(dataBuffer) ? Status() : not_alive(dataBuffer); });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return guarded(__func__, [&] {
    return buffers().update(dataBuffer, {data, size}) ? Status() : not_alive(dataBuffer);
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) { return buffers().read(dataBuffer).data; }

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(buffers().read(dataBuffer).size);
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) { return buffers().read(dataBuffer).size; }

}  // extern "C"
