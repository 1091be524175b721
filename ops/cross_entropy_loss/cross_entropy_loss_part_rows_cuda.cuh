// SPDX-License-Identifier: MIT
// The cross entropy of rows longer than a tile, of one part or a few, on GPUs.  Warps that share a row, or the rows of
// a unit, meet once in a round; no others wait for each other: some compute while others wait for memory.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_of_warp_cuda.cuh"

namespace descend::cuda {

inline constexpr int kPartBlocks = 3;  // of a multiprocessor
template <class Element, bool shows_lse, RowsAre rows_are, bool may_smooth>
__global__ void __launch_bounds__(kLongThreads, kPartBlocks)
    part_rows(const __grid_constant__ Loss<Element> l, const __grid_constant__ PartRows<Element> cut) {
  using P = PartRows<Element>;
  constexpr int kTeams = kLongWarps / 2;  // of more than one warp
  const int lane = lane_of_warp(), warp = static_cast<int>(threadIdx.x) / 32;
  const int team = warp / cut.warps, of_team = warp % cut.warps;
  const bool alone = cut.warps == 1, leads = of_team == 0, in_parts = cut.parts > 1;
  __shared__ __align__(8) unsigned char memory_of_kept[kLongWarps][P::kBatch * sizeof(typename P::Kept)];
  __shared__ __align__(8) unsigned char memory_of_told[kTeams][2 * sizeof(typename P::Told)];
  __shared__ Meeting meetings[kTeams];
  if (threadIdx.x < kTeams) meetings[threadIdx.x].open(cut.warps);
  __syncthreads();
  auto* const told = reinterpret_cast<typename P::Told*>(memory_of_told[team % kTeams]);
  const RowsOfWarp<Element, rows_are, may_smooth> mine(l, cut, warp);
  const int lanes_of_row = mine.lanes_of_row, slot = lane >> (__ffs(lanes_of_row) - 1);
  const int of_round = in_parts ? 1 : cut.warps * cut.at_once;
  const auto there_of = [&](int rows) { return min(max(rows - mine.first_row, 0), cut.at_once); };

  // A team begins with the unit of its own number, and asks for another number in its first round, when exponentials
  // are added up: what is taken earlier nobody else can have, also where others are at the end.
  const unsigned teams = blockDim.x / 32 / static_cast<unsigned>(cut.warps);
  const auto rows_from = [&](int64_t first) {
    const int64_t left = l.a.labels.rows - first;
    return static_cast<int>(left < 0 ? 0 : left < cut.unit ? left : cut.unit);
  };
  LossesOfRows<P::kBatch> sums;
  unsigned ticket = 0;
  int turn = 0, batch = 0, label = 0;
  float weight = 1;
  int64_t unit = (int64_t{blockIdx.x} * teams + team) * cut.unit;  // its first row
  int rows = rows_from(unit), done = 0;                            // of the unit
  wait_for_cycles((blockIdx.x * kPartBlocks / gridDim.x * kLongWarps + threadIdx.x / 32) * cut.cycles_apart);
  mine.begin(unit + mine.first_row, there_of(rows));
  while (rows > 0) {
    const int there = there_of(rows - done), of_batch = done % P::kBatch;
    const int64_t row = unit + done, first_of_batch = row - of_batch;
    const int rows_of_batch = min(rows - done + of_batch, P::kBatch);
    int64_t target = 0;  // asked for long before it is needed
    if (of_batch == 0 && lane < rows_of_batch) target = l.labels.target_of(row + lane);
    mine.end(row + mine.first_row, there);
    Scores scores = mine.template scores<shows_lse>(row + mine.first_row, there);
    if (done == 0 && lane == 0 && leads) ticket = take_unit(l.scratch);

    // The label's score before it is written over, in the first lane of its row.
    if (of_batch == 0) {
      label = static_cast<int>(lane < rows_of_batch ? l.labels.class_of(target) : kNoClass);
      if (label >= 0) weight = l.labels.weight_of(label);
    }
    const int in_batch = of_batch + mine.first_row + slot;
    const int column = __shfl_sync(~0u, label, in_batch) - mine.first_column;
    const bool is_first = (lane & (lanes_of_row - 1)) == 0 && slot < there;
    const bool has_label = is_first && column >= 0 && column < mine.columns;
    Element score{};
    if (has_label) score = mine.score_of(row + mine.first_row, column);
    auto* const kept = reinterpret_cast<typename P::Kept*>(memory_of_kept[alone ? team : 2 * team + batch]);
    double log_sum = 0;
    if (!in_parts) {
      log_sum = scores.log_sum();
      if (is_first) kept[in_batch] = {log_sum, scores.distance, scores.most, score};
    }
    if (!alone) {
      typename P::Told& now = told[turn];
      if (lane == 0) {
        if (in_parts) now.parts[of_team] = {{scores.most, static_cast<int>(scores.times)}, scores.below};
        if (in_parts && has_label) now.score = score;
        if (leads) now.ticket = ticket;
      }
      meetings[team].meet(turn);
      ticket = now.ticket;
      if (in_parts) {
        scores = scores_of_row<kLongWarps>(now.parts, cut.parts);
        log_sum = scores.log_sum();
        if (leads && lane == 0) kept[in_batch] = {log_sum, 0, scores.most, now.score};
      }
      turn = 1 - turn;  // some may still read this one when others write the next
    }
    mine.write(row + mine.first_row, there, scores.template log_prob<Element>(log_sum));

    done += of_round;
    const bool ends_unit = done >= rows;
    if (ends_unit) {
      unit = (int64_t{gridDim.x} * teams + __shfl_sync(~0u, ticket, 0)) * cut.unit;
      rows = rows_from(unit);
      done = 0;
    }
    mine.begin(unit + done + mine.first_row, there_of(rows - done));
    if (ends_unit || of_batch + of_round == P::kBatch) {
      if (leads) {
        RowLoss of_lane;
        if (lane < rows_of_batch) {
          const typename P::Kept& k = kept[lane];
          of_lane = l.finish(first_of_batch + lane, {label >= 0, weight, k.score}, k.most, k.distance, k.log_sum);
        }
        sums.add(l, first_of_batch, rows_of_batch, of_lane);
      }
      batch = 1 - batch;  // that which is finished may still be read when others begin the next
    }
    __syncwarp();
  }
  if (leads) sums.end(l);
  l.add_parts(true);
}

template <class Element, bool shows_lse>
Status run_part_rows(const Loss<Element>& l, PartRows<Element> cut, const CudaLaunch& on) {
  const int warps = cut.warps_of_block();
  const auto kernel =
      for_rows_of(l, [&]<RowsAre are, bool may_smooth> { return part_rows<Element, shows_lse, are, may_smooth>; });
  const int64_t units = ceil_divide(l.a.labels.rows, cut.unit), teams = warps / cut.warps;
  const int64_t blocks = blocks_for(on, units, teams, kPartBlocks * kLongWarps / warps);
  // Warps that begin all at once compute all at once, while nothing is moved, and go on so.
  constexpr int kEnoughUnits = 8;         // of a team, so that what they wait for at first is less than what it saves
  constexpr unsigned kCyclesApart = 450;  // 150 and 900: up to 2 % slower
  if (warps == kLongWarps && units >= kEnoughUnits * blocks * teams) cut.cycles_apart = kCyclesApart;
  return start(on, kernel, blocks, warps * 32, static_cast<size_t>(cut.bytes()), l, cut);
}

}  // namespace descend::cuda
