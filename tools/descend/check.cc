// SPDX-License-Identifier: MIT
// `descend check` and `descend bench`: whether this installation works, and how fast it is.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>

#include "src/base/environment.h"
#include "src/device/backends.h"
#include "tools/descend/command.h"
#include "tools/descend/terminal.h"

namespace descend::tool {
namespace {

std::filesystem::path programs() { return prefix() / "libexec" / "descend"; }

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(programs() / "examples", none))
    if (file.path().stem().string().ends_with("_example")) found.push_back(file.path());
  std::sort(found.begin(), found.end());
  return found;
}

// Whether there is such a device, in the library's words.  Nothing else here looks at this process's own devices.
Status find_device(const std::string& device) {
  setenv("DESCEND_DEVICE", device.c_str(), 1);
  reread_environment();
  return visible_devices().status;
}

// Each operator's example knows its right answer and prints "RESULT function correct|wrong microseconds".
void self_test(Command& command, const std::vector<std::string>& devices) {
  for (const std::string& device : devices)
    if (const Status status = find_device(device); !status.ok())
      return fail(command, status.message() + ". " + status.solution());
  const auto all = examples();
  if (all.empty()) return fail(command, "this installation has no example programs in " + programs().string());
  Json document = Json::array();
  std::vector<std::vector<std::string>> rows{{"operator", "device", "result", "first call"}};
  size_t wrong = 0;
  const auto add = [&](const std::string& what, const std::string& device, bool right, const std::string& text,
                       const std::string& time) {
    wrong += !right;
    document.push_back({{"operator", what}, {"device", device}, {"correct", right}, {"text", text}});
    rows.push_back({what, device, right ? good(text) : bad(text), time});
  };
  for (const std::string& device : devices)
    for (const auto& example : all) {
      auto variables = variables_of_prefix();
      variables["DESCEND_DEVICE"] = device;
      variables["DESCEND_CHECK"] = "1";
      const Ended ended = run_captured({example.string()}, variables);
      bool any = false;
      std::istringstream lines(ended.output);
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string mark, function, verdict, time;
        if (!(words >> mark >> function >> verdict >> time) || mark != "RESULT") continue;
        any = true;
        add(function, device, verdict == "correct", verdict, time + " us");
      }
      if (ended.status != 0 || !any)
        add(example.stem().string(), device, false, "ended with " + std::to_string(ended.status) + ": " + ended.output,
            "-");
    }
  command.status = wrong == 0 ? 0 : 1;
  if (command.json) return print(document);
  std::cout << table(rows) << "\n"
            << (wrong == 0 ? good("All is right") : bad(std::to_string(wrong) + " wrong")) << ": " << rows.size() - 1
            << " results, each also looked at by the checker.\n";
}

void print_cases(Command& command, const std::vector<std::string>& call) {
  const Ended ended = run_captured(call, {});
  if (ended.status != 0) return fail(command, ended.output);
  Json names = Json::array();
  std::istringstream lines(ended.output);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  print(names);
}

// Becomes the benchmark program.
void bench(Command& command, std::vector<std::string> arguments, bool list) {
  const std::string program = (programs() / "descend_bench").string();
  if (access(program.c_str(), X_OK) != 0)
    return fail(command, "this installation has no benchmarks; `./dev bench` in the sources builds and runs them");
  if (list && command.json) {
    arguments.insert(arguments.begin(), program);
    return print_cases(command, arguments);
  }
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::cout.flush();
  execv(program.c_str(), argv.data());
  fail(command, program + ": " + std::strerror(errno));
}

}  // namespace

void add_check(Command& command) {
  CLI::App* check = command.app.add_subcommand("check", "Test this installation: each operator's example, checked");
  const auto devices = std::make_shared<std::vector<std::string>>(std::vector<std::string>{"cpu", "reference"});
  check->add_option("--device", *devices, "On these devices")->type_name("DEVICE")->capture_default_str();
  check->footer("Examples:\n  descend check\n  descend check --device cuda\n  descend check --json");
  check->callback([&command, devices] { self_test(command, *devices); });
}

void add_bench(Command& command) {
  CLI::App* bench_command = command.app.add_subcommand("bench", "Time the operators beside the memory's limit");
  struct Options {
    bool quick = false, list = false;
    std::string filter, file;
  };
  const auto options = std::make_shared<Options>();
  bench_command->add_flag("--quick", options->quick, "Fewer sizes, shorter");
  bench_command->add_flag("--list", options->list, "Only name the cases");
  bench_command->add_option("--filter", options->filter, "Only cases with this text in their names");
  bench_command->add_option("--output", options->file, "Write the numbers to a file, as JSON")->type_name("FILE");
  bench_command->footer(
      "Examples:\n  descend bench --quick\n  descend bench --filter aclnnElu --output elu.json\n  descend bench "
      "--quick --json >all.json");
  bench_command->callback([&command, options] {
    std::vector<std::string> arguments;
    if (options->quick) arguments.push_back("--quick");
    if (options->list) arguments.push_back("--list");
    if (!options->filter.empty()) arguments.insert(arguments.end(), {"--filter", options->filter});
    // The numbers take the place of the table, which people still see.
    if (options->file.empty() && command.json && !options->list) {
      options->file = "/dev/fd/" + std::to_string(dup(STDOUT_FILENO));
      dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    if (!options->file.empty()) arguments.insert(arguments.end(), {"--json", options->file});
    bench(command, arguments, options->list);
  });
}

}  // namespace descend::tool
