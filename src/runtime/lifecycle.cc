// SPDX-License-Identifier: MIT
// The beginning and the end of the runtime.
#include "src/runtime/lifecycle.h"

#include "src/base/environment.h"
#include "src/base/product.h"
#include "src/base/report.h"
#include "src/runtime/config.h"
#include "src/runtime/contexts.h"
#include "src/runtime/observed.h"
#include "src/runtime/process.h"
#include "src/runtime/rules.h"
#include "src/runtime/streams.h"

namespace descend {
namespace {

Status environment_is_usable() {
  reread_environment();
  choose_devices_again();
  if (!product_of(environment().soc))
    return violation(Code::kSocVersion, "DESCEND_SOC",
                     "is a name like Ascend950*, Ascend910_93*, Ascend910B*, Ascend310B*, Ascend310P*, Ascend910, "
                     "Ascend910A* or Ascend310",
                     environment().soc, "unset DESCEND_SOC for Ascend910B1");
  const Status& devices = visible_devices().status;
  return devices.ok() ? Status() : Status(Code::kNoDevice, devices.message(), devices.solution());
}

// With no reference left and no lock held.  Waits for all work; memory stays allocated.
void end_everything(const std::vector<std::shared_ptr<Context>>& contexts) {
  observe([](Observer& o) { o.finalizing(); });
  // Callbacks that nobody may come to run are let go in all contexts first: a stream of one may wait for another's.
  for (const auto& context : contexts)
    for (const auto& stream : streams_of(context)) process().reports->forget(*stream, true);
  for (const auto& context : contexts) end_context(context, true);
}

// With the process's mutex held: nothing that was set is left, and the contexts to end.
std::vector<std::shared_ptr<Context>> take_everything(Process& all) {
  all.references = 0;
  all.devices.clear();
  all.peers.clear();
  all.default_device = -1;
  all.op_wait_seconds = 0;
  op_execute_seconds = 0;
  for (auto& option : all.options) option = 0;
  share_recent_errors(false);
  return all.contexts.all();
}

Status not_initialized() { return {Code::kRepeatFinalize, "the runtime is not initialised", "call aclInit first"}; }

}  // namespace

Status initialize(const char* config_path) {
  Process& all = process();
  const std::lock_guard one_at_a_time(*all.initializing);
  {
    const std::lock_guard lock(all.mutex);
    if (all.references > 0) {
      ++all.references;
      return {Code::kRepeatInitialize, cat("the runtime is initialised already; this is reference ", all.references),
              "nothing has to be done about it"};
    }
  }
  if (Status s = environment_is_usable(); !s.ok()) return s;
  const ReadConfig read = read_config(config_path == nullptr ? "" : config_path);
  if (!read.status.ok()) return read.status;
  if (read.config.default_device)
    if (Status s = is_device(*read.config.default_device, "defaultDevice.default_device"); !s.ok()) return s;
  share_recent_errors(read.config.process_wide_errors);
  const std::lock_guard lock(all.mutex);
  all.default_device = read.config.default_device.value_or(-1);
  all.references = 1;
  next_stream_epoch();
  return {};
}

Status finalize() {
  if (Status s = may_wait_for(0); !s.ok()) return s;
  std::vector<std::shared_ptr<Context>> contexts;
  {
    Process& all = process();
    const std::lock_guard lock(all.mutex);
    if (all.references == 0) return not_initialized();
    contexts = take_everything(all);
  }
  end_everything(contexts);
  return {};
}

Status finalize_reference(uint64_t* left) {
  if (Status s = may_wait_for(0); !s.ok()) return s;
  std::vector<std::shared_ptr<Context>> contexts;
  {
    Process& all = process();
    const std::lock_guard lock(all.mutex);
    if (all.references == 0) return not_initialized();
    --all.references;
    if (left != nullptr) *left = all.references;
    if (all.references > 0) return {};
    contexts = take_everything(all);
  }
  end_everything(contexts);
  return {};
}

}  // namespace descend
