// SPDX-License-Identifier: MIT
// Objects whose addresses are handed to C callers.  Their memory is recycled but never given back, so that any value a
// caller passes can be asked whether it is a live object: a destroyed, foreign or invented pointer is recognised
// without being dereferenced, in release builds too.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "src/base/leaf_mutex.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace descend {

// T is constructed once a slot and reused: make() hands out an object as clear(T&) left it.  Pools are never destroyed.
//
// Lives are read without ordering: whoever passes an object to another thread orders that himself, and what is not an
// object is never looked into.
template <class T> class Pool {
 public:
  // So many free slots rest before the first of them is used again: a stale pointer stays recognisable for long.
  explicit Pool(size_t resting = 256) noexcept : resting_(resting) {
    for (size_t bytes = kReserved; bytes >= kSmallest; bytes /= 2) {
      void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      slots_ = static_cast<Slot*>(at);
      capacity_ = bytes / sizeof(Slot);
      reserved_ = bytes;
      return;
    }
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A live object; null when there is no memory.
  T* make() noexcept {
    Slot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (free_count_ < resting_ && carved_ < capacity_) slot = carve();
      if (!slot && first_free_) {
        slot = first_free_;
        first_free_ = slot->next_free;
        if (!first_free_) last_free_ = nullptr;
        --free_count_;
      }
    }
    if (!slot) return nullptr;
    revive(&slot->object);
    return &slot->object;
  }
  // Begins the next life of an object that was retired and not recycled.
  void revive(T* object) noexcept {
    Slot* slot = slot_holding(object);
    slot->life.store(slot->life.load(std::memory_order_relaxed) + kNextLife + kAlive, std::memory_order_release);
  }

  // Whether the pointer is an object that make() returned and nothing has retired since.
  bool alive(const void* pointer) const noexcept {
    const Slot* slot = slot_at(pointer);
    return slot && slot->life.load(std::memory_order_relaxed) & kAlive;
  }

  // What tells this life of a living object from every other, and what it was before renew() from what it is; zero for
  // any other pointer.
  uint64_t life(const void* pointer) const noexcept {
    const Slot* slot = slot_at(pointer);
    const uint64_t life = slot ? slot->life.load(std::memory_order_relaxed) : 0;
    return life & kAlive ? life : 0;
  }
  // Whether an object that once had that life still has it.
  static bool still(const T* object, uint64_t life) noexcept {
    return slot_holding(object)->life.load(std::memory_order_relaxed) == life;
  }
  // The object is no longer what it was: it is told from itself before.
  void renew(const T* object) noexcept { slot_holding(object)->life.fetch_add(kNextLife, std::memory_order_release); }

  // Ends the object's life as a handle; true for exactly one caller.  The object itself stays as it is until recycle().
  bool retire(const T* object) noexcept {
    Slot* slot = slot_at(object);
    return slot && slot->life.fetch_and(~kAlive, std::memory_order_acq_rel) & kAlive;
  }

  // Takes a retired object back.
  void recycle(T* object) noexcept {
    clear(*object);
    Slot* slot = slot_holding(object);
    const std::lock_guard lock(mutex_);
    slot->next_free = nullptr;
    (last_free_ ? last_free_->next_free : first_free_) = slot;
    last_free_ = slot;
    ++free_count_;
  }

  bool destroy(const T* object) noexcept {
    if (!retire(object)) return false;
    recycle(const_cast<T*>(object));
    return true;
  }

  // A handle that tells one life of a slot from the next: the address with the number of the life in its unused top
  // bits.
  void* handle(const T* object) const noexcept {
    const uint64_t life = slot_holding(object)->life.load(std::memory_order_relaxed);
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(object) | number(life) << kAddressBits);
  }
  // The live object of a handle; null when that life has ended.
  T* find(const void* handle) const noexcept {
    const Slot* slot = slot_of(handle);
    return slot && is(slot->life.load(std::memory_order_acquire), handle) ? const_cast<T*>(&slot->object) : nullptr;
  }
  // Ends that life of an object that find() returned; true for exactly one caller.
  static bool end_life(T* object, const void* handle) noexcept {
    std::atomic<uint64_t>& life = slot_holding(object)->life;
    uint64_t now = life.load(std::memory_order_relaxed);
    return is(now, handle) && life.compare_exchange_strong(now, now & ~kAlive, std::memory_order_acq_rel);
  }

 private:
  // A slot's life: how many it has had, and in the lowest bit whether it is living one.
  static constexpr uint64_t kAlive = 1, kNextLife = 2;
  struct Slot {
    T object;  // first, so that its address is the slot's
    std::atomic<uint64_t> life{0};
    Slot* next_free = nullptr;
  };
  static constexpr int kAddressBits = 48;
  static constexpr size_t kStep = size_t{256} << 10;     // bytes made usable at a time
  static constexpr size_t kReserved = size_t{1} << 30;   // of address space, not of memory
  static constexpr size_t kSmallest = size_t{16} << 20;  // where address space is limited

  static uint64_t number(uint64_t life) { return life / kNextLife & 0xffff; }
  static bool is(uint64_t life, const void* handle) {
    return life & kAlive && number(life) == reinterpret_cast<uintptr_t>(handle) >> kAddressBits;
  }
  Slot* slot_of(const void* handle) const noexcept {
    return slot_at(
        reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(handle) & ((uintptr_t{1} << kAddressBits) - 1)));
  }

  // Of what is known to be an object.
  static Slot* slot_holding(const T* object) noexcept { return reinterpret_cast<Slot*>(const_cast<T*>(object)); }
  // Of what may be anything.  The two divisions are 4 ns.
  Slot* slot_at(const void* pointer) const noexcept {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(slots_);
    const size_t index = distance / sizeof(Slot);
    if (index >= carved_.load(std::memory_order_relaxed) || distance % sizeof(Slot) != 0) return nullptr;
    return slots_ + index;
  }

  // The next slot that was never used.  Called with the mutex held.
  Slot* carve() noexcept {
    const size_t end = (carved_ + 1) * sizeof(Slot);
    if (end > usable_) {
      const size_t bytes = std::min(kStep + sizeof(Slot), reserved_ - usable_) / 4096 * 4096;
      std::byte* at = reinterpret_cast<std::byte*>(slots_) + usable_;
      if (bytes < end - usable_ || mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
#if defined(__SANITIZE_ADDRESS__)
      __lsan_register_root_region(at, bytes);  // what live objects own is not leaked
#endif
      usable_ += bytes;
    }
    Slot* slot = new (slots_ + carved_) Slot;
    carved_.store(carved_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return slot;
  }

  const size_t resting_;
  LeafMutex mutex_;
  Slot* slots_ = nullptr;
  size_t capacity_ = 0, reserved_ = 0, usable_ = 0;
  std::atomic<size_t> carved_{0};
  Slot* first_free_ = nullptr;
  Slot* last_free_ = nullptr;
  size_t free_count_ = 0;
};

}  // namespace descend
