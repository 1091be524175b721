// SPDX-License-Identifier: MIT
// The benchmark program.  Every case times our call, PyTorch's and a pass over the same amount of memory, in turn and
// several times over, so that whatever else the machine does hits all of them alike.
//
//   descend_bench [--quick] [--filter TEXT] [--json FILE] [--list]
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/case.h"
#include "bench/limit.h"
#include "bench/machine.h"
#include "bench/measure.h"

namespace {

using namespace descend::bench;

struct Options {
  bool quick = false, list = false;
  std::string filter, json;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick")
      options.quick = true;
    else if (argument == "--list")
      options.list = true;
    else if (argument == "--filter" && i + 1 < argc)
      options.filter = argv[++i];
    else if (argument == "--json" && i + 1 < argc)
      options.json = argv[++i];
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

void print_row(size_t number, size_t count, const Case& c, const Measured& m) {
  char ratio[16] = "-", share[16] = "-";
  if (m.torch > 0) std::snprintf(ratio, sizeof ratio, "%.2fx", m.torch / m.ours);
  if (m.limit > 0) std::snprintf(share, sizeof share, "%.0f %%", 100 * m.limit / m.ours);
  std::printf("[%zu/%zu] %-31s %-44s %10s %10s %8s %7s\n", number, count, c.function.c_str(), c.label.c_str(),
              time_text(m.ours).c_str(), time_text(m.torch).c_str(), ratio, share);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: descend_bench [--quick] [--filter TEXT] [--json FILE] [--list]\n");
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
  const Machine& here = machine();
  std::printf("%s, %d cores; %d threads copy %.1f GB/s.  PyTorch: %s\n", here.processor.c_str(), here.cores,
              here.threads, here.copy_bandwidth / 1e9, torch_version().c_str());
  std::printf("%-59s %28s %10s %8s %7s\n", "", "ours", "PyTorch", "ratio", "limit");
  nlohmann::json report{{"machine", here.processor}, {"cores", here.cores},
                        {"threads", here.threads},   {"copy_gbs", here.copy_bandwidth / 1e9},
                        {"torch", torch_version()},  {"quick", options->quick}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const Measured m = measure(cases[i]);
    print_row(i + 1, cases.size(), cases[i], m);
    report["cases"].push_back({{"function", cases[i].function},
                               {"label", cases[i].label},
                               {"bytes_read", m.bytes_read},
                               {"bytes_written", m.bytes_written},
                               {"workspace", m.workspace},
                               {"phase_one", m.phase_one},
                               {"ours", m.ours},
                               {"torch", m.torch},
                               {"limit", m.limit}});
    if (!options->json.empty()) std::ofstream(options->json) << report.dump(1) << "\n";  // what is there so far
  }
  must(aclrtResetDevice(0), "aclrtResetDevice");
  must(aclFinalize(), "aclFinalize");
}
