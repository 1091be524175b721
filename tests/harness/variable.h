// SPDX-License-Identifier: MIT
// A variable of the environment, set for a test.
#pragma once
#include <cstdlib>

#include "src/base/environment.h"

namespace descend::test {

// Set, and read by the libraries, as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
    reread_environment();
  }
  ~Variable() {
    unsetenv(name_);
    reread_environment();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace descend::test
