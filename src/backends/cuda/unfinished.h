// SPDX-License-Identifier: MIT
// Queues whose threads have something to do.  CUDA takes itself down when the process ends, and a thread that uses it
// then may crash: the end waits for them, but no longer than a second, since a function of the program may never
// return.
#pragma once

namespace descend {

void unfinished_begins();  // a queue's thread has something to do
void unfinished_ends();
void thread_of_a_queue();  // at a thread's begin: an exit() of its own does not wait for its queue

}  // namespace descend
