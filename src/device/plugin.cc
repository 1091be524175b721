// SPDX-License-Identifier: MIT
// Finding, opening and asking a plug-in.
#include "src/device/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "descend_abi.h"
#include "src/base/environment.h"
#include "src/base/text.h"

namespace descend {
namespace {

// Where the library that holds this function is.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&load_plugin), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> folders() {
  std::vector<std::string> found{own_folder()};
  std::string_view rest = environment().backend_path;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) found.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return found;
}

LoadedPlugin open(const std::string& path, std::string_view name) {
  // Local: two plug-ins may have the same names inside.  All symbols now: a lack must show here, not in a kernel.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return {nullptr, cat(path, " cannot be loaded: ", why == nullptr ? "no reason given" : why)};
  }
  const auto entry = reinterpret_cast<BackendEntry>(dlsym(library, kBackendEntryName));
  if (entry == nullptr) return {nullptr, cat(path, " is not a plug-in: it has no function ", kBackendEntryName)};
  const char* why = nullptr;
  Backend* const backend = entry(kBackendAbi, &why);
  if (backend == nullptr) return {nullptr, cat(path, " refuses: ", why == nullptr ? "it gives no reason" : why)};
  if (backend->name() != name) return {nullptr, cat(path, " is the plug-in of another device: ", backend->name())};
  return {backend, {}};
}

}  // namespace

LoadedPlugin load_plugin(std::string_view name) {
  static auto& loaded = *new std::map<std::string, Backend*, std::less<>>;
  if (const auto it = loaded.find(name); it != loaded.end()) return {it->second, {}};
  const std::string file = cat("libdescend_", name, ".so");
  std::string reasons, searched;
  for (const std::string& folder : folders()) {
    const std::string path = cat(folder, "/", file);
    searched += cat(searched.empty() ? "" : ", ", folder);
    if (access(path.c_str(), F_OK) != 0) continue;
    LoadedPlugin plugin = open(path, name);
    if (plugin.backend != nullptr) {
      loaded.emplace(name, plugin.backend);
      return plugin;
    }
    reasons += cat(reasons.empty() ? "" : "; ", plugin.why_not);
  }
  if (reasons.empty()) reasons = cat("there is no ", file, " in ", searched);
  return {nullptr, reasons};
}

}  // namespace descend
