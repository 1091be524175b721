// SPDX-License-Identifier: MIT
// The threads of the cpu device's streams: their end, and the next one's beginning.
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/backend/support.h"

namespace descend {
namespace {

struct BackendThreads : testing::Test {
  const ChangedEnvironment asynchronous{{"DESCEND_SYNC", nullptr}};
  Device& device = cpu_device();
  std::unique_ptr<Stream> stream = device.make_stream();
};

TEST_F(BackendThreads, a_stream_goes_on_after_its_idle_thread_has_ended) {
  long thread = 0;
  const auto note_thread = [&] { thread = syscall(SYS_gettid); };
  ASSERT_TRUE(stream->call_host(note_thread).ok());
  ASSERT_TRUE(stream->synchronize(kForEver).ok());
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (syscall(SYS_tgkill, getpid(), thread, 0) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), latest) << "an idle thread ends after seconds";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  thread = 0;
  ASSERT_TRUE(stream->call_host(note_thread).ok());
  ASSERT_TRUE(stream->synchronize(milliseconds(10'000)).ok());
  EXPECT_NE(thread, 0);
}

}  // namespace
}  // namespace descend
