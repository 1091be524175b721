// SPDX-License-Identifier: MIT
// Objects whose addresses are handed to C callers.  Their memory is recycled but never given back, so that any value a
// caller passes can be asked whether it is a live object: a destroyed, foreign or invented pointer is recognised
// without being dereferenced, in release builds too.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "src/base/address_space.h"
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
  Pool() noexcept {
    const AddressSpace space = reserve_addresses(kReserved, kSmallest, kShare);
    slots_ = static_cast<Slot*>(space.begin);
    capacity_ = space.bytes / sizeof(Slot);
    reserved_ = space.bytes;
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A live object; null when there is no memory.
  T* make() noexcept {
    T* const object = reserve();
    if (object) begin_life(object);
    return object;
  }
  // The same, before its life: no handle names it.
  T* reserve() noexcept {
    Slot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (free_count_ < kResting && carved_ < capacity_) slot = carve();
      if (!slot && first_free_) {
        slot = first_free_;
        first_free_ = slot->next_free;
        if (!first_free_) last_free_ = nullptr;
        --free_count_;
      }
    }
    return slot ? &slot->object : nullptr;
  }
  // The next life of an object that was reserved, or retired and not recycled.  Answers a handle that tells one life of
  // a slot from the next: the address with the number of the life in its unused top bits.
  static void* begin_life(T* object) noexcept {
    Slot* slot = slot_holding(object);
    const uint64_t life = slot->life.load(std::memory_order_relaxed) + kNextLife + kAlive;
    slot->life.store(life, std::memory_order_release);
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(object) | number(life) << kAddressBits);
  }

  // Whether the numbers of this object's lives begin anew with the next one: handles would be again what they were.
  static bool numbers_end(const T* object) noexcept {
    return number(slot_holding(object)->life.load(std::memory_order_relaxed)) == kLastNumber;
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

  // What follows is for objects that are used by handle, and recycled by whoever lets go of them last.

  // The object of a handle whose life goes on, held; null when that life has ended.
  T* hold(const void* handle) const noexcept {
    Slot* slot = slot_of(handle);
    if (!slot) return nullptr;
    uint64_t life = slot->life.load(std::memory_order_relaxed);
    do {
      if (!is(life, handle)) return nullptr;
    } while (
        !slot->life.compare_exchange_weak(life, life + kHold, std::memory_order_acquire, std::memory_order_relaxed));
    return &slot->object;
  }
  // The object of a handle whose life ends with this call, held; exactly one caller gets it.
  struct Ended {
    T* object;
    bool alone;  // nobody else holds it, nor will: it can be recycled without letting go
  };
  Ended end_life(const void* handle) const noexcept {
    Slot* slot = slot_of(handle);
    if (!slot) return {nullptr, false};
    uint64_t life = slot->life.load(std::memory_order_relaxed), ended;
    do {
      if (!is(life, handle)) return {nullptr, false};
      ended = (life & ~kAlive) + (life & kHolds ? kHold : 0);
    } while (!slot->life.compare_exchange_weak(life, ended, std::memory_order_acquire, std::memory_order_relaxed));
    return {&slot->object, (life & kHolds) == 0};
  }
  // True when the object's life has ended and nobody holds it any more.
  static bool let_go(T* object) noexcept {
    const uint64_t before = slot_holding(object)->life.fetch_sub(kHold, std::memory_order_acq_rel);
    return (before & (kHolds | kAlive)) == kHold;
  }
  // The object that a handle names, to look at what may change at any moment; null when that life has ended.
  const T* peek(const void* handle) const noexcept {
    const Slot* slot = slot_of(handle);
    return slot && is(slot->life.load(std::memory_order_relaxed), handle) ? &slot->object : nullptr;
  }

 private:
  // A slot's life: whether it is living one, how many hold it besides its handle, and how many it has had.  In one
  // word, so that nobody can begin to hold what has ended.
  static constexpr uint64_t kAlive = 1, kHold = 2, kNextLife = uint64_t{1} << 22, kHolds = kNextLife - kHold;
  struct Slot {
    T object;  // first, so that its address is the slot's
    std::atomic<uint64_t> life{0};
    Slot* next_free = nullptr;
  };
  // So many free slots rest before the first of them is used again: a stale pointer stays recognisable for long.
  static constexpr size_t kResting = 256;
  static constexpr int kAddressBits = 48;
  static constexpr size_t kStep = size_t{256} << 10;     // bytes made usable at a time
  static constexpr size_t kReserved = size_t{1} << 30;   // of address space, not of memory
  static constexpr size_t kSmallest = size_t{16} << 20;  // where address space is limited, or
  static constexpr size_t kShare = 256;                  // so much of it

  static constexpr uint64_t kLastNumber = 0x7fff;  // no handle is negative, for callers who keep them as numbers
  static uint64_t number(uint64_t life) { return life / kNextLife & kLastNumber; }
  static bool is(uint64_t life, const void* handle) {
    return life & kAlive && number(life) == reinterpret_cast<uintptr_t>(handle) >> kAddressBits;
  }
  Slot* slot_of(const void* handle) const noexcept {
    return slot_at(
        reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(handle) & ((uintptr_t{1} << kAddressBits) - 1)));
  }

  // Of what is known to be an object.
  static Slot* slot_holding(const T* object) noexcept { return reinterpret_cast<Slot*>(const_cast<T*>(object)); }
  // Of what may be anything.  A multiple of sizeof(Slot), odd times 2^n, times the inverse of the odd number is its
  // quotient times 2^n; of any other number the same product, rotated, is larger than every quotient.
  static constexpr uint64_t inverse_of(uint64_t odd) {
    uint64_t inverse = odd;  // right in 3 bits, and in twice as many after each step
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
    return inverse;
  }
  Slot* slot_at(const void* pointer) const noexcept {
    constexpr int kTwos = std::countr_zero(sizeof(Slot));
    constexpr uint64_t kInverse = inverse_of(sizeof(Slot) >> kTwos);
    static_assert((sizeof(Slot) >> kTwos) * kInverse == 1);
    const uint64_t distance = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(slots_);
    const uint64_t index = std::rotr(distance * kInverse, kTwos);
    return index < carved_.load(std::memory_order_relaxed)
               ? reinterpret_cast<Slot*>(reinterpret_cast<uintptr_t>(slots_) + distance)
               : nullptr;
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

  LeafMutex mutex_;
  Slot* slots_ = nullptr;
  size_t capacity_ = 0, reserved_ = 0, usable_ = 0;
  std::atomic<size_t> carved_{0};
  Slot* first_free_ = nullptr;
  Slot* last_free_ = nullptr;
  size_t free_count_ = 0;
};

}  // namespace descend
