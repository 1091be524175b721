// SPDX-License-Identifier: MIT
// Where in the program something happened.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace descend {

// The calls that led to a place, as addresses: cheap to take, put into words only for a report.
struct Site {
  static constexpr int kDeepest = 24;
  std::array<void*, kDeepest> frames;
  int count = 0;

  // Here, in the calling thread.
  static Site here();
  // The same calls led to it.
  bool operator==(const Site& other) const;
};

struct Frame {
  std::string function, file, module;
  int line = 0;
};
// The frames of the program: without those of these libraries and of what called main.
std::vector<Frame> frames_of(const Site& site);

}  // namespace descend
