// SPDX-License-Identifier: MIT
// The calls of the nearest upsampling whose bits never change.
#include <array>

#include "aclnnop/aclnn_upsample_nearest_3d.h"
#include "aclnnop/aclnn_upsample_nearest_3d_backward.h"
#include "src/base/text.h"
#include "tests/bits/bits.h"
#include "tests/harness/dtypes.h"

namespace descend::test {
namespace {

// Sizes of the input as N, C, D, H, W, of the output as D, H, W.
struct Case {
  Sizes in, out;
  std::array<double, 3> scales{0, 0, 0};
};
const std::vector<Case> kCases{
    {{2, 3, 2, 3, 5}, {2, 3, 5}},     // the same size
    {{2, 3, 2, 3, 21}, {4, 6, 42}},   // twice
    {{1, 2, 2, 2, 37}, {8, 8, 148}},  // four times
    {{1, 5, 1, 2, 7}, {3, 6, 21}},    // three times
    {{1, 8, 2, 3, 16}, {6, 9, 48}},   // the same, in vectors whichever axis they are along
    {{1, 8, 2, 3, 16}, {4, 6, 32}},
    {{1, 8, 2, 2, 16}, {5, 5, 36}, {2, 2, 2}},  // and a rest that nothing owns
    {{1, 8, 2, 2, 16}, {6, 4, 32}},             // twice, but for one axis
    {{1, 8, 2, 2, 16}, {4, 2, 32}},
    {{2, 3, 2, 3, 17}, {3, 7, 39}},     // no whole factor
    {{1, 3, 5, 7, 40}, {2, 3, 13}},     // smaller
    {{1, 2, 1, 1, 1}, {3, 5, 1030}},    // from one point: boxes longer than a tile
    {{1, 2, 1, 2, 600}, {1, 3, 1200}},  // more than a tile of results
    {{1, 300, 1, 2, 3}, {2, 2, 6}},     // more channels than a block has
    {{2, 37, 2, 2, 3}, {4, 4, 6}},
    {{2, 5, 4, 8, 70}, {8, 16, 140}},  // work for several threads
    {{2, 3, 2, 3, 5}, {5, 7, 11}, {2.5, 2.4, 2.3}},
    {{1, 3, 4, 4, 9}, {4, 4, 18}, {1, 1, 2}},
    {{1, 2, 3, 4, 9}, {7, 5, 20}, {3, 1.1, 1.7}},  // scales that do not match the sizes
};

bool is_last(aclFormat format) { return format == ACL_FORMAT_NDHWC; }
Sizes shape_of(const Sizes& s, aclFormat format) { return is_last(format) ? Sizes{s[0], s[2], s[3], s[4], s[1]} : s; }
Sizes out_sizes(const Case& c) { return {c.in[0], c.in[1], c.out[0], c.out[1], c.out[2]}; }

void forward(BitCall& call, const Case& c, DataType dtype, aclFormat format, Way way) {
  call.run(aclnnUpsampleNearest3dGetWorkspaceSize, aclnnUpsampleNearest3d,
           call.in(dtype, shape_of(c.in, format), mixed_values(dtype, 1), way.in, format), call.ints(c.out),
           c.scales[0], c.scales[1], c.scales[2], call.out(dtype, shape_of(out_sizes(c), format), way.out, format));
}
void backward(BitCall& call, const Case& c, DataType dtype, aclFormat format, Way way) {
  call.run(aclnnUpsampleNearest3dBackwardGetWorkspaceSize, aclnnUpsampleNearest3dBackward,
           call.in(dtype, shape_of(out_sizes(c), format), finite_values(dtype, 1), way.in, format), call.ints(c.out),
           call.ints(shape_of(c.in, format)), c.scales[0], c.scales[1], c.scales[2],
           call.out(dtype, shape_of(c.in, format), way.out, format));
}

[[maybe_unused]] const bool added = add_bits("upsample_nearest3d", [](Bits& bits) {
  for (DataType t : kFloatsAndDouble)
    for (aclFormat format : {ACL_FORMAT_NCDHW, ACL_FORMAT_NDHWC})
      for (const Case& c : kCases) {
        std::string words = cat(label(t, c.in), " to ", describe(Dims(c.out.data(), 3)));
        if (c.scales[0] != 0) words += cat(" by ", c.scales[0], " ", c.scales[1], " ", c.scales[2]);
        if (is_last(format)) words += " NDHWC";
        std::vector<Way> ways{{}};
        if (c.in[3] == 3) ways = all_ways();
        if (is_last(format)) ways.resize(1);  // the other format's channels last
        for (const Way& way : ways) {
          bits.add("aclnnUpsampleNearest3d " + words, way.words(),
                   [=](BitCall& call) { forward(call, c, t, format, way); });
          bits.add("aclnnUpsampleNearest3dBackward " + words, way.words(),
                   [=](BitCall& call) { backward(call, c, t, format, way); });
        }
      }
});

}  // namespace
}  // namespace descend::test
