// SPDX-License-Identifier: MIT
// What went wrong: a code for the C caller, a text for the person, and where it helps one sentence on what to do.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace descend {

// The codes that this project itself returns.  The public headers name all of them; these are the same numbers.
enum class Code : int32_t {
  kOk = 0,
  // aclnn
  kNullPointer = 161001,
  kInvalid = 161002,
  kRuntime = 361001,
  kInner = 561000,
  kTiling = 561002,
  kNoKernel = 561003,
  kNoExecutor = 561101,
  kInnerNullPointer = 561103,
  // acl
  kInvalidParam = 100000,
  kRepeatInitialize = 100002,
  kInvalidFile = 100003,
  kParseFile = 100006,
  kFileAttributeInvalid = 100008,
  kRepeatFinalize = 100037,
  kApiNotSupported = 200001,
  kParamInvalid = 107000,
  kInvalidDeviceId = 107001,
  kNoContext = 107002,
  kStreamContext = 107003,
  kEventTimestampInvalid = 107006,
  kEventTimestampReversal = 107007,
  kStreamSubscribe = 107011,
  kThreadSubscribe = 107012,
  kStreamNotSubscribed = 107015,
  kInvalidHandle = 107017,
  kOptionNotSet = 107021,
  kNotSupported = 207000,
  kOutOfMemory = 207001,
  kNoDevice = 207004,
  kNoEventResource = 207007,
  kNoStreamResource = 207008,
  kOverLimit = 207012,
  kInternal = 507000,
  kContextRelease = 507007,
  kSocVersion = 507008,
  kReportTimeout = 507012,
  kKernelTimeout = 507014,
  kKernelFailed = 507015,
  kStreamTimeout = 507046,
  kEventTimeout = 507047,
};

// An ok status is a null pointer: returning one costs nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string solution = {})
      : failure_(std::make_shared<const Failure>(Failure{code, std::move(message), std::move(solution)})) {}

  bool ok() const { return !failure_; }
  Code code() const { return failure_ ? failure_->code : Code::kOk; }
  const std::string& message() const { return failure_ ? failure_->message : empty(); }
  const std::string& solution() const { return failure_ ? failure_->solution : empty(); }

 private:
  struct Failure {
    Code code;
    std::string message, solution;
  };
  static const std::string& empty() {
    static const std::string& none = *new std::string;
    return none;
  }
  std::shared_ptr<const Failure> failure_;
};

}  // namespace descend
