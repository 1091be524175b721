// SPDX-License-Identifier: MIT
#include "ops/upsample_nearest3d/upsample_nearest3d.h"
#include "tests/harness/samples.h"
namespace descend::test {
namespace {
[[maybe_unused]] const bool sampled[] = {
    add_sample<UpsampleNearest3d>("aclnnUpsampleNearest3d",
                                  [](Sample& s) -> UpsampleNearest3d::Params {
                                    return {s.tensor(DataType::kFloat, {2, 3, 1, 2, 3}), s.ints({2, 3, 6}), 0, 0, 0,
                                            s.tensor(DataType::kFloat, {2, 3, 2, 3, 6})};
                                  }),
    add_sample<UpsampleNearest3dBackward>(
        "aclnnUpsampleNearest3dBackward",
        [](Sample& s) -> UpsampleNearest3dBackward::Params {
          return {s.tensor(DataType::kFloat, {2, 3, 2, 3, 6}), s.ints({2, 3, 6}), s.ints({2, 3, 1, 2, 3}), 0, 0, 0,
                  s.tensor(DataType::kFloat, {2, 3, 1, 2, 3})};
        }),
};
}  // namespace
}  // namespace descend::test
