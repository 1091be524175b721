// SPDX-License-Identifier: MIT
// Rows longer than a tile, of one part or a few, on GPUs: how warps share them.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_lanes_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"

namespace descend::cuda {

// How warps share rows: in teams, of which each takes a unit of rows after the other, and those in rounds.
template <class Element> struct PartRows {
  static constexpr int V = 8 / sizeof(Element);                      // columns of a lane
  static constexpr int kTiles = LanesOfRow<V>::kTiles;               // of a warp
  static constexpr int kColumns = kTiles * static_cast<int>(kTile);  // of a part
  static_assert(kColumns * sizeof(Element) == CrossEntropyParts::kLeast);
  static constexpr int kBatch = 16;  // rows whose losses are computed at once
  static constexpr int64_t kBytesOfWarp = kTiles * kWideTile * sizeof(Element);
  static constexpr int64_t kOther = 6 << 10;  // bytes of shared memory that have names, and what CUDA keeps

  int parts;                  // of a row, up to kLongWarps
  int tiles;                  // that a row, or a part of one, has room for: a power of two, 2 at least
  int at_once;                // rows of a warp
  int64_t unit;               // rows that a team takes at a time: a power of two
  int warps;                  // of a team
  unsigned cycles_apart = 0;  // between the beginnings of two warps

  PartRows(int64_t classes, const CrossEntropyRowCut& rows)
      : parts(static_cast<int>(std::min<int64_t>(ceil_divide(classes, kColumns), kLongWarps))) {
    const uint64_t all_tiles = static_cast<uint64_t>(ceil_divide(classes, kTile));
    tiles = parts > 1 ? kTiles : static_cast<int>(std::bit_ceil(all_tiles));
    at_once = kTiles / tiles;
    unit = unit_of_rows(rows, parts > 1 ? 2 : at_once);
    // A unit that one warp would have for long would be what the others wait for at the end.
    warps = parts > 1 ? parts
                      : static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(unit, kBatch) / at_once, 1, kLongWarps));
  }
  int warps_of_block() const { return kLongWarps / warps * warps; }  // more than half of them
  static_assert(kLongWarps / 2 * 32 >= kLeastThreads);
  int64_t bytes() const { return warps_of_block() * kBytesOfWarp; }
  bool fits(const Loss<Element>& l, const CudaLaunch& on) const {
    return parts < (l.a.smoothing != 0 ? 2 : kLongWarps) && bytes() + kOther <= on.shared_memory;
  }

  // What is kept of a row until its loss is computed.
  struct Kept {
    double log_sum, distance;
    float most;
    Element score;  // the label's
  };
  // What warps of a team tell each other.
  struct Told {
    PartScores parts[kLongWarps];
    unsigned ticket;
    Element score;
  };
};

}  // namespace descend::cuda
