// SPDX-License-Identifier: MIT
// A call that must succeed, of the programs here: otherwise its status and text are printed, and the process ends at
// once, whatever its threads do.
#pragma once
#include <acl/acl.h>

#include <cstdio>
#include <cstdlib>

inline void check(aclError result, const char* what) {
  if (result == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::printf("%s: %d: %s\n", what, result, text ? text : "");
  std::fflush(stdout);
  _Exit(1);
}
