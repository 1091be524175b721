// SPDX-License-Identifier: MIT
// Google Benchmark runs the repetitions, in random order over everything that is timed of a case; the medians count.
#include "bench/measure.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/limit.h"
#include "bench/machine.h"
#include "bench/peer.h"
#include "src/base/environment.h"

namespace descend::bench {
namespace {

// Calls follow one another, as in a program, and are waited for after so many of them or so much memory moved: giving
// work to a stream that has none and waiting for it takes 9 to 20 us (Neoverse N1) or up to 33 us (V1), whatever the
// work, which of a call of 50 MB would still be 8 %.
constexpr int kBatch = 256;
constexpr uint64_t kBatchBytes = 256 << 20;
constexpr uint64_t kSmallBytes = 64 << 10;  // of a call whose phase one matters
constexpr uint64_t kOwnBytes = 256 << 10;   // up to which loops are mostly one chunk, and one thread has it
// A thread that shared in a loop looks out for the next one for a while; not while something else is timed.
constexpr std::chrono::milliseconds kRest(2);

// How long is measured: a repetition of one thing takes at least `sample` seconds, all of a case about `budget`.
struct Effort {
  double sample, budget;
  int least, most;  // repetitions
};
constexpr Effort kQuick{0.008, 0.4, 3, 7}, kFull{0.012, 1, 5, 15};
Effort effort;

struct Subject {
  std::string name;
  std::function<void()> once;                   // in full, waited for
  std::function<void(benchmark::State&)> time;  // empty: `once`, over and over
  int threads;
};

// Collects the repetitions' seconds by subject.
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

void use_threads(int threads) {
  setenv("DESCEND_THREADS", std::to_string(threads).c_str(), 1);
  reread_environment();
}

void time_batches(benchmark::State& state, Call& call, int batch, aclrtStream stream) {
  while (state.KeepRunningBatch(batch)) {
    for (int i = 0; i < batch; ++i) call.run(stream);
    must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  }
}

// Without giving the executors back, which a call does in phase two.
void time_phase_one(benchmark::State& state, const Call& call) {
  std::vector<aclOpExecutor*> executors(kBatch);
  while (state.KeepRunningBatch(kBatch)) {
    uint64_t size = 0;
    for (aclOpExecutor*& executor : executors) must(call.phase_one(&size, &executor), "phase one");
    state.PauseTiming();
    for (aclOpExecutor* executor : executors) must(aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
    state.ResumeTiming();
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// As many as fit the budget, an odd number so that there is one in the middle.
int repetitions(const std::vector<Subject>& subjects) {
  double round = 0;
  for (const Subject& subject : subjects) {
    use_threads(subject.threads);
    double once = seconds_of(subject.once);  // also the first touch of memory
    if (once < 0.1) once = seconds_of(subject.once);
    round += std::max(once, effort.sample);
  }
  return std::clamp(static_cast<int>(effort.budget / round), effort.least, effort.most) | 1;
}

void run(const std::vector<Subject>& subjects, Collector& collector) {
  const int count = repetitions(subjects);
  for (const Subject& subject : subjects) {
    const auto time = [&subject](benchmark::State& state) {
      use_threads(subject.threads);
      std::this_thread::sleep_for(kRest);
      if (subject.time) return subject.time(state);
      for (auto _ : state) subject.once();
    };
    benchmark::RegisterBenchmark(subject.name.c_str(), time)->UseRealTime()->Repetitions(count)->MinTime(effort.sample);
  }
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace

void begin_measuring(bool quick) {
  effort = quick ? kQuick : kFull;
  std::string arguments[] = {"descend_bench", "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  for (const Library& library : libraries()) library.set_threads(machine().threads);
}

Measured measure(const Case& c) {
  Call call;
  c.prepare(call);
  Measured m{.bytes_read = call.bytes_read(), .bytes_written = call.bytes_written(), .layout = call.layout()};
  aclOpExecutor* executor = nullptr;
  must(call.phase_one(&m.workspace, &executor), "phase one");
  must(aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
  aclrtStream stream = nullptr;
  must(aclrtCreateStream(&stream), "aclrtCreateStream");
  const uint64_t bytes = m.bytes_read + m.bytes_written;
  const int threads = machine().threads;
  const Limit limit(m.bytes_read, m.bytes_written);
  const std::vector<Peer> peers = peers_of(c.function, call);

  const auto ours = [&] {
    call.run(stream);
    must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  };
  const int batch = static_cast<int>(std::clamp<uint64_t>(kBatchBytes / bytes, 1, kBatch));
  const auto time_ours = [&](benchmark::State& state) { time_batches(state, call, batch, stream); };
  std::vector<Subject> subjects{{"ours", ours, time_ours, threads}, {"limit", [&] { limit.run(); }, {}, threads}};
  for (const Peer& peer : peers) subjects.push_back({peer.library, peer.run, {}, threads});
  if (bytes < kSmallBytes)
    subjects.push_back({"phase one", ours, [&](benchmark::State& state) { time_phase_one(state, call); }, threads});
  if (bytes > kOwnBytes && threads > 1) {
    subjects.push_back({"ours, one thread", ours, time_ours, 1});
    subjects.push_back({"limit, one thread", [&] { limit.run(); }, {}, 1});
  }
  Collector collector;
  run(subjects, collector);
  must(aclrtDestroyStream(stream), "aclrtDestroyStream");
  m.ours = collector.median("ours");
  m.limit = collector.median("limit");
  for (const Peer& peer : peers) m.peers[peer.library] = collector.median(peer.library);
  m.phase_one = collector.median("phase one");
  m.ours_one_thread = collector.median("ours, one thread");
  m.limit_one_thread = collector.median("limit, one thread");
  return m;
}

}  // namespace descend::bench
