// SPDX-License-Identifier: MIT
// Every environment variable the libraries read, in one place.  docs/environment.md describes them; a test compares.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "src/base/product.h"

namespace descend {

struct Environment {
  std::string device = "auto";      // DESCEND_DEVICE: auto, cpu, cuda, cuda:N, reference, or a plug-in's name
  std::string soc = "Ascend910B1";  // DESCEND_SOC: whose product rules apply
  std::optional<Product> product = Product::kA2;  // the family of soc; empty when no family has that name
  std::string extensions;                         // DESCEND_EXTENSIONS: comma-separated
  std::string backend_path;          // DESCEND_BACKEND_PATH: further folders to look for plug-ins in, colon-separated
  std::string cpu_target;            // DESCEND_CPU_TARGET: the SIMD target to use, by Highway's name
  std::string visible_devices;       // ASCEND_RT_VISIBLE_DEVICES: indices, comma-separated
  bool visible_devices_set = false;  // an empty list hides every device; an unset one hides none
  int threads = 0;                   // DESCEND_THREADS: width of the CPU device; 0: all cores
  bool synchronous = false;          // DESCEND_SYNC=1: every call runs before it returns
  bool check = false;                // DESCEND_CHECK=1: say what is wrong with the program
  std::string check_suppress;        // DESCEND_CHECK_SUPPRESS: findings that are not wanted, comma-separated
  std::string check_json;            // DESCEND_CHECK_JSON: where findings are written as JSON
  bool no_color = false;             // NO_COLOR: set to anything; TERM: not set, or "dumb"
  std::string trace;                 // DESCEND_TRACE: where the trace is written
  bool trace_json = false;           // DESCEND_TRACE_JSON=1: its table is a line of JSON
  int log_level = 3;                 // ASCEND_GLOBAL_LOG_LEVEL: 0 debug, 1 info, 2 warning, 3 error, 4 none
  bool log_to_stdout = false;        // ASCEND_SLOG_PRINT_TO_STDOUT=1

  bool operator==(const Environment&) const = default;
};

// The environment as it was at the first call, or at the last reread.  A value that makes no sense is said so in the
// log and counts as unset.  The object never changes and lives as long as the process; the same variables give the
// same object, so its address tells whether anything changed.
const Environment& environment();

// Its address, to compare and not to look into: another thread may just have written it.  Null before the first call.
// On Arm an acquiring load waits for what was released before, which in small calls is a lot.
const Environment* environment_address();

// Whether DESCEND_EXTENSIONS names the extension.
bool has_extension(std::string_view name);

// Reads the variables again.  aclInit does so when it starts the process's first reference.
void reread_environment();

}  // namespace descend
