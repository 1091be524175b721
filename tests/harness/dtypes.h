// SPDX-License-Identifier: MIT
// Lists of dtypes that operators take.
#pragma once
#include <vector>

#include "src/base/dtype.h"

namespace descend::test {

inline const std::vector<DataType> kFloats{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};
inline const std::vector<DataType> kFloatsAndDouble{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16,
                                                    DataType::kDouble};
// Everything a floating dtype converts to.
inline const std::vector<DataType> kOutputs{DataType::kFloat,     DataType::kFloat16,   DataType::kBfloat16,
                                            DataType::kDouble,    DataType::kComplex32, DataType::kComplex64,
                                            DataType::kComplex128};
// What class indices come in.
inline const std::vector<DataType> kTargets{DataType::kInt64, DataType::kInt32, DataType::kUint8};

}  // namespace descend::test
