// SPDX-License-Identifier: MIT
// Rows of many parts on GPUs: how the blocks of a team share them.
#pragma once
#include <algorithm>

#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_team_cuda.cuh"

namespace descend::cuda {

// How a team keeps a row: its parts, and some of them in each block's memory.  Before them the first block has what
// is known of each part, and with smoothing a sum of each tile: numbers of bytes after which a line begins.
struct LongRows {
  CrossEntropyParts parts;
  int64_t tiles;
  int element_size, team;
  bool smooth;

  LongRows(int64_t classes, size_t size, bool smoothing, int blocks)
      : parts(classes, size),
        tiles(ceil_divide(classes, kTile)),
        element_size(static_cast<int>(size)),
        team(blocks),
        smooth(smoothing) {}
  // Of a block.  Where they are not all as many the last block has one more: the last part may be short.
  __host__ __device__ int first_part(int rank) const { return rank * static_cast<int>(parts.count) / team; }
  int most_parts() const { return static_cast<int>(ceil_divide(parts.count, team)); }
  int64_t most_tiles() const {  // of a block; parts but the last are full
    const int64_t of_part = parts.columns / kTile;
    return std::max(ceil_divide(parts.count - 1, team) * of_part, tiles - first_part(team - 1) * of_part);
  }
  // Of a multiprocessor, with 72 registers each, which is enough for long_rows().
  static constexpr int kWarps = 28;
  // Of a block: as many as parts, and others where they take nobody's place.  With six or eight parts there is one
  // more, which leads.
  int warps() const {
    return std::min(kWarps / (kWarps / std::clamp(most_parts(), kLeastThreads / 32, kLongWarps)), kLongWarps + 1);
  }
  __host__ __device__ int64_t distances() const { return smooth ? ceil_divide(tiles, 16) * 16 : 0; }
  int64_t bytes() const {
    constexpr int64_t kTilesAtOnce = 2;
    return CrossEntropyParts::kMost * int64_t{sizeof(PartScores)} + distances() * int64_t{sizeof(double)} +
           ceil_divide(most_tiles(), kTilesAtOnce) * kTilesAtOnce * kWideTile * element_size;
  }
  // Blocks of a multiprocessor, as far as registers and shared memory go.
  int64_t blocks_of_multiprocessor(int64_t memory) const {
    constexpr int64_t kOther = 2 << 10;  // bytes that have names, and what CUDA keeps
    return std::min<int64_t>(kWarps / warps(), memory / (bytes() + kOther));
  }
  // How many warps of a multiprocessor have a part on the average.
  double warps_with_work(int64_t memory) const {
    constexpr int64_t kNeighbours = 16;  // multiprocessors that a cluster may lie in; some cards have a few more
    const int64_t teams = kNeighbours * blocks_of_multiprocessor(memory) / team;
    return static_cast<double>(teams * parts.count) /
           static_cast<double>(kNeighbours * ceil_divide(most_parts(), warps()));
  }
};

// The team that leaves fewest warps without work.  A block more costs each row some time (about 2 %, measured with rows
// of 9 to 38 parts), and one of two warps takes much longer.
inline LongRows rows_of_team(int64_t classes, size_t element_size, bool smooth, const CudaLaunch& on) {
  const auto cut = [&](int team) { return LongRows(classes, element_size, smooth, team); };
  const auto value = [&](int team) {
    if (team > 1 && cut(team).most_parts() < 3) return 0.0;
    return cut(team).warps_with_work(on.shared_memory) * (1 - 0.02 * team);
  };
  int best = 1;
  double of_best = value(best);
  for (int team = 2; team <= std::min(on.largest_cluster, kLargestTeam); ++team)
    if (const double of_team = value(team); of_team > of_best) best = team, of_best = of_team;
  return cut(best);
}

}  // namespace descend::cuda
