// SPDX-License-Identifier: MIT
// The cross entropy of rows of many parts, or of several with smoothing, on GPUs: one row after the other, each by a
// team of blocks that keeps it in shared memory, a warp a part.  Teams are there from the beginning to the end, and
// take rows as they come along.
//
// A warp copies its part, adds up its exponentials, and waits for what all parts make of the row before it writes its
// own; but for that no warp of a team of several blocks waits for another.  Blocks are small, for several to be on a
// multiprocessor and one to compute while another reads or writes; but not more than leave registers for everything.
// What fits nowhere: cross_entropy_loss_longest_rows_cuda.cuh.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_long_row_shares_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_so_far_cuda.cuh"

namespace descend::cuda {

// What SumOfTiles makes of the sums of a row that a team has, by a warp, a few lanes a chunk; writes over them.
__device__ __forceinline__ double sum_of_tiles(double* sums, int tiles) {
  constexpr int64_t kLargestMemory = 256 << 10;  // of a block, of any card
  static_assert(kLargestTeam * kLargestMemory / 2 <= kSumGroups * kChunk, "each chunk is a group");
  constexpr int V = 2, kAtOnce = 32 / TileGroup<V>::kSize, kOfChunk = static_cast<int>(kTilesOfChunk);
  const TileGroup<V> group;
  for (int first = lane_of_warp() / TileGroup<V>::kSize * kOfChunk; first < tiles; first += kAtOnce * kOfChunk) {
    const int n = tiles - first < kOfChunk ? tiles - first : kOfChunk;
    const double chunk = sum_tile<V>(n, group, [&](int i, int there, double(&value)[V]) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        if (j < there) value[j] = sums[first + i + j];
    });
    if (group.rank == 0) sums[first] = chunk;
  }
  __syncwarp();
  if (tiles <= kOfChunk) return sums[0];
  return sum_of((tiles - 1) / kOfChunk + 1, TileGroup<1>(), [&](int i) { return sums[i * kOfChunk]; });
}

template <class Element, bool shows_lse, RowsAre rows_are, bool may_smooth>
__global__ void __launch_bounds__(LongRows::kWarps * 32)
    long_rows(const __grid_constant__ Loss<Element> l, const __grid_constant__ LongRows rows) {
  static_assert(Lines<Element>::kAtOnce <= 2 * kTile);  // what LongRows leaves room for
  constexpr int V = 8 / sizeof(Element);                // columns of a thread
  const bool smooth = may_smooth && rows.smooth;
  const int parts = static_cast<int>(rows.parts.count);
  PartScores* const of_parts = shared_memory<PartScores>();  // the first block's are used
  double* const distances = reinterpret_cast<double*>(of_parts + CrossEntropyParts::kMost);
  Element* const cache = reinterpret_cast<Element*>(distances + rows.distances());
  __shared__ LogProb f_of_row;
  __shared__ unsigned next_unit;
  __shared__ float most_of_row;
  __shared__ Box parts_box, f_box, distances_box;
  const Team team;
  const int team_size = team.size(), rank = team.rank(), thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int classes = static_cast<int>(l.a.labels.classes), columns_of_part = static_cast<int>(rows.parts.columns);
  const int first_part = rows.first_part(rank), mine = rows.first_part(rank + 1) - first_part;
  const bool has_part = warp < mine;
  // The first block's last warp leads.  It has no part where there are fewer than warps, and then nobody waits for what
  // it does beside: labels, of which one number is found by another, and losses.
  const bool leads = rank == 0 && warp == warps - 1, takes_part = has_part || leads;
  const bool keeps_accounts = leads && lane_of_warp() == 0;
  __shared__ __align__(8) unsigned char memory[sizeof(RowsSoFar<Element>)];
  RowsSoFar<Element>& so_far = *reinterpret_cast<RowsSoFar<Element>*>(memory);
  if (thread == 0) {
    so_far = {};
    team.open(parts_box);
    team.open(f_box);
    team.open(distances_box);
  }
  team.meet();
  // A unit of rows, whose losses one thread adds: the team takes one after the other.  It owns none from the beginning:
  // it may begin when others are through, where the card has no place for as many clusters as for their blocks.
  const int64_t unit = unit_of_rows(l.cut, 1);
  if (thread == 0) team.expect(f_box, static_cast<int>(sizeof(unsigned)));
  if (leads) {
    const unsigned first = __shfl_sync(~0u, keeps_accounts ? take_unit(l.scratch) : 0, 0);
    if (lane_of_warp() < team_size) team.send(lane_of_warp(), next_unit, first, f_box);
  }
  team.wait(f_box, 0, takes_part);
  const auto column_of = [&](int part) { return (first_part + part) * columns_of_part; };
  const auto for_each_part = [&](int64_t row, const auto& body) {
#pragma unroll 1
    for (int part = warp; part < mine; part += warps) {
      const int first = column_of(part), there = classes - first < columns_of_part ? classes - first : columns_of_part;
      body(PartOfRow<Element, rows_are, true>{l.at(row, first), l.a.input.column,
                                              cache + part * (columns_of_part / static_cast<int>(kTile)) * kWideTile,
                                              there, l.rows_are},
           part);
    }
  };
  // Of no row: what is behind the last column in the cache.
  for_each_part(0, [&](const auto& part, int) { part.pad(ceil_divide(part.columns, part.kPiece) * part.kPiece); });
  // Other warps without a part have nothing to do, but wait where their block is a team of its own.
  int64_t row = takes_part || team_size == 1 ? next_unit * unit : l.a.labels.rows, before = -1;
  for (unsigned time = 0; row < l.a.labels.rows; ++time) {
    const bool ends_unit = ((row + 1) & (unit - 1)) == 0 || row + 1 == l.a.labels.rows;
    unsigned ticket = 0;
    for_each_part(row, [&](const auto& part, int) { part.begin(); });
    typename Loss<Element>::Label label;
    if (thread == 0)
      team.expect(f_box, static_cast<int>(sizeof(LogProb) + sizeof(unsigned) + (smooth ? sizeof(float) : 0)));
    if (keeps_accounts) {
      team.expect(parts_box, parts * static_cast<int>(sizeof(PartScores)));
      if (smooth) team.expect(distances_box, static_cast<int>(rows.tiles * sizeof(double)));
      label = l.label_of(row);                 // asked for long before it is needed
      if (before >= 0) so_far.add(l, before);  // while the copies are under way
    }
    for_each_part(row, [&](const auto& part, int number) {
      part.end();
      const PartScores scores = part.template sum<shows_lse, V>(part.largest(), false);
      PartScores& place = of_parts[first_part + number];
      if (lane_of_warp() != 0) return;
      team.send(0, place.most, scores.most, parts_box);
      team.send(0, place.below, scores.below, parts_box);
    });
    if (keeps_accounts && ends_unit) ticket = take_unit(l.scratch);
    team.wait(parts_box, time, leads);
    if (leads) {
      const Scores scores = scores_of_row<CrossEntropyParts::kMost>(of_parts, parts);
      const double log_sum = scores.log_sum();
      if (keeps_accounts) {
        so_far.label = label;  // has come before others know f and may write over its score
        so_far.scores = scores;
        so_far.log_sum = log_sum;
      }
      ticket = __shfl_sync(~0u, ticket, 0);
      if (const int to = lane_of_warp(); to < team_size) {
        team.send(to, next_unit, ticket, f_box);
        if (smooth) team.send(to, most_of_row, scores.most, f_box);
        team.send(to, f_of_row, scores.template log_prob<Element>(log_sum), f_box);
      }
    }
    team.wait(f_box, time + 1, takes_part);  // the first time was the first unit's number
    const unsigned next = next_unit;
    if (smooth) {
      const float most = most_of_row;
      for_each_part(row, [&](const auto& part, int number) {
        const TileGroup<V> group;
        const int first = column_of(number);
        for (int tile = lane_of_warp() / TileGroup<V>::kSize; part.width(tile) > 0; tile += 32 / TileGroup<V>::kSize) {
          const int column = first + tile * static_cast<int>(kTile);
          const double sum = sum_distances<V>(column, part.width(tile), group, part.tile(tile), most, l.labels);
          if (group.rank == 0) team.send(0, distances[column / static_cast<int>(kTile)], sum, distances_box);
        }
        __syncwarp();
      });
      team.wait(distances_box, time, leads);
      if (leads) {
        const double distance = sum_of_tiles(distances, static_cast<int>(rows.tiles));
        if (keeps_accounts) so_far.scores.distance = distance;
      }
    }
    for_each_part(row, [&](const auto& part, int number) {
      part.write(f_of_row, l.log_prob + row * l.a.log_prob.row + column_of(number) * l.a.log_prob.column,
                 l.a.log_prob.column);
    });
    __syncwarp();  // what a lane copies next no other lane of the warp still reads
    before = row;
    row = ends_unit ? next * unit : row + 1;
  }
  if (keeps_accounts) {
    if (before >= 0) so_far.add(l, before);
    l.add_counted(so_far.counted);
  }
  l.add_parts(true);
}

}  // namespace descend::cuda
