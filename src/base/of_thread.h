// SPDX-License-Identifier: MIT
// What a thread keeps for itself between calls.
#pragma once
#include <utility>

namespace descend {

// A pointer that every thread has for itself; what it points to is given to `end` with the thread.  The pointer
// outlives the thread's objects, because their destructors may still call us: from then on it stays null.
template <class T, void (*end)(T*)> class OfThread {
 public:
  static T* get() { return mine_.pointer; }
  static T* take() { return std::exchange(mine_.pointer, nullptr); }
  // False, and nothing is kept, when this thread's is gone for good.
  static bool put(T* pointer) {
    Mine& mine = mine_;
    if (mine.state == State::kNew) own();
    if (mine.state == State::kEnded) return false;
    mine.pointer = pointer;
    return true;
  }

 private:
  enum class State { kNew, kOwned, kEnded };
  struct Mine {
    T* pointer;
    State state;
  };
  struct Owner {
    ~Owner() {
      mine_.state = State::kEnded;
      if (T* last = take()) end(last);
    }
  };
  [[gnu::cold]] static void own() {
    static thread_local Owner owner;
    mine_.state = State::kOwned;
  }
  static constinit inline thread_local Mine mine_{nullptr, State::kNew};
};

}  // namespace descend
