// SPDX-License-Identifier: MIT
// What threads of queues have yet to do.  CUDA takes itself down when the process ends, and a thread that uses it then
// may crash: the end waits for them, but no longer than a second, since a function of the program may never return.
#pragma once

namespace descend {

void unfinished_begins();  // by whoever gives a thread something to do
void unfinished_ends();    // by that thread, when it did it
void thread_of_a_queue();  // by that thread, at its begin: an exit() of its own does not wait for it

}  // namespace descend
