// SPDX-License-Identifier: MIT
// Reserved addresses, with and without a limit on how many a process may have.
#include "src/base/address_space.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace descend {
namespace {

constexpr size_t kMost = size_t{1} << 30, kLeast = size_t{16} << 20;

size_t reserved(size_t share) {
  const AddressSpace space = reserve_addresses(kMost, kLeast, share);
  if (space.begin != nullptr) munmap(space.begin, space.bytes);
  return space.bytes;
}

TEST(AddressSpace, is_a_share_of_what_the_process_may_have) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur == RLIM_INFINITY) {
    EXPECT_EQ(reserved(256), kMost);
  }
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limited = before;
  limited.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + 2 * kMost;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  const size_t least = reserved(limited.rlim_cur / kLeast + 1), share = reserved(limited.rlim_cur / (2 * kLeast));
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(least, kLeast);
  EXPECT_GE(share, 2 * kLeast);
  EXPECT_LT(share, 3 * kLeast);
}

}  // namespace
}  // namespace descend
