// SPDX-License-Identifier: MIT
// `descend info`: what this installation and this machine have.
#include <iostream>
#include <memory>
#include <thread>

#include "acl/acl.h"
#include "src/backends/cpu/parallel.h"
#include "src/backends/cpu/targets.h"
#include "src/base/environment.h"
#include "src/device/backends.h"
#include "src/device/bandwidth.h"
#include "src/device/plugin.h"
#include "src/plan/catalog.h"
#include "tools/descend/command.h"
#include "tools/descend/terminal.h"

extern char** environ;

namespace descend::tool {
namespace {

std::string rounded(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

Json devices_as_json(const VisibleDevices& devices, bool measure) {
  Json all = Json::array();
  for (size_t i = 0; i < devices.entries.size(); ++i) {
    const DeviceEntry& entry = devices.entries[i];
    const MemoryInfo memory = entry.device->memory();
    Json device{{"id", i},
                {"backend", std::string(entry.backend->name())},
                {"description", entry.device->description()},
                {"memory_free", memory.free},
                {"memory_total", memory.total}};
    if (measure) device["copy_gb_per_s"] = copy_bandwidth(*entry.device) / 1e9;
    all.push_back(std::move(device));
  }
  return all;
}

Json collect(bool measure) {
  const VisibleDevices& devices = visible_devices();
  Json document;
  document["version"] = DESCEND_VERSION;
  document["acl_version"] = std::to_string(ACL_MAJOR_VERSION) + "." + std::to_string(ACL_MINOR_VERSION) + "." +
                            std::to_string(ACL_PATCH_VERSION);
  document["prefix"] = prefix().string();
  document["soc"] = environment().soc;
  document["product"] = environment().product ? Json(std::string(name(*environment().product))) : Json();
  document["operators"] = catalog().size();
  document["threads"] = parallel_width();
  document["cores"] = std::thread::hardware_concurrency();
  document["simd_target"] = std::string(cpu_target());
  for (std::string_view target : cpu_targets()) document["simd_targets"].push_back(std::string(target));
  document["devices"] = devices_as_json(devices, measure);
  document["devices_failure"] =
      devices.status.ok() ? Json() : Json(devices.status.message() + ". " + devices.status.solution());
  const LoadedPlugin cuda = load_plugin("cuda");
  document["plugins"]["cuda"] = cuda.backend != nullptr
                                    ? "found, " + std::to_string(cuda.backend->device_count()) + " devices"
                                    : "not here: " + cuda.why_not;
  document["variables"] = Json::object();
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const size_t equals = text.find('=');
    if (text.starts_with("DESCEND_") || text.starts_with("ASCEND_"))
      document["variables"][text.substr(0, equals)] = text.substr(equals + 1);
  }
  return document;
}

void print_for_people(const Json& d) {
  const auto text = [&](const char* key) { return d[key].is_string() ? d[key].get<std::string>() : d[key].dump(); };
  std::string targets;
  for (const Json& target : d["simd_targets"]) targets += (targets.empty() ? "" : ", ") + target.get<std::string>();
  std::cout << bold("Descend " + text("version")) << ", acl " << text("acl_version") << ", in " << text("prefix")
            << "\n\n";
  const std::string product = d["product"].is_null() ? bad("of no product known here") : text("product");
  std::vector<std::vector<std::string>> rows{{"setting", "value"},
                                             {"product", text("soc") + ", " + product},
                                             {"operators", text("operators")},
                                             {"threads", text("threads") + " of " + text("cores") + " cores"},
                                             {"SIMD target", text("simd_target") + " (there are: " + targets + ")"}};
  for (const auto& [plugin, state] : d["plugins"].items())
    rows.push_back({"plug-in " + plugin, state.get<std::string>()});
  for (const auto& [name, value] : d["variables"].items()) rows.push_back({name, value.get<std::string>()});
  std::cout << table(rows) << "\n";
  std::vector<std::vector<std::string>> devices{{"device", "backend", "memory free", "of", "copies at", "what it is"}};
  for (const Json& device : d["devices"])
    devices.push_back({device["id"].dump(), device["backend"].get<std::string>(),
                       rounded(device["memory_free"].get<double>() / (1 << 30), "GiB"),
                       rounded(device["memory_total"].get<double>() / (1 << 30), "GiB"),
                       device.contains("copy_gb_per_s") ? rounded(device["copy_gb_per_s"].get<double>(), "GB/s") : "-",
                       device["description"].get<std::string>()});
  std::cout << table(devices);
}

}  // namespace

void add_info(Command& command) {
  CLI::App* info = command.app.add_subcommand("info", "Say what this installation and this machine have");
  const auto quick = std::make_shared<bool>(false);
  info->add_flag("--quick", *quick, "Do not measure the memory's bandwidth");
  info->footer("Examples:\n  descend info\n  descend info --quick --json\n  DESCEND_DEVICE=cuda descend info");
  info->callback([&command, quick] {
    const Json document = collect(!*quick);
    if (command.json)
      print(document);
    else
      print_for_people(document);
    // No program would start either.
    if (!document["devices_failure"].is_null()) fail(command, document["devices_failure"].get<std::string>());
    if (document["product"].is_null())
      fail(command, "DESCEND_SOC must name a known product; it is '" + environment().soc + "'");
  });
}

}  // namespace descend::tool
