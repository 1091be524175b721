// SPDX-License-Identifier: MIT
// A kernel is named once, by the operator that uses it; each backend may supply it.
#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "src/base/status.h"

namespace descend {

struct Launch;

// A kernel's name in a number (FNV-1a), so that phase one finds it without comparing texts.
constexpr uint64_t kernel_id(std::string_view name) {
  uint64_t id = 0xcbf29ce484222325u;
  for (char c : name) id = (id ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return id;
}

// Args is plain data: phase one copies it into the plan, phase two hands it to the function as it was.
// data[k] is the address of operand k's first element, in the order the operator's phase one named them.
template <class Args> struct Kernel {
  static_assert(std::is_trivially_copyable_v<Args>);
  using Function = Status (*)(const Args&, void* const* data, Launch&);
  std::string_view name;
  uint64_t id;
  constexpr Kernel(std::string_view text) : name(text), id(kernel_id(text)) {}  // NOLINT: {"elu"} names a kernel
};

class KernelTable {
 public:
  // Called during static initialisation of the library that holds the kernel.
  template <class Args> bool add(const Kernel<Args>& kernel, typename Kernel<Args>::Function function) {
    return table_.emplace(kernel.id, reinterpret_cast<void (*)()>(function)).second;
  }
  // Null when this backend does not have the kernel.
  template <class Args> typename Kernel<Args>::Function find(const Kernel<Args>& kernel) const {
    const auto it = table_.find(kernel.id);
    return it == table_.end() ? nullptr : reinterpret_cast<typename Kernel<Args>::Function>(it->second);
  }

 private:
  std::unordered_map<uint64_t, void (*)()> table_;
};

// The table of the cpu backend, filled by libopapi's static initialisation.
KernelTable& cpu_kernels();

}  // namespace descend
