// SPDX-License-Identifier: MIT
// `descend run`: a program on this installation, checked and traced if wanted.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include "tools/descend/command.h"

namespace descend::tool {
namespace {

struct Options {
  bool check = false;
  std::string trace, device, soc, suppress, report;
  int threads = -1;
};

Variables variables_of(const Options& options, bool json) {
  auto variables = variables_of_prefix();
  if (options.check) variables["DESCEND_CHECK"] = "1";
  if (!options.suppress.empty()) variables["DESCEND_CHECK_SUPPRESS"] = options.suppress;
  // Its own lines on standard error are the program's; a document for programs goes to a file, or follows them.
  if (!options.report.empty())
    variables["DESCEND_CHECK_JSON"] = std::filesystem::absolute(options.report).string();
  else if (json)
    variables["DESCEND_CHECK_JSON"] = "/dev/stderr";
  if (!options.trace.empty()) variables["DESCEND_TRACE"] = std::filesystem::absolute(options.trace).string();
  if (json) variables["DESCEND_TRACE_JSON"] = "1";
  if (!options.device.empty()) variables["DESCEND_DEVICE"] = options.device;
  if (!options.soc.empty()) variables["DESCEND_SOC"] = options.soc;
  if (options.threads >= 0) variables["DESCEND_THREADS"] = std::to_string(options.threads);
  return variables;
}

// Becomes the program; returns only if that fails.
void run(Command& command, const Options& options) {
  if (command.program.empty()) return fail(command, "run needs a program: descend run [OPTIONS] -- program args...");
  Variables variables = variables_of(options, command.json);
  if (std::string list = preload_for(command.program[0], variables); !list.empty()) {
    if (prefix().string().find_first_of(": \t\n") != std::string::npos)
      return fail(command,
                  command.program[0] +
                      " was built to use another installation, and libraries can only come before those of one "
                      "in a folder without spaces and colons: move this one from " +
                      prefix().string());
    variables["LD_PRELOAD"] = std::move(list);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (std::string& argument : command.program) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int why = errno;
  fail(command, command.program[0] + ": " + std::strerror(why), why == ENOENT ? 127 : 126);  // as a shell says it
}

// Without "--" the program begins at the first word that is no option; a "--" behind it is the program's own.
void take_program(Command& command, std::vector<std::string> words) {
  if (words.empty()) return;
  if (words[0].starts_with("-")) throw CLI::ExtrasError("run", {words[0]});
  if (command.separated) words.push_back("--");
  command.program.insert(command.program.begin(), words.begin(), words.end());
}

}  // namespace

void add_run(Command& command) {
  CLI::App* run_command = command.app.add_subcommand("run", "Run a program on this installation");
  const auto options = std::make_shared<Options>();
  run_command->add_flag("--check", options->check, "Say what is wrong with the program");
  run_command->add_option("--suppress", options->suppress, "Findings not to report: DSC-102,DSC-3*")->type_name("IDS");
  run_command->add_option("--report", options->report, "Write the findings to a file, as JSON")->type_name("FILE");
  run_command->add_option("--trace", options->trace, "Write a trace for ui.perfetto.dev; print a table at the end")
      ->type_name("FILE");
  run_command->add_option("--device", options->device, "cpu, cuda, cuda:N, reference")->type_name("DEVICE");
  run_command->add_option("--soc", options->soc, "Whose product rules apply")->type_name("SOC");
  run_command->add_option("--threads", options->threads, "How many threads the CPU device uses; 0: all cores")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""));
  run_command->footer(
      "Usage: descend run [OPTIONS] [--] program args...\n\n"
      "The program finds this installation's libraries first, whatever prefix it was built for; then `descend` becomes "
      "the\n"
      "program.  With --check a program that would end with 0 but had findings ends with 66.\n\n"
      "Examples:\n"
      "  descend run -- ./train --epochs 3\n"
      "  descend run --check --suppress DSC-110 -- ./train\n"
      "  descend run --check --json -- ./train 2>findings.json\n"
      "  descend run --trace trace.json --device cpu --threads 4 -- python3 train.py\n"
      "  descend run --check --soc Ascend310P3 -- ./infer");
  run_command->prefix_command();
  run_command->callback([&command, options, run_command] {
    take_program(command, run_command->remaining());
    run(command, *options);
  });
}

}  // namespace descend::tool
