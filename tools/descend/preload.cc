// SPDX-License-Identifier: MIT
// Whose libraries a program would load, and how it is made to load ours: the old kind of search path that a program can
// carry (DT_RPATH) comes before LD_LIBRARY_PATH, but a library that is there already is not searched for.
#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "tools/descend/command.h"

namespace descend::tool {
namespace {

// What programs open by name.
constexpr const char* kLibraries[] = {"libopapi.so", "libnnopbase.so", "libascendcl.so"};

// The dynamic loader of this process, which can say how it would load another program.
std::string loader() {
  Dl_info info{};
  const auto base = reinterpret_cast<const void*>(getauxval(AT_BASE));
  return base != nullptr && dladdr(base, &info) != 0 ? info.dli_fname : "";
}

// Where execvp finds a program; the name itself where it does not.
std::string found_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
  }
  return name;
}

// Whether the program would load a library of another installation under a name of ours.  Nothing of the program runs.
bool loads_others(const std::string& program, const Variables& variables) {
  std::istringstream lines(run_captured({loader(), "--list", program}, variables).output);
  for (std::string line; std::getline(lines, line);) {  // "	libopapi.so => /usr/lib/libopapi.so (0x1234)"
    const size_t arrow = line.find(" => "), end = line.rfind(" (0x");
    if (arrow == std::string::npos || end == std::string::npos || end < arrow + 4) continue;
    const auto ours = prefix() / "lib64" / line.substr(line.find_first_not_of("\t "), arrow - 1);
    std::error_code none;
    if (std::filesystem::exists(ours, none) &&
        !std::filesystem::equivalent(ours, line.substr(arrow + 4, end - arrow - 4), none))
      return true;
  }
  return false;
}

std::string joined(const std::string& a, const std::string& b) { return a.empty() ? b : a + ":" + b; }

}  // namespace

std::string preload_for(const std::string& program, const Variables& variables) {
  if (loader().empty()) return "";
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string theirs = before == nullptr ? "" : before;
  const std::string file = found_in_path(program);
  // A program may also open the libraries later, by their names: they are searched for as these are.
  Variables by_name = variables;
  by_name["LD_PRELOAD"] = theirs;
  for (const char* library : kLibraries) by_name["LD_PRELOAD"] = joined(by_name["LD_PRELOAD"], library);
  if (!loads_others(file, variables) && !loads_others(file, by_name)) return "";
  // From the first of these on, the list is ours: it takes that end off again, for the programs that this one starts.
  std::string list = joined(theirs, (prefix() / "libexec" / "descend" / "libdescend_preload.so").string());
  for (const char* library : kLibraries) list = joined(list, (prefix() / "lib64" / library).string());
  return list;
}

}  // namespace descend::tool
