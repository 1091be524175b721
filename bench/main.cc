// SPDX-License-Identifier: MIT
// The benchmark program.  Every case times our call, the same of other libraries and a pass over the same amount of
// memory, in turn and several times over, so that whatever else the machine does hits all of them alike.
//
//   descend_bench [--quick] [--filter TEXT] [--json FILE] [--commit NAME] [--list | --compare]
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/case.h"
#include "bench/compare.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/peer.h"

namespace {

using namespace descend::bench;
using nlohmann::json;

constexpr const char* kLibraries[] = {"torch", "onednn"};  // in the table and the JSON, built in or not

struct Options {
  bool quick = false, list = false, compare = false;
  std::string filter, json, commit;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick")
      options.quick = true;
    else if (argument == "--list")
      options.list = true;
    else if (argument == "--compare")
      options.compare = true;
    else if (argument == "--filter" && i + 1 < argc)
      options.filter = argv[++i];
    else if (argument == "--json" && i + 1 < argc)
      options.json = argv[++i];
    else if (argument == "--commit" && i + 1 < argc)
      options.commit = argv[++i];
    else
      return std::nullopt;
  }
  return options;
}

std::string time_text(double seconds) {
  char text[32];
  if (seconds < 0)
    return "-";
  else if (seconds < 1e-6)
    std::snprintf(text, sizeof text, "%.0f ns", seconds * 1e9);
  else if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  else
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  return text;
}
std::string quotient_text(double a, double b, const char* format) {
  char text[32] = "-";
  if (a > 0 && b > 0) std::snprintf(text, sizeof text, format, a / b);
  return text;
}
double of(const std::map<std::string, double>& peers, const std::string& library) {
  const auto found = peers.find(library);
  return found == peers.end() ? -1 : found->second;
}

void print_row(const char* number, const char* function, const char* label, const std::vector<std::string>& columns) {
  std::printf("%-9s %-30s %-48s", number, function, label);
  for (const std::string& column : columns) std::printf(" %9s", column.c_str());
  std::printf("\n");
  std::fflush(stdout);
}
void print_row(size_t number, size_t count, const Case& c, const Measured& m) {
  const std::string progress = "[" + std::to_string(number) + "/" + std::to_string(count) + "]";
  const double torch = of(m.peers, "torch");
  print_row(progress.c_str(), c.function.c_str(), c.label.c_str(),
            {time_text(m.ours), time_text(torch), time_text(of(m.peers, "onednn")),
             quotient_text(torch, m.ours, "%.2fx"), quotient_text(100 * m.limit, m.ours, "%.0f %%"),
             quotient_text(m.ours_one_thread, m.ours, "%.2fx"), quotient_text(m.limit_one_thread, m.limit, "%.2fx")});
}

// "2026-01-31", of Greenwich.
std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%F", std::gmtime(&now));
  return text;
}

json seconds(double value) { return value > 0 ? json(value) : json(nullptr); }
json to_json(const Case& c, const Measured& m) {
  json row{{"function", c.function},
           {"label", c.label},
           {"layout", name(m.layout)},
           {"bytes_read", m.bytes_read},
           {"bytes_written", m.bytes_written},
           {"workspace", m.workspace},
           {"ours", seconds(m.ours)},
           {"limit", seconds(m.limit)},
           {"ours_one_thread", seconds(m.ours_one_thread)},
           {"limit_one_thread", seconds(m.limit_one_thread)},
           {"phase_one", seconds(m.phase_one)}};
  for (const char* library : kLibraries) row[library] = seconds(of(m.peers, library));
  return row;
}

int compare_all(const std::vector<Case>& cases) {
  size_t wrong = 0;
  for (const Case& c : cases) {
    const std::string text = compare(c);
    if (text.empty()) continue;
    std::printf("%s %s: %s\n", c.function.c_str(), c.label.c_str(), text.c_str());
    ++wrong;
  }
  std::printf("%zu cases, %zu with other results\n", cases.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

void measure_all(const std::vector<Case>& cases, const Options& options) {
  const Machine& here = machine();
  json report{{"schema", 1},
              {"date", today()},
              {"commit", options.commit.empty() ? json(nullptr) : json(options.commit)},
              {"machine", here.processor},
              {"cores", here.cores},
              {"threads", here.threads},
              {"cache_bytes", here.cache_bytes},
              {"copy_gbs", here.copy_bandwidth / 1e9},
              {"quick", options.quick},
              {"filter", options.filter},
              {"cases", json::array()}};
  std::printf("%s, %d cores; %d threads copy %.1f GB/s", here.processor.c_str(), here.cores, here.threads,
              here.copy_bandwidth / 1e9);
  for (const char* library : kLibraries) {
    const std::string version = version_of(library);
    report["libraries"][library] = version.empty() ? json(nullptr) : json(version);
    std::printf("; %s: %s", library, version.empty() ? "not built in" : version.c_str());
  }
  std::printf(
      "\nratio: PyTorch's time over ours.  limit: its time over ours.  threads: one thread's time over that of %d, "
      "ours and "
      "the limit's\n",
      here.threads);
  print_row("", "", "", {"ours", "PyTorch", "oneDNN", "ratio", "limit", "threads", "limit's"});
  for (size_t i = 0; i < cases.size(); ++i) {
    const Measured m = measure(cases[i]);
    print_row(i + 1, cases.size(), cases[i], m);
    report["cases"].push_back(to_json(cases[i], m));
    // What is there so far, so that a run that is stopped has not been for nothing.
    const bool last = i + 1 == cases.size();
    if (!options.json.empty() && (last || !std::filesystem::is_character_file(options.json)))
      std::ofstream(options.json) << report.dump(1) << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr,
                 "usage: descend_bench [--quick] [--filter TEXT] [--json FILE] [--commit NAME] [--list | --compare]\n");
    return 2;
  }
  std::vector<Case> cases;
  const Grid grid = all_cases(options->quick);
  for (const Case& c : grid.cases())
    if ((c.function + " " + c.label).find(options->filter) != std::string::npos) cases.push_back(c);
  if (cases.empty()) {
    std::fprintf(stderr, "no case has '%s' in its name\n", options->filter.c_str());
    return 1;
  }
  if (options->list) {
    for (const Case& c : cases) std::printf("%s %s\n", c.function.c_str(), c.label.c_str());
    return 0;
  }
  must(aclInit(nullptr), "aclInit");
  must(aclrtSetDevice(0), "aclrtSetDevice");
  begin_measuring(options->quick);
  int status = 0;
  if (options->compare)
    status = compare_all(cases);
  else
    measure_all(cases, *options);
  must(aclrtResetDevice(0), "aclrtResetDevice");
  must(aclFinalize(), "aclFinalize");
  return status;
}
