// SPDX-License-Identifier: MIT
// descend_bits: runs the cases of every operator and compares their digests with those in ops/*/*_bits.txt.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "src/backends/cpu/targets.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"

namespace descend::test {
namespace {

constexpr const char* kUsage = R"(usage: descend_bits [OPTIONS]

Runs the operators' cases on the device that DESCEND_DEVICE names (cpu if it is not set), on the cpu once for every SIMD
target of this processor, and compares the bits of the results with the digests in ops/*/*_bits.txt.

  --filter TEXT     only cases with the text in their names
  --targets A,B     only SIMD targets whose names begin so; for each there must be one
  --twice           make every call once more, which must allocate nothing larger than an executor
  --exact           tensors end where memory does that may not be read; otherwise within 16 bytes of there, on devices
                    that have the host's memory
  --write           write the digests instead, from the best target
  --source DIR      the folder that ops is in
)";

struct Options {
  std::string filter, source = DESCEND_SOURCE_DIR;
  std::vector<std::string> targets;
  bool twice = false, write = false, exact = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--twice" || option == "--write" || option == "--exact") {
      (option == "--twice" ? options.twice : option == "--write" ? options.write : options.exact) = true;
      continue;
    }
    if (!value) return false;
    ++i;
    if (option == "--filter")
      options.filter = value;
    else if (option == "--targets")
      options.targets = split(value);
    else if (option == "--source")
      options.source = value;
    else
      return false;
  }
  return !options.write || options.filter.empty();
}

// Digests by the names of their cases; in the file a line each: the digest, two spaces, the name.
using Digests = std::map<std::string, std::string>;

std::string path_of(const Options& options, const std::string& folder) {
  return cat(options.source, "/ops/", folder, "/", folder, "_bits.txt");
}
Digests read_digests(const std::string& path) {
  Digests digests;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (const size_t end = line.find("  "); end != std::string::npos)
      digests[line.substr(end + 2)] = line.substr(0, end);
  return digests;
}
bool write_digests(const std::string& path, const Digests& digests) {
  std::ofstream file(path);
  for (const auto& [name, digest] : digests) file << digest << "  " << name << "\n";
  file.close();
  return file.good();
}

struct Counts {
  int passed = 0, failed = 0;
};

// What runs, for who is stopped because it touches what it may not.
std::string running;
void say_what_runs(int signal) {
  constexpr std::string_view kWhy = ": a signal stopped it; has it touched memory outside its tensors?\n";
  for (std::string_view text : {std::string_view("FAILED "), std::string_view(running), kWhy})
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) break;
  ::signal(signal, SIG_DFL);
  raise(signal);
}

Ends ends_of_tensors(const Options& options) {
  const std::string device = getenv("DESCEND_DEVICE");
  if (device != "cpu" && device != "emulated") return Ends::kAnywhere;
  return options.exact ? Ends::kExactlyAtGuard : Ends::kAtGuard;
}

// The way's digest; empty, and said why, when a call failed.
std::string run(const BitCase& of, const Options& options) {
  BitCall call(options.twice, ends_of_tensors(options));
  running = cat(of.name, ", ", of.way);
  try {
    of.call(call);
  } catch (const std::exception& failure) {
    std::printf("FAILED %s, %s: %s\n", of.name.c_str(), of.way.c_str(), failure.what());
    return {};
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(call.digest()));
  return text;
}

// Compares every way with the digest of its name.  A name that has none takes that of its first way when `learn`.
void compare(const Bits& bits, const Options& options, Digests& digests, bool learn, Counts& counts) {
  std::set<std::string> known;
  for (const BitCase& each : bits.cases()) {
    known.insert(each.name);
    if (each.name.find(options.filter) == std::string::npos) continue;
    const std::string digest = run(each, options);
    if (learn && !digest.empty()) digests.emplace(each.name, digest);
    const auto expected = digests.find(each.name);
    const bool same = expected != digests.end() && expected->second == digest;
    ++(same ? counts.passed : counts.failed);
    if (!same && !digest.empty())
      std::printf("FAILED %s, %s: the digest is %s, not %s\n", each.name.c_str(), each.way.c_str(), digest.c_str(),
                  expected == digests.end() ? "written down" : expected->second.c_str());
  }
  for (const auto& [name, digest] : digests)
    if (!known.contains(name)) {
      ++counts.failed;
      std::printf("FAILED %s: there is a digest, but no such case\n", name.c_str());
    }
}

int write(const Options& options) {
  Counts counts;
  for (const auto& [folder, bits] : all_bits()) {
    Digests digests;
    const int failed = counts.failed;
    compare(bits, options, digests, true, counts);
    if (counts.failed != failed) continue;
    if (!write_digests(path_of(options, folder), digests)) {
      std::printf("cannot write %s\n", path_of(options, folder).c_str());
      return 1;
    }
    std::printf("wrote %zu digests to %s\n", digests.size(), path_of(options, folder).c_str());
  }
  return counts.failed != 0;
}

// On what runs now, which is called so.
Counts check(const Options& options, const std::string& place) {
  Counts counts;
  const auto began = std::chrono::steady_clock::now();
  for (const auto& [folder, bits] : all_bits()) {
    Digests digests = read_digests(path_of(options, folder));
    compare(bits, options, digests, false, counts);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
  std::printf("  %s: %d passed, %d failed (%.0f s)\n", place.c_str(), counts.passed, counts.failed, time.count());
  std::fflush(stdout);
  return counts;
}

// The targets of this processor that the options ask for.
std::vector<std::string_view> chosen_targets(const Options& options) {
  if (options.targets.empty()) return cpu_targets();
  std::vector<std::string_view> chosen;
  for (const std::string& beginning : options.targets) {
    const size_t before = chosen.size();
    for (std::string_view target : cpu_targets())
      if (target.starts_with(beginning)) chosen.push_back(target);
    if (chosen.size() == before) throw std::runtime_error("this processor has no SIMD target " + beginning);
  }
  return chosen;
}

int main(const Options& options) {
  for (int each : {SIGSEGV, SIGBUS}) ::signal(each, say_what_runs);
  const OnDevice on_device;
  if (options.write) return write(options);
  Counts all;
  const auto check_on = [&](const std::string& place) {
    const Counts counts = check(options, place);
    all.passed += counts.passed;
    all.failed += counts.failed;
  };
  const std::string device = getenv("DESCEND_DEVICE");
  if (device == "cpu")
    for (std::string_view target : chosen_targets(options)) {
      set_cpu_target(target);
      check_on(std::string(target));
    }
  else
    check_on(device);
  std::printf("%d passed, %d failed\n", all.passed, all.failed);
  return all.failed != 0 || all.passed == 0;
}

}  // namespace
}  // namespace descend::test

int main(int argc, char** argv) {
  descend::test::Options options;
  if (!descend::test::parse(argc, argv, options)) {
    std::fputs(descend::test::kUsage, stderr);
    return 2;
  }
  // Cases that are about a product or an extension choose it themselves.
  unsetenv("DESCEND_SOC");
  unsetenv("DESCEND_EXTENSIONS");
  setenv("DESCEND_DEVICE", "cpu", 0);
  try {
    return descend::test::main(options);
  } catch (const std::exception& failure) {
    std::printf("FAILED %s\n", failure.what());
    return 1;
  }
}
