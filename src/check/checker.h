// SPDX-License-Identifier: MIT
// The checker: knows every allocation, object, stream and event of the program, and reports what is wrong with how they
// are used.  docs/checker.md is its guide.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "src/base/leaf_mutex.h"
#include "src/check/blocks.h"
#include "src/check/order.h"
#include "src/check/reporter.h"
#include "src/observe/advice.h"
#include "src/observe/observer.h"

namespace descend {

class Checker final : public Observer {
 public:
  explicit Checker(Reporter& reporter) : reporter_(reporter) {}

  void created(ObjectKind kind, const void* handle) override;
  void destroyed(ObjectKind kind, const void* handle) override;
  void missing_executor(const void* handle, bool to_run) override;
  void allocated(Allocation& allocation) override;
  void freeing(const Allocation& allocation) override;
  void planned(const void* executor, const Advice& advice) override;
  void refused(const Advice& advice) override;
  Status submitting(const StreamInfo* stream, const Work& work) override;
  std::unique_ptr<Watch> watch(const StreamInfo&, const Work& work, std::span<const Use> uses) override;
  void recorded(const void* event, const StreamInfo& stream) override;
  void reset(const void* event, const StreamInfo& stream) override;
  void waits(const StreamInfo& stream, const void* event) override;
  void joined(const StreamInfo& stream) override;
  void joined_event(const void* event) override;
  void stream_ended(const StreamInfo& stream) override;
  void host_function(uint32_t stream, const void* call, HostFunction moment) override;
  void finalizing() override { report_alive("aclFinalize"); }

  // What is still alive, once.
  void report_alive(const char* when);
  // In the child of a fork, where nothing else runs yet: what is alive is the parent's, and so is what its streams will
  // do.
  void leave_to_parent();

  // Whether an address is one that the host has no access to because of us.  Asked in a signal: no lock, no memory.
  bool keeps(const void* address) const { return blocks_.reserved(address); }
  // The host touched such an address.
  void dereferenced(const void* address, const Site& site);

 private:
  struct Executor {
    Site made;
    std::shared_ptr<const Advice> advice;
    std::map<std::string, Site> tensors;  // where each parameter's was created
    bool run = false;
    Site gone_at;  // where it was used up or destroyed
  };
  // One look at the arguments of a call, with the lock held.
  struct Look {
    const char* function;
    const StreamInfo* stream;
    std::span<const Use> uses;
    Site site;
    const VectorClock* after;
    uint64_t number;
    const Executor* executor;
    std::vector<Reported> found = {};
    std::string fatal = {};  // the finding that would stop a card
    bool unwritten = false;  // garbage is read: values say nothing
    bool forgot = false;     // an access that a later one could race with
  };

  void forget_alive();  // it is not to be reported; with the lock
  Look look_at(const StreamInfo* stream, const Work& work);
  // Whether a piece of work that was submitted already comes after what is done now: this thread is in a function that
  // its stream waits for.
  bool comes_later(const Access& other) const;
  const Executor* executor(const void* handle) const;
  // Where each parameter's tensor was created.
  std::map<std::string, Site> tensors_of(const Advice& advice) const;
  void note(const Advice& advice, const std::map<std::string, Site>& tensors);
  // The address's block; null, with a finding, when it is not one that the device can use.
  Block* device_block(Look& look, const std::string& argument, const aclTensor& view);
  void use(Look& look, const Use& use);
  void check_overlaps(Look& look, std::span<const Use> uses);
  void copy(Look& look, const Work& work);
  // Remembers what the host copies to all of a block.
  void sample(const Look& look, const Work& work, Block& to);
  void touch(Look& look, const std::string& argument, Block& block, const aclTensor& view, bool written);
  // Whether a function of the host before it has not ended, which may be about to write what it reads.
  bool may_still_be_written(const Look& look) const;
  void check_written(Look& look, const std::string& argument, Block& block, const aclTensor& view);
  // Whether floats were copied to where a view has elements of 16 bits.
  static void check_dtype(Look& look, const Use& use, const Block& block);
  static void mark_written(Block& block, const aclTensor& view);

  Reporter& reporter_;
  LeafMutex mutex_;
  Blocks blocks_;
  Order order_;
  std::map<std::pair<ObjectKind, const void*>, Site> objects_;
  std::map<const void*, Executor> executors_;
  std::map<const void*, Executor> gone_;
  std::deque<const void*> gone_in_order_;
  // Functions of the program that a stream will call: their place there, and what they come after.
  struct HostCall {
    uint32_t stream;
    uint64_t number;
    VectorClock after;
  };
  std::map<const void*, HostCall> host_calls_;  // queued and not over
};

// How a program that would end with 0 ends when something was found.
inline constexpr int kFoundStatus = 66;

}  // namespace descend
