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
  bool separated = false;            // whether "--" is there
  std::vector<std::string> program;  // what stands behind it
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
// Says on standard error what is wrong, as a line of JSON where JSON is wanted, and makes `descend` end so.
void fail(Command& command, const std::string& why, int status = 1);

// The folder that has bin/descend and lib64: an installation or a build.
std::filesystem::path prefix();

using Variables = std::map<std::string, std::string>;

// The variables a program needs to run on this installation: those of set_env.sh.
Variables variables_of_prefix();

// What LD_PRELOAD must be so that the program, started with these variables, takes this installation's libraries and
// not those that its own search path (DT_RPATH) names; empty where it takes ours anyhow.
std::string preload_for(const std::string& program, const Variables& variables);

// How a program started with run_captured ended: its exit status, 128 and the signal's number where one ended it.
struct Ended {
  int status = 0;
  std::string output;  // standard output and standard error
};
Ended run_captured(const std::vector<std::string>& arguments, const Variables& variables);

}  // namespace descend::tool
