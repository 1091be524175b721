// SPDX-License-Identifier: MIT
// Variables of the environment, set for a test.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>

#include "src/base/environment.h"

namespace descend::test {

// Set as long as this lives, and then as it was before; read by the next aclInit.
class VariableAtInit {
 public:
  VariableAtInit(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~VariableAtInit() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  VariableAtInit(const VariableAtInit&) = delete;
  VariableAtInit& operator=(const VariableAtInit&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The same, read by the libraries at once.
class Variable {
 public:
  Variable(const char* name, const char* value) : set_(std::in_place, name, value) { reread_environment(); }
  ~Variable() {
    set_.reset();
    reread_environment();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::optional<VariableAtInit> set_;
};

}  // namespace descend::test
