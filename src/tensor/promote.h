// SPDX-License-Identifier: MIT
// Which dtypes convert to which, and what two dtypes compute in.
#pragma once
#include <optional>

#include "src/base/dtype.h"

namespace descend {

// Whether a result of one dtype may be stored as another: never complex as real, floating as integer, or anything but
// BOOL as BOOL.
bool converts(DataType from, DataType to);

// The dtype that values of both are computed in; empty when the API defines none (UINT16, UINT32 and UINT64 with
// anything but themselves).
std::optional<DataType> promote(DataType a, DataType b);

}  // namespace descend
