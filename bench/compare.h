// SPDX-License-Identifier: MIT
// Whether the peers compute what we do: a race against something else says nothing.
#pragma once
#include <string>

#include "bench/case.h"

namespace descend::bench {

// Runs a case with each library on the same numbers.  What differs, in words; empty when nothing does.
std::string compare(const Case& c);

}  // namespace descend::bench
