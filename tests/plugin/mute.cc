// SPDX-License-Identifier: MIT
// A library named like a plug-in that is none.
extern "C" int nothing_to_see_here() { return 0; }
