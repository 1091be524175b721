// SPDX-License-Identifier: MIT
// The benchmark program: says which machine this is and how fast its memory is, then runs the operators' cases.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "acl/acl.h"
#include "bench/machine.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (const int code = aclInit(nullptr); code != 0) {
    const char* text = aclGetRecentErrMsg();
    std::fprintf(stderr, "aclInit failed: %d %s\n", code, text ? text : "");
    return 1;
  }
  if (const int code = aclrtSetDevice(0); code != 0) {
    std::fprintf(stderr, "aclrtSetDevice failed: %d\n", code);
    return 1;
  }
  const descend::bench::Machine& machine = descend::bench::machine();
  std::printf("%s, %d cores; %d threads copy %.1f GB/s, triad %.1f GB/s (share: of the copy bandwidth)\n",
              machine.processor.c_str(), machine.cores, machine.threads, machine.copy_bandwidth / 1e9,
              machine.triad_bandwidth / 1e9);
  std::fflush(stdout);
  benchmark::AddCustomContext("processor", machine.processor);
  benchmark::AddCustomContext("threads", std::to_string(machine.threads));
  benchmark::AddCustomContext("copy_gbs", std::to_string(machine.copy_bandwidth / 1e9));
  benchmark::AddCustomContext("triad_gbs", std::to_string(machine.triad_bandwidth / 1e9));
  const size_t cases = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  aclrtResetDevice(0);
  aclFinalize();
  if (cases == 0) std::fprintf(stderr, "no case has such a name\n");
  return cases == 0;
}
