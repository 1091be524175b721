// SPDX-License-Identifier: MIT
// Begins the checker when the library is loaded, catches the host at device memory, and ends with the process.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "src/base/environment.h"
#include "src/check/checker.h"

namespace descend {
namespace {

Reporter* the_reporter = nullptr;
Checker* the_checker = nullptr;
pid_t the_process = 0;
struct sigaction before = {};

// Says what the access was and lets it happen again, with whatever would have handled it without us.
void on_fault(int, siginfo_t* info, void*) {
  const bool sent = info->si_code <= 0;  // by kill(): it does not come again by itself
  if (!sent && the_checker->keeps(info->si_addr)) the_checker->dereferenced(info->si_addr, Site::here());
  sigaction(SIGSEGV, &before, nullptr);
  if (sent) raise(SIGSEGV);
}

// The last that is said.  A program that ended well but had findings ends with another status.  So does a forked child,
// which otherwise says nothing: a program may have many.
void end(int status) {
  const bool forked = getpid() != the_process;
  if (status == 0 && !forked) the_checker->report_alive("exit");
  const bool found = the_reporter->found() > 0;
  if (found || !forked) the_reporter->summarize();
  if (!found || status != 0) return;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(kFoundStatus);
}

// Both come once at exit.  Of a library that was opened late the handler is called before the program's own handlers
// and destructors are, and the library's destructor after them; of one that was loaded with the program it is the other
// way round.  The end is when both were.
std::optional<int> the_status;
bool is_destroyed = false;
void at_exit(int status, void*) {
  the_status = status;
  if (is_destroyed) end(status);
}
__attribute__((destructor)) void at_destruction() {
  is_destroyed = true;
  if (the_checker != nullptr && the_status) end(*the_status);
}

bool start() {
  if (std::getenv("DESCEND_CHECK") == nullptr || !environment().check) return false;
  the_process = getpid();
  the_reporter = new Reporter(environment().check_suppress, environment().check_json);
  the_checker = new Checker(*the_reporter);
  (void)Site::here();  // loads what a backtrace needs, outside of any signal
  add_observer(the_checker);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before);
  pthread_atfork(nullptr, nullptr, [] {
    the_reporter->leave_to_parent();
    the_checker->leave_to_parent();
  });
  on_exit(at_exit, nullptr);
  return true;
}

[[maybe_unused]] const bool started = start();

}  // namespace
}  // namespace descend
