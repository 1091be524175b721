// SPDX-License-Identifier: MIT
// The cross entropy of rows longer than a tile, of one part or a few, on GPUs: a warp has a part in its shared memory,
// or as many shorter rows as there is room for, and adds up all tiles at once, a group of lanes each.  Warps that share
// a row, or the rows of a unit, meet once in a round; no others wait for each other: some compute while others wait for
// memory.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"

namespace descend::cuda {

// How warps share rows: in teams, of which each takes a unit of rows after the other, and those in rounds.
template <class Element> struct PartRows {
  static constexpr int V = 8 / sizeof(Element);                             // columns of a lane
  static constexpr int kLanes = TileGroup<V>::kSize, kTiles = 32 / kLanes;  // of a tile; of a warp
  static constexpr int kColumns = kTiles * static_cast<int>(kTile);         // of a part
  static_assert(kColumns * sizeof(Element) == CrossEntropyParts::kLeast);
  static constexpr int kBatch = 16;  // rows whose losses are computed at once
  static constexpr int64_t kBytesOfWarp = kTiles * kWideTile * sizeof(Element);
  static constexpr int64_t kOther = 6 << 10;  // bytes of shared memory that have names, and what CUDA keeps

  int parts;     // of a row, up to kLongWarps
  int tiles;     // that a row, or a part of one, has room for: a power of two
  int at_once;   // rows of a warp
  int64_t unit;  // rows that a team takes at a time: a power of two
  int warps;     // of a team

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

// Known before the run, so that there are registers enough for everything; but not with smoothing.
enum class RowsAre { kInPieces, kNotInPieces, kSmooth };
template <class Element, bool shows_lse, RowsAre rows_are>
__global__ void __launch_bounds__(kLongThreads, 3)
    part_rows(const __grid_constant__ Loss<Element> l, const __grid_constant__ PartRows<Element> cut) {
  using P = PartRows<Element>;
  constexpr int V = P::V, kColumns = P::kColumns, kTeams = kLongWarps / 2;  // of more than one warp
  const int lane = lane_of_warp(), warp = static_cast<int>(threadIdx.x) / 32;
  const int team = warp / cut.warps, of_team = warp % cut.warps, lanes_of_row = cut.tiles * P::kLanes;
  constexpr bool smooth = rows_are == RowsAre::kSmooth;
  const bool in_vectors = smooth ? l.in_vectors : rows_are == RowsAre::kInPieces;
  const bool alone = cut.warps == 1, leads = of_team == 0;
  __shared__ __align__(8) unsigned char memory_of_kept[kLongWarps][P::kBatch * sizeof(typename P::Kept)];
  __shared__ __align__(8) unsigned char memory_of_told[kTeams][2 * sizeof(typename P::Told)];
  __shared__ Meeting meetings[kTeams];
  if (threadIdx.x < kTeams) meetings[threadIdx.x].open(cut.warps);
  __syncthreads();
  auto* const told = reinterpret_cast<typename P::Told*>(memory_of_told[team % kTeams]);
  Element* const cache = shared_memory<Element>() + warp * P::kTiles * kWideTile;
  // A warp's part of each row, or its rows of each round.
  const int first_column = cut.parts > 1 ? of_team * kColumns : 0;
  const int columns = std::min(static_cast<int>(l.a.labels.classes) - first_column, kColumns);
  const int first_row = cut.parts > 1 ? 0 : of_team * cut.at_once,
            of_round = cut.parts > 1 ? 1 : cut.warps * cut.at_once;
  const auto part_of = [&](int64_t row, int slot) {
    return PartOfRow<Element, true>{l.at(row, first_column), l.a.input.column, cache + slot * cut.tiles * kWideTile,
                                    columns, in_vectors};
  };
  // A lane's tile, in which full lines are added quicker: behind the last column is -Inf whatever row comes.
  const TileGroup<V> group;
  const int my_tile = lane / P::kLanes, first_of_tile = my_tile % cut.tiles * static_cast<int>(kTile);
  const int width = std::clamp(columns - first_of_tile, 0, static_cast<int>(kTile));
  const int padded = (width + kExpColumns - 1) / kExpColumns * kExpColumns;
  Element* const tile = cache + my_tile * kWideTile;
  for (int c = width + group.rank; c < padded; c += P::kLanes)
    tile[c] = narrow<Element>(-std::numeric_limits<float>::infinity());
  const TileScores<Element, true> scores_of_tile{tile, 1};

  const auto over_row = [&](auto x, const auto& f) {  // of the lanes of a row, in each of them
#pragma unroll 1
    for (int step = lanes_of_row / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(~0u, x, step));
    return x;
  };
  const auto sum_of_tiles = [&](double x) {  // in the first lane of a row
#pragma unroll 1
    for (int apart = lanes_of_row / 2; apart >= P::kLanes; apart /= 2)
      x += __shfl_down_sync(~0u, x, static_cast<unsigned>(apart));
    return x;
  };
  // A team begins with the unit of its own number, and asks for another number when it begins with one.
  const int64_t unit = cut.unit, total = l.a.labels.rows;
  const unsigned teams = blockDim.x / 32 / static_cast<unsigned>(cut.warps);
  const auto end_of_unit = [&](int64_t row) { return std::min(total, (row & -unit) + unit); };
  const auto rows_from = [&](int64_t row, int64_t end, int most) {
    return static_cast<int>(std::clamp<int64_t>(end - row, 0, most));
  };
  LossesOfRows<P::kBatch> sums;
  unsigned ticket = 0;
  int turn = 0, batch = 0, label = 0;
  float weight = 1;
  int64_t row = (int64_t{blockIdx.x} * teams + team) * unit;  // the first of a round
  for (int slot = 0; slot < rows_from(row + first_row, end_of_unit(row), cut.at_once); ++slot)
    part_of(row + first_row + slot, slot).begin();
  while (row < total) {
    const int64_t end = end_of_unit(row), mine = row + first_row;
    const int there = rows_from(mine, end, cut.at_once), of_batch = static_cast<int>(row & (unit - 1)) % P::kBatch;
    if (of_batch == 0) {
      if ((row & (unit - 1)) == 0 && lane == 0 && leads) ticket = atomicAdd(&l.scratch->tickets[kUnitsTaken], 1u);
      label = static_cast<int>(lane < rows_from(row, end, P::kBatch) ? l.labels[row + lane] : kNoClass);
    }
    for (int slot = 0; slot < there; ++slot) part_of(mine + slot, slot).end();
    // A row that is not there gives something that nobody asks for.
    Columns<Element, V> largest;
#pragma unroll
    for (Element& each : largest.at) each = narrow<Element>(-std::numeric_limits<float>::infinity());
#pragma unroll 8
    for (int c = group.rank * V; c < padded; c += static_cast<int>(kSumColumns<double>))
      keep_larger(largest.at, scores_of_tile.template columns<V>(c).at);
    Scores scores{kLeastMost, 0, 0, 0};
#pragma unroll
    for (const Element each : largest.at) scores.most = std::fmax(scores.most, widen<float>(each));
    scores.most = over_row(scores.most, [](float a, float b) { return std::fmax(a, b); }) + 0.0f;
    if (padded > 0)
      scores.below = sum_exponentials<shows_lse, true>(padded, group, scores_of_tile, scores.most, scores.times);
    if (smooth && width > 0)
      scores.distance = sum_distances<V>(first_of_tile, width, group, scores_of_tile, scores.most, l.labels);
    __syncwarp();
    scores.below = sum_of_tiles(scores.below);
    scores.times = over_row(scores.times, [](int a, int b) { return a + b; });
    if (smooth) scores.distance = sum_of_tiles(scores.distance);

    // The label's score before it is written over, in the first lane of its row.
    if (of_batch == 0 && label >= 0) weight = l.labels.weight_of(label);
    const int slot_of_lane = lane / lanes_of_row, in_batch = of_batch + first_row + slot_of_lane;
    const int label_here = __shfl_sync(~0u, label, in_batch) - first_column;
    const bool is_first = lane % lanes_of_row == 0 && slot_of_lane < there;
    const bool has_label = is_first && label_here >= 0 && label_here < columns;
    Element score{};
    if (has_label) score = tile[place_in_cache(label_here)];
    auto* const kept = reinterpret_cast<typename P::Kept*>(memory_of_kept[alone ? team : 2 * team + batch]);
    double log_sum = 0;
    if (cut.parts == 1) {
      log_sum = scores.log_sum();
      if (is_first) kept[in_batch] = {log_sum, scores.distance, scores.most, score};
    }
    if (!alone) {
      typename P::Told& now = told[turn];
      if (lane == 0) {
        if (cut.parts > 1) now.parts[of_team] = {{scores.most, scores.times}, scores.below};
        if (cut.parts > 1 && has_label) now.score = score;
        if (leads) now.ticket = ticket;
      }
      meetings[team].meet(turn);
      ticket = now.ticket;
      if (cut.parts > 1) {
        scores = scores_of_row<kLongWarps>(now.parts, cut.parts);
        log_sum = scores.log_sum();
        if (leads && lane == 0) kept[in_batch] = {log_sum, 0, scores.most, now.score};
      }
      turn = 1 - turn;  // some may still read this one when others write the next
    }
    const LogProb f = scores.log_prob(log_sum);

    const bool ends_unit = row + of_round >= end;
    const int64_t next = ends_unit ? (int64_t{gridDim.x} * teams + __shfl_sync(~0u, ticket, 0)) * unit : row + of_round;
    const int64_t next_mine = next + first_row;
    const int next_there = rows_from(next_mine, end_of_unit(next), cut.at_once);
#pragma unroll 1
    for (int slot = 0; slot < there; ++slot) {
      const LogProb of_slot{__shfl_sync(~0u, f.high, slot * lanes_of_row),
                            __shfl_sync(~0u, f.low, slot * lanes_of_row)};
      Element* const to = l.log_prob + (mine + slot) * l.a.log_prob.row + first_column * l.a.log_prob.column;
      part_of(mine + slot, slot).write(of_slot, to, l.a.log_prob.column);
    }
    __syncwarp();  // what a lane copies next no other lane still reads
#pragma unroll 1
    for (int slot = 0; slot < next_there; ++slot) part_of(next_mine + slot, slot).begin();
    if (ends_unit || of_batch + of_round == P::kBatch) {
      if (leads) {
        RowLoss done;
        const int64_t first = row - of_batch;
        const int rows = rows_from(first, end, P::kBatch);
        if (lane < rows) {
          const typename P::Kept& of_row = kept[lane];
          done =
              l.finish(first + lane, {label >= 0, weight, of_row.score}, of_row.most, of_row.distance, of_row.log_sum);
        }
        sums.add(l, first, rows, done);
      }
      batch = 1 - batch;  // that which is finished may still be read when others begin the next
    }
    __syncwarp();
    row = next;
  }
  if (leads) sums.end(l);
  l.add_parts(true);
}

template <class Element, bool shows_lse>
Status run_part_rows(const Loss<Element>& l, const PartRows<Element>& cut, const CudaLaunch& on) {
  const int warps = cut.warps_of_block();
  const auto kernel = l.a.smoothing != 0 ? part_rows<Element, shows_lse, RowsAre::kSmooth>
                      : l.in_vectors     ? part_rows<Element, shows_lse, RowsAre::kInPieces>
                                         : part_rows<Element, shows_lse, RowsAre::kNotInPieces>;
  const int64_t units = ceil_divide(l.a.labels.rows, cut.unit);
  return start(on, kernel, blocks_for(on, units, warps / cut.warps, 3 * kLongWarps / warps), warps * 32,
               static_cast<size_t>(cut.bytes()), l, cut);
}

}  // namespace descend::cuda
