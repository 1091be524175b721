// SPDX-License-Identifier: MIT
// Reading aclInit's JSON file.
#include "src/runtime/config.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "src/runtime/rules.h"

namespace descend {
namespace {

using Json = nlohmann::json;

// A whole number, written as one or as a string.
std::optional<int32_t> as_number(const Json& value) {
  std::string text;
  if (value.is_string())
    text = value.get<std::string>();
  else if (value.is_number_integer())
    text = value.dump();
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

Status bad_attribute(const char* key, const char* rule, const Json& value) {
  return violation(Code::kFileAttributeInvalid, key, rule, value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

ReadConfig interpret(const Json& file) {
  Config config;
  if (const auto mode = file.find("err_msg_mode"); mode != file.end()) {
    const std::optional<int32_t> number = as_number(*mode);
    if (!number || *number < 0 || *number > 1)
      return {{}, bad_attribute("err_msg_mode", "is \"0\" (one text a thread) or \"1\" (one a process)", *mode)};
    config.process_wide_errors = *number == 1;
  }
  if (const auto outer = file.find("defaultDevice"); outer != file.end()) {
    const bool there = outer->is_object() && outer->contains("default_device");
    const std::optional<int32_t> number = there ? as_number(outer->at("default_device")) : std::nullopt;
    if (!number || *number < 0)
      return {{}, bad_attribute("defaultDevice", "holds a default_device, the number of a device", *outer)};
    config.default_device = number;
  }
  if (const auto outer = file.find("op_debug_config"); outer != file.end() && outer->is_object()) {
    const Json value = outer->value("enable_debug_kernel", Json());
    if (value == "on" || value == "off") config.debug_kernels = value == "on";
  }
  return {config, {}};
}

}  // namespace

ReadConfig read_config(const std::string& path) {
  if (path.empty()) return {};
  std::error_code ignored;
  std::ifstream file;
  // Opening anything else, a pipe say, could wait for ever.
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
  if (!file.is_open()) return {{}, violation(Code::kInvalidFile, "configPath", "names a file that can be read", path)};
  std::stringstream text;
  text << file.rdbuf();
  // What is nested deeper than this is no configuration, and walking it could exhaust the stack.
  constexpr int kDeepest = 64;
  bool too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest || !(too_deep = true); };
  const Json json = Json::parse(text.str(), keep, false);
  if (too_deep || !json.is_object())
    return {{},
            violation(Code::kParseFile, "configPath", "names a file that holds a JSON object", path,
                      "a file with {} means the defaults")};
  return interpret(json);
}

}  // namespace descend
