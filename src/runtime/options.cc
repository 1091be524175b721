// SPDX-License-Identifier: MIT
// aclSysParamOpt: kept and given back.  What they could change, determinism, holds always.
#include "src/runtime/options.h"

#include "src/runtime/process.h"
#include "src/runtime/rules.h"

namespace descend {
namespace {

constexpr int32_t kDeterministic = 0, kLastOption = 2;

Status is_option(int32_t option) { return is_between(option, 0, kLastOption, "opt"); }

Status is_value(int32_t option, int64_t value) {
  if (Status s = is_option(option); !s.ok()) return s;
  return is_between(value, 0, option == kDeterministic ? 3 : 1, "value", Code::kParamInvalid);
}

}  // namespace

Status set_context_option(int32_t option, int64_t value) {
  if (Status s = is_value(option, value); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  const std::lock_guard lock(process().mutex);
  context->options[static_cast<size_t>(option)] = value;
  return {};
}

Status get_context_option(int32_t option, int64_t* value) {
  if (Status s = is_option(option); !s.ok()) return s;
  if (Status s = not_null(value, "value"); !s.ok()) return s;
  const std::shared_ptr<Context> context = current_context();
  if (context == nullptr) return no_context();
  const std::lock_guard lock(process().mutex);
  const std::optional<int64_t>& kept = context->options[static_cast<size_t>(option)];
  if (!kept)
    return violation(Code::kOptionNotSet, "opt", "is an option that was set in this context", cat(option),
                     "call aclrtCtxSetSysParamOpt first, or ask aclrtGetSysParamOpt");
  *value = *kept;
  return {};
}

Status set_process_option(int32_t option, int64_t value) {
  if (Status s = is_value(option, value); !s.ok()) return s;
  process().options[static_cast<size_t>(option)] = value;
  return {};
}

Status get_process_option(int32_t option, int64_t* value) {
  if (Status s = is_option(option); !s.ok()) return s;
  if (Status s = not_null(value, "value"); !s.ok()) return s;
  *value = process().options[static_cast<size_t>(option)];
  return {};
}

}  // namespace descend
