// SPDX-License-Identifier: MIT
// Google Benchmark runs the repetitions, in random order over the three; the medians count.
#include "bench/measure.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <vector>

#include "bench/limit.h"
#include "bench/machine.h"

namespace descend::bench {
namespace {

constexpr int kBatch = 256;                 // small calls between two waits for the stream
constexpr uint64_t kSmallBytes = 64 << 10;  // of a small call

struct Torch {
  std::string version = "not built in";
  void (*set_threads)(int) = nullptr;
};
Torch& torch() {
  static Torch& torch = *new Torch;
  return torch;
}

// Collects the repetitions' seconds by benchmark.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && run.iterations > 0)
        seconds_[run.run_name.function_name].push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
  }
  double median(const std::string& name) {
    std::vector<double>& all = seconds_[name];
    if (all.empty()) return -1;
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> seconds_;
};

void time_ours(benchmark::State& state, Call& call, bool small) {
  aclrtStream stream = nullptr;
  must(aclrtCreateStream(&stream), "aclrtCreateStream");
  // Small calls follow one another, as in a program; of a large one each is waited for.
  const int batch = small ? kBatch : 1;
  while (state.KeepRunningBatch(batch)) {
    for (int i = 0; i < batch; ++i) call.run(stream);
    must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  }
  must(aclrtDestroyStream(stream), "aclrtDestroyStream");
}

// Without giving the executors back, which a call does in phase two.
void time_phase_one(benchmark::State& state, Call& call) {
  std::vector<aclOpExecutor*> executors(kBatch);
  while (state.KeepRunningBatch(kBatch)) {
    uint64_t size = 0;
    for (aclOpExecutor*& executor : executors) must(call.phase_one(&size, &executor), "phase one");
    state.PauseTiming();
    for (aclOpExecutor* executor : executors) must(aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
    state.ResumeTiming();
  }
}

}  // namespace

void begin_measuring(bool quick) {
  std::string arguments[] = {"descend_bench", "--benchmark_enable_random_interleaving=true",
                             quick ? "--benchmark_repetitions=5" : "--benchmark_repetitions=9",
                             quick ? "--benchmark_min_time=0.1" : "--benchmark_min_time=0.4"};
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (torch().set_threads) torch().set_threads(machine().threads);
}

Measured measure(const Case& c) {
  Call call;
  c.prepare(call);
  Measured m{.bytes_read = call.bytes_read(), .bytes_written = call.bytes_written()};
  aclOpExecutor* executor = nullptr;
  must(call.phase_one(&m.workspace, &executor), "phase one");
  must(aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
  const bool small = m.bytes_read + m.bytes_written < kSmallBytes;
  const Limit limit(m.bytes_read, m.bytes_written);
  const std::function<void()> peer = peer_of(c.function, call);

  benchmark::RegisterBenchmark("ours", [&](benchmark::State& state) { time_ours(state, call, small); })->UseRealTime();
  benchmark::RegisterBenchmark("limit", [&](benchmark::State& state) {
    for (auto _ : state) limit.run();
  })->UseRealTime();
  if (peer)
    benchmark::RegisterBenchmark("torch", [&](benchmark::State& state) {
      for (auto _ : state) peer();
    })->UseRealTime();
  if (small)
    benchmark::RegisterBenchmark("phase one", [&](benchmark::State& state) {
      time_phase_one(state, call);
    })->UseRealTime();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  m.ours = collector.median("ours");
  m.torch = collector.median("torch");
  m.limit = collector.median("limit");
  m.phase_one = collector.median("phase one");
  return m;
}

std::string torch_version() { return torch().version; }
bool use_torch(std::string version, void (*set_threads)(int threads)) {
  torch() = {std::move(version), set_threads};
  return true;
}

}  // namespace descend::bench
