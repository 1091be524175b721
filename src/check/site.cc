// SPDX-License-Identifier: MIT
// Backtraces, and their names: from debug information where libbacktrace was there when this was built, else from
// dynamic symbols.
#include "src/check/site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#ifdef DESCEND_HAS_LIBBACKTRACE
#include <backtrace.h>
#endif

namespace descend {
namespace {

std::string demangled(const char* name) {
  if (name == nullptr) return "";
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &failed), std::free);
  return failed == 0 && text != nullptr ? text.get() : name;
}

std::string module_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string_view path = info.dli_fname;
  return std::string(path.substr(path.rfind('/') + 1));
}

bool ours(const std::string& module) {
  constexpr std::string_view kOwn[] = {DESCEND_LIBRARIES};  // by all their names
  return std::find(std::begin(kOwn), std::end(kOwn), module) != std::end(kOwn);
}

// The functions at an address, the innermost first: several where calls were inlined.
std::vector<Frame> resolve(void* address) {
  std::vector<Frame> found;
  // A return address belongs to the call before it.
  const uintptr_t pc = reinterpret_cast<uintptr_t>(address) - 1;
#ifdef DESCEND_HAS_LIBBACKTRACE
  static backtrace_state* const state = backtrace_create_state(
      nullptr, 1, [](void*, const char*, int) {}, nullptr);
  const auto full = [](void* to, uintptr_t, const char* file, int line, const char* function) {
    if (function != nullptr || file != nullptr)
      static_cast<std::vector<Frame>*>(to)->push_back({demangled(function), file == nullptr ? "" : file, "", line});
    return 0;
  };
  const auto ignore = [](void*, const char*, int) {};
  if (state != nullptr) {
    backtrace_pcinfo(state, pc, full, ignore, &found);
    if (found.empty())
      backtrace_syminfo(
          state, pc,
          [](void* to, uintptr_t, const char* name, uintptr_t, uintptr_t) {
            if (name != nullptr) static_cast<std::vector<Frame>*>(to)->push_back({demangled(name), "", "", 0});
          },
          ignore, &found);
  }
#endif
  if (found.empty()) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(pc), &info) != 0 && info.dli_sname != nullptr)
      found.push_back({demangled(info.dli_sname), "", "", 0});
    else
      found.emplace_back();
  }
  for (Frame& frame : found) frame.module = module_of(address);
  return found;
}

}  // namespace

Site Site::here() {
  Site site;
  site.count = backtrace(site.frames.data(), kDeepest);
  return site;
}

bool Site::operator==(const Site& other) const {
  return count == other.count && std::equal(frames.begin(), frames.begin() + count, other.frames.begin());
}

std::vector<Frame> frames_of(const Site& site) {
  std::vector<Frame> frames;
  for (int i = 0; i < site.count; ++i) {
    const std::string module = module_of(site.frames[static_cast<size_t>(i)]);
    if (ours(module) || module.empty() || module.starts_with("linux-vdso")) continue;
    // The C library calls main; before the program's frames it is what a signal comes through.
    if (module.starts_with("libc.so") || module.starts_with("ld-linux")) {
      if (frames.empty()) continue;
      break;
    }
    for (Frame& frame : resolve(site.frames[static_cast<size_t>(i)])) {
      const bool is_main = frame.function == "main";
      frames.push_back(std::move(frame));
      if (is_main) return frames;
    }
  }
  return frames;
}

}  // namespace descend
