// SPDX-License-Identifier: MIT
// CUDA does not survive a fork: a child of a process that had used it can neither use nor clean up what it inherits.
#pragma once
#include "src/base/status.h"

namespace descend {

// From now on a fork matters.  Called when CUDA has been asked for cards.
void cuda_is_used();

// Whether this process is such a child.  Then no call of CUDA may be made and no lock taken, which a thread of the
// parent may have held.
bool cuda_is_the_parents();
Status cuda_is_the_parents_status();

}  // namespace descend
