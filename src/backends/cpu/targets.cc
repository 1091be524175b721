// SPDX-License-Identifier: MIT
// The SIMD target of the cpu kernels: Highway's choice, or the one DESCEND_CPU_TARGET names.
#include "src/backends/cpu/targets.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace descend {
namespace {

// Bits of Highway's targets: a lower bit is a better one.  The same headers and flags compile the kernels, so what is
// compiled here is what is compiled there.
struct Offered {
  std::vector<int64_t> bits;
  std::vector<std::string_view> names;

  Offered() {
    for (int64_t bit : hwy::SupportedAndGeneratedTargets()) {
      bits.push_back(bit);
      names.push_back(hwy::TargetName(bit));
    }
  }
};
const Offered& offered() {
  static const Offered& targets = *new Offered;
  return targets;
}

}  // namespace

const std::vector<std::string_view>& cpu_targets() { return offered().names; }

std::string_view cpu_target() {
  const auto& [bits, names] = offered();
  auto& chosen = hwy::GetChosenTarget();
  if (!chosen.IsInitialized()) chosen.Update(hwy::SupportedTargets());
  // Entry 0 of a dispatch table makes the choice, the others are the targets in the order of their bits.
  const size_t index = chosen.GetIndex();
  for (size_t i = 0; i < bits.size(); ++i)
    if (HWY_CHOSEN_TARGET_SHIFT(bits[i]) == int64_t{1} << index) return names[i];
  return names.back();  // the last entry of a table is the fallback, which has no bit of its own there
}

bool set_cpu_target(std::string_view name) {
  const auto& [bits, names] = offered();
  const auto at = name.empty() ? names.begin() : std::find(names.begin(), names.end(), name);
  if (at == names.end()) return false;
  hwy::GetChosenTarget().Update(bits[static_cast<size_t>(at - names.begin())]);
  return true;
}

void choose_cpu_target() {
  const std::string& wanted = environment().cpu_target;
  if (set_cpu_target(wanted)) return;
  std::string list;
  for (std::string_view target : cpu_targets()) list += cat(list.empty() ? "" : ", ", target);
  log(LogLevel::kError, cat("DESCEND_CPU_TARGET is ", wanted, ", which is not among the targets of this processor: ",
                            list, "; ", cpu_targets().front(), " is used"));
  set_cpu_target({});
}

}  // namespace descend
