// SPDX-License-Identifier: MIT
// Where this installation is, and starting programs on it.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "tools/descend/command.h"

extern char** environ;

namespace descend::tool {
namespace {

// `folder` first in a colon-separated list, where it then stands once.
std::string first_in(const std::string& folder, const char* list) {
  std::string rest = list == nullptr ? "" : ":" + std::string(list) + ":";
  for (size_t at; (at = rest.find(":" + folder + ":")) != std::string::npos;) rest.erase(at, folder.size() + 1);
  while (!rest.empty() && rest.front() == ':') rest.erase(0, 1);
  while (!rest.empty() && rest.back() == ':') rest.pop_back();
  return rest.empty() ? folder : folder + ":" + rest;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t n; (n = read(file, block.data(), block.size())) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(block.data(), static_cast<size_t>(n));
  return text;
}

}  // namespace

std::filesystem::path prefix() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path(); }

Variables variables_of_prefix() {
  const std::string home = prefix().string();
  const char* custom = std::getenv("ASCEND_CUSTOM_PATH");
  return {{"ASCEND_HOME_PATH", home},
          {"ASCEND_TOOLKIT_HOME", home},
          {"ASCEND_CUSTOM_PATH", custom == nullptr || *custom == '\0' ? home : custom},
          {"ASCEND_OPP_PATH", home + "/opp"},
          {"LD_LIBRARY_PATH", first_in(home + "/lib64", std::getenv("LD_LIBRARY_PATH"))}};
}

Ended run_captured(const std::vector<std::string>& arguments, const Variables& variables) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<std::string> texts;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    if (!variables.contains(text.substr(0, text.find('=')))) texts.push_back(text);
  }
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  std::vector<char*> environment, argv;
  for (std::string& text : texts) environment.push_back(text.data());
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  environment.push_back(nullptr);
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ended ended;
  if (failed == 0) ended.output = read_all(ends[0]);
  close(ends[0]);
  if (failed != 0) return {127, std::generic_category().message(failed)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace descend::tool
