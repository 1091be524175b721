// SPDX-License-Identifier: MIT
// `descend completion`: what shells need to complete a command line, read from the commands themselves.
#include <iostream>
#include <memory>

#include "src/check/findings.h"
#include "src/plan/catalog.h"
#include "tools/descend/command.h"

namespace descend::tool {
namespace {

std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_lnames().empty()) words += " --" + option->get_lnames().front();
  return words.empty() ? words : words.substr(1);
}

// What a command takes besides options.
std::string arguments_of(const std::string& command) {
  if (command == "completion") return "bash zsh fish";
  std::string names;
  if (command != "doc") return names;
  for (const OperatorEntry& entry : catalog()) names += entry.text.function + " ";
  for (const FindingText& each : kFindings) names += "DSC-" + std::to_string(static_cast<int>(each.finding)) + " ";
  names.pop_back();
  return names;
}

std::vector<const CLI::App*> commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Both bash and zsh (with bashcompinit) read this.  Options may stand before the command.
std::string for_bash(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* each : commands(app)) {
    names += (names.empty() ? "" : " ") + each->get_name();
    cases +=
        "    " + each->get_name() + ") words=\"" + words_of(*each) + " " + arguments_of(each->get_name()) + "\" ;;\n";
  }
  return "_descend() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words=\"" +
         names + " " + words_of(app) +
         "\" command= i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --) COMPREPLY=($(compgen -c -f -- \"$word\")); return ;;\n"
         "      -*) ;;\n"
         "      *) command=${command:-${COMP_WORDS[i]}} ;;\n"
         "    esac\n"
         "  done\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "  case ${COMP_WORDS[COMP_CWORD-1]} in\n"
         "    --device) command= words=\"auto cpu cuda reference\" ;;\n"
         "    --soc) command=\n"
         "      words=\"Ascend950 Ascend910_93 Ascend910B1 Ascend310B1 Ascend310P3 Ascend910A Ascend310\" ;;\n"
         "    --trace | --report | --output) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
         "  esac\n"
         "  if [[ $command == run && $word == [!-]* ]]; then COMPREPLY=($(compgen -c -f -- \"$word\")); return; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -F _descend descend\n";
}

// The first TAB makes zsh read the file as the body of the function _descend, which must answer that TAB as well.
std::string for_zsh(const CLI::App& app) {
  return "#compdef descend\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(app) +
         "if [[ $funcstack[1] == _descend ]]; then _bash_complete -F _descend; fi\n";
}

// In single quotes, as fish reads them.
std::string quoted(const std::string& text) {
  std::string inside;
  for (char each : text) inside += (each == '\'' || each == '\\' ? "\\" : "") + std::string(1, each);
  return "'" + inside + "'";
}

std::string for_fish(const CLI::App& app) {
  std::string text = "complete -c descend -n __fish_use_subcommand -f\n";
  for (const CLI::App* each : commands(app)) {
    const std::string name = each->get_name();
    text += "complete -c descend -n __fish_use_subcommand -a " + name + " -d " + quoted(each->get_description()) + "\n";
    for (const CLI::Option* option : each->get_options())
      if (!option->get_lnames().empty())
        text += "complete -c descend -n '__fish_seen_subcommand_from " + name + "' -l " + option->get_lnames().front() +
                (option->get_expected_max() > 0 ? " -r" : "") + " -d " + quoted(option->get_description()) + "\n";
    if (const std::string words = arguments_of(name); !words.empty())
      text += "complete -c descend -n '__fish_seen_subcommand_from " + name + "' -f -a " + quoted(words) + "\n";
  }
  return text;
}

}  // namespace

void add_completion(Command& command) {
  CLI::App* completion = command.app.add_subcommand("completion", "Print what a shell needs to complete `descend`");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Examples:\n  source <(descend completion bash)\n  descend completion fish > "
      "~/.config/fish/completions/descend.fish");
  completion->callback([&command, shell] {
    const std::string script = *shell == "fish"  ? for_fish(command.app)
                               : *shell == "zsh" ? for_zsh(command.app)
                                                 : for_bash(command.app);
    if (command.json) return print(Json{{"shell", *shell}, {"script", script}});
    std::cout << script;
  });
}

}  // namespace descend::tool
