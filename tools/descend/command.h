// SPDX-License-Identifier: MIT
// What the commands of `descend` share: where they are added, how they print, and where the installation is.
#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace descend::tool {

using Json = nlohmann::ordered_json;

// One run of `descend`.
struct Command {
  CLI::App app{"Descend: programs for AscendCL and aclnn on an ordinary computer.", "descend"};
  bool json = false;
  std::vector<std::string> program;  // what stands behind "--"
  int status = 0;                    // what main returns
};

void add_run(Command& command);
void add_info(Command& command);
void add_ops(Command& command);
void add_doc(Command& command);
void add_bench(Command& command);
void add_check(Command& command);
void add_completion(Command& command);

// Prints a JSON document on standard output.
void print(const Json& document);
// Says on standard error what is wrong and makes `descend` end with 1.
void fail(Command& command, const std::string& why);

// The folder that has bin/descend and lib64: an installation or a build.
std::filesystem::path prefix();

// The variables a program needs to run on this installation: those of set_env.sh.
std::map<std::string, std::string> variables_of_prefix();

// How a program started with run_captured ended: its exit status, 128 and the signal's number where one ended it.
struct Ended {
  int status = 0;
  std::string output;  // standard output and standard error
};
Ended run_captured(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables);

}  // namespace descend::tool
