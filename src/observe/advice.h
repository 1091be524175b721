// SPDX-License-Identifier: MIT
// What an operator knows of a call that its contract does not ask for, but a card or common sense does.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "src/tensor/tensor.h"

namespace descend {

// Filled by Op::advise, which an operator may have, for each call of phase one while somebody observes.
struct Advice {
  // Where a call is not one that the card takes.
  enum class Remark { kNoOperator, kNoDtype, kNoSmoothing, kNoZloss, kTooLarge, kScales, kEmpty, kMeanOfNothing };
  struct Note {
    Remark remark;
    std::string parameter;
    std::string text;  // the rule and the value
  };
  // A tensor of class numbers: each is in [0, classes) or ignored.
  struct Classes {
    std::string parameter;
    int64_t count = 0;
    int64_t ignored = 0;
    bool mean = false;        // over the positions that count
    std::string result = {};  // an output that is 0 but at the class of each position, in dimension 1; empty: none
  };

  void note(Remark remark, std::string parameter, std::string text) {
    notes.push_back({remark, std::move(parameter), std::move(text)});
  }
  bool has(Remark remark) const {
    return std::any_of(notes.begin(), notes.end(), [&](const Note& each) { return each.remark == remark; });
  }

  const char* function = "";
  std::vector<std::pair<std::string, const aclTensor*>> tensors;  // by their parameters' names
  std::vector<Note> notes;
  std::vector<Classes> classes;
  std::string attributes;   // the parameters that are no tensors, for people
  bool not_finite = false;  // one of them is not
  bool only_moves = false;  // results are elements of the inputs: none can be not finite by itself
};

}  // namespace descend
