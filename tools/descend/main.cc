// SPDX-License-Identifier: MIT
// `descend`, the command: running programs on this installation, and asking what it has.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "tools/descend/command.h"
#include "tools/descend/terminal.h"

namespace descend::tool {

// A name of the environment or the disk may be in another encoding: what is no UTF-8 is shown as such.
void print(const Json& document) { std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n"; }

void fail(Command& command, const std::string& why, int status) {
  if (command.json)
    std::cerr << Json{{"error", why}, {"status", status}}.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  else
    std::cerr << "descend: " << why << "\n";
  command.status = status;
}

}  // namespace descend::tool

int main(int argc, char** argv) {
  using namespace descend::tool;
  Command command;
  // What stands behind "--" is another program's.
  char** const end = std::find_if(argv, argv + argc, [](const char* text) { return std::string_view(text) == "--"; });
  command.separated = end != argv + argc;
  if (command.separated) command.program.assign(end + 1, argv + argc);
  const auto add_json = [&](CLI::App& app) { app.add_flag("--json", command.json, "Print JSON, for programs"); };
  try {
    CLI::App& app = command.app;
    app.set_version_flag("--version", "descend " DESCEND_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  descend run -- ./program                a program built for any CANN-shaped prefix, on this machine\n"
        "  descend run --check -- ./program        and what is wrong with it; descend doc DSC-102 explains a finding\n"
        "  descend run --trace t.json -- ./program and where the time goes: open t.json in ui.perfetto.dev\n"
        "  descend info                            devices, SIMD target, threads, bandwidth\n"
        "  descend doc aclnnEluBackward            the operator's page\n"
        "\n`descend COMMAND --help` says more of each command.");
    add_run(command);
    add_info(command);
    add_ops(command);
    add_doc(command);
    add_bench(command);
    add_check(command);
    add_completion(command);
    // Before the command or behind it.
    for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) add_json(*each);
    add_json(app);
    const auto named = [&](const CLI::App* each) { return each->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && std::as_const(app).get_subcommands(named).empty())
      throw CLI::ParseError(std::string("there is no command '") + argv[1] + "'", 2);
    app.parse(static_cast<int>(end - argv), argv);
  } catch (const CLI::Success& e) {
    return command.app.exit(e);
  } catch (const CLI::ParseError& e) {
    // The option may stand behind what is wrong.
    command.json = std::any_of(argv, end, [](const char* text) { return std::string_view(text) == "--json"; });
    fail(command, std::string(e.what()) + "; `descend --help` says what there is", 2);
  } catch (const std::exception& e) {
    fail(command, e.what());
  }
  return command.status;
}
