// SPDX-License-Identifier: MIT
// Rows that are neighbours, on GPUs that copy in bulk: how they come into shared memory and leave it.
//
// A block has a multiprocessor for itself, and its memory is a ring of chunks, of a few whole rows each, as they lie in
// global memory.  One warp moves chunks: it has some on their way while teams of warps compute others, each team every
// kTeams-th, and write over them what is to be stored.  Others add up the losses (one was what all waited for).  Chunks
// of a block are numbered as they come.  What is told about one is at the place that its number has modulo kPlaces.
#pragma once
#include <utility>

#include "ops/cross_entropy_loss/cross_entropy_loss_lanes_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_rows_cuda.cuh"
#include "src/loops/bulk.cuh"

namespace descend::cuda {

// V: columns of a lane, of a line of a tile.  With 2 a row of halves has twice as many lanes as with 4, and a chunk a
// team of twice as many warps: half as much is computed at once, and nothing is stored before that is, nor loaded
// behind it.  With 1 it is slower: what a row costs by itself is computed for half as many at a time.  A chunk has 16
// KB at most, and 20 warps compute.
template <class Element, int V> struct RingRows {
  using Lanes = LanesOfRow<V>;
  static constexpr int kWarpsOfTeam = 16 / (V * sizeof(Element)), kTeams = 20 / kWarpsOfTeam;
  static constexpr int kAdders = 2, kThreads = (kTeams * kWarpsOfTeam + kAdders + 1) * 32;
  static constexpr int kPlaces = 20;  // so that a team knows that the last chunk at a place is done: its own
  static constexpr int kMostRows = kWarpsOfTeam * Lanes::kTiles / 2;
  static constexpr int64_t kOther = 7 << 10;  // bytes of shared memory that have names, and what CUDA keeps
  static_assert(kPlaces % kAdders == 0);
  // Else a place was another team's before, and who comes to it early takes the time before the last for his own.
  static_assert(kPlaces % kTeams == 0);

  static constexpr int64_t kLine = 128;  // bytes that memory has together
  int tiles, at_once;                    // of a row: a power of two, 2 at least; rows of a warp
  int rows;                              // of a chunk
  int64_t unit;                          // rows that a block takes at a time: whole chunks, a power of two
  int64_t apart;                         // bytes between two chunks
  int chunks;                            // of the ring

  RingRows(int64_t classes, const CrossEntropyRowCut& cut, const CudaLaunch& on)
      : tiles(static_cast<int>(std::bit_ceil(static_cast<uint64_t>(ceil_divide(classes, kTile))))),
        at_once(Lanes::kTiles / tiles),
        rows(at_once * kWarpsOfTeam),
        unit(std::max<int64_t>(cut.per_part, rows * least_chunks(classes))),
        apart(ceil_divide(bytes_with_neighbours(classes) + kLine - 16, kLine) * kLine),
        chunks(static_cast<int>(std::min<int64_t>((on.shared_memory - kOther) / apart, kPlaces))) {}
  // Of a unit.  As many rows as make units of several chunks no test of the emulated card has.
  static int64_t least_chunks([[maybe_unused]] int64_t classes) {
#ifdef DESCEND_EMULATED
    if (classes % 2 != 0) return 4;
#endif
    return 1;
  }
  static bool are_pieces(int64_t classes) { return classes % Vector<Element>::kCount == 0; }
  // Of a chunk, with the pieces at its ends that it may share.
  int64_t bytes_with_neighbours(int64_t classes) const {
    const int64_t own = rows * classes * static_cast<int64_t>(sizeof(Element));
    return own % 16 == 0 ? own : own + 32;
  }
  int64_t bytes() const { return chunks * apart; }
  // Where the piece is that lies at `from` in global memory, the first of a chunk: as far within a line, or copies in
  // bulk take longer.
  __device__ __forceinline__ Element* chunk_at(unsigned char* memory, int slot, const Element* from) const {
    return reinterpret_cast<Element*>(memory + slot * apart + reinterpret_cast<uintptr_t>(from) % kLine);
  }
  // A ring has a chunk for each team, so that behind the last each finds one that says so, and two more: one that is
  // being stored and one that comes; and there is work for all.
  static bool fits(const Loss<Element>& l, const CudaLaunch& on) {
    const int64_t classes = l.a.labels.classes;
    if (!copies_in_bulk(on) || l.a.smoothing != 0 || l.a.shows_lse() || classes <= kTile ||
        classes > Lanes::kTiles * kTile)
      return false;
    const RingRows ring(classes, l.cut, on);
    const auto lies = [&](const CrossEntropyMatrixStrides& s, const void* address) {
      return s.column == 1 && s.row == classes && is_aligned(address);
    };
    // FLOAT's exact sums take so long that the kernel for other rows moves whole pieces about as quickly.  Where halves
    // fill less than three quarters of the tiles that their lanes are for, few lanes are better than many.
    const bool is_quicker =
        sizeof(Element) == 4 ? !are_pieces(classes) : V == 4 || 4 * classes >= 3 * ring.tiles * kTile;
    return is_quicker && lies(l.a.input, l.input) && lies(l.a.log_prob, l.log_prob) && ring.chunks >= kTeams + 2 &&
           l.a.labels.rows >= on.multiprocessors * ring.rows;
  }
};

// In shared memory.
template <class Element, int V> struct Ring {
  using R = RingRows<Element, V>;
  // What a team leaves of a row.
  struct Kept {
    double log_sum;
    float most;
    int label;
    Element score;  // the label's
  };
  struct Place {
    Gate loaded, done, counted;
    int64_t first;  // row of the chunk, or behind the last one
    Kept kept[R::kMostRows];
  };
  Place places[R::kPlaces];

  __device__ void open(int place) {
    static_assert(sizeof(Ring) + 640 <= R::kOther);  // what add_parts has, too
    places[place].loaded.open(1);
    places[place].done.open(R::kWarpsOfTeam * 32);
    places[place].counted.open(32);
  }
};

// A chunk's number, and what follows from it.
template <class R> struct ChunkNumber {
  int place = 0, slot = 0;
  unsigned time = 0;  // that the place is used
  __device__ __forceinline__ void add(int by, int chunks) {
    place += by, slot += by;
    if (place >= R::kPlaces) place -= R::kPlaces, ++time;
    while (slot >= chunks) slot -= chunks;
  }
};

// By one thread.  Chunks are stored and loaded in the order of their numbers; where one was, another is loaded when the
// next one is being stored, so that nobody waits for a store that has just begun.
template <class Element, int V>
__device__ __forceinline__ void move_chunks(const Loss<Element>& l, const RingRows<Element, V>& rows,
                                            Ring<Element, V>& ring, unsigned char* memory) {
  using Number = ChunkNumber<RingRows<Element, V>>;
  const int64_t classes = l.a.labels.classes, all_rows = l.a.labels.rows;
  // The block's first units have the numbers from its own on that no other block's have; then they are taken.
  const int64_t own = (rows.chunks * rows.rows - 1) / rows.unit + 1;
  int64_t units = 0, unit = 0, in_unit = rows.unit;
  unsigned ticket = 0;
  const auto next_chunk = [&] {
    if (in_unit == rows.unit && unit < all_rows) {
      unit = (units < own ? blockIdx.x + units * gridDim.x : own * gridDim.x + ticket) * rows.unit;
      if (++units >= own) ticket = take_unit(l.scratch);  // long before it is needed
      in_unit = 0;
    }
    return unit + std::exchange(in_unit, in_unit + rows.rows);
  };
  // A chunk's pieces of 16 bytes are loaded at once, also those that it shares with its neighbours; but what there is
  // of the matrix's last one element by element.  Its own are stored at once; what it has of others its team stores.
  constexpr int kPiece = Vector<Element>::kCount;
  struct Chunk {
    int64_t at;      // elements before its first piece
    int begin, end;  // of the chunk, in elements from there
  };
  const auto chunk_of = [&](int64_t first) {
    const int64_t left = all_rows - first, at = first * classes;
    const int begin = shift_of(l.input + at);
    return Chunk{at - begin, begin, begin + static_cast<int>((left < rows.rows ? left : rows.rows) * classes)};
  };
  const auto bytes = [](int elements) { return elements * static_cast<int>(sizeof(Element)); };
  const auto load = [&](const Number& number) {
    auto& place = ring.places[number.place];
    if (number.time > 0) place.counted.wait(number.time - 1);
    place.first = next_chunk();
    if (place.first >= all_rows) return place.loaded.arrive();
    const Chunk chunk = chunk_of(place.first);
    const Element* const from = l.input + chunk.at;
    Element* const to = rows.chunk_at(memory, number.slot, from);
    int end = (chunk.end + kPiece - 1) / kPiece * kPiece;
    if (place.first + rows.rows >= all_rows) {
      end = chunk.end / kPiece * kPiece;
      for (int i = end; i < chunk.end; ++i) to[i] = from[i];
    }
    place.loaded.arrive_expecting(bytes(end));
    begin_bulk_load(to, from, bytes(end), place.loaded);
  };
  Number stored, loaded;
  for (int i = 0; i < rows.chunks; ++i, loaded.add(1, rows.chunks)) load(loaded);
  for (bool is_first = true;; is_first = false, stored.add(1, rows.chunks)) {
    auto& place = ring.places[stored.place];
    const int64_t first = place.first;
    if (first < all_rows) {
      place.done.wait(stored.time);
      const Chunk chunk = chunk_of(first);
      const Element* const from = rows.chunk_at(memory, stored.slot, l.input + chunk.at);
      const int begin = (chunk.begin + kPiece - 1) / kPiece * kPiece, end = chunk.end / kPiece * kPiece;
      begin_bulk_store(l.log_prob + chunk.at + begin, from + begin, bytes(end - begin));
      wait_for_bulk_stores<1>();
    }
    if (!is_first) {
      load(loaded);
      loaded.add(1, rows.chunks);
    }
    if (first >= all_rows) break;
  }
  wait_for_bulk_stores<0>();
}

// By a warp: the losses of every kAdders-th chunk; or by the first one of all, where a unit has several.
template <class Element, int V>
__device__ __forceinline__ void add_losses(const Loss<Element>& l, const RingRows<Element, V>& rows,
                                           Ring<Element, V>& ring, int adder) {
  constexpr int kBatch = 16;  // rows that are added at once
  using R = RingRows<Element, V>;
  static_assert(R::kMostRows <= kBatch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int apart = rows.unit == rows.rows ? R::kAdders : 1;
  if (adder >= apart) return;
  LossesOfRows<kBatch, 1> sums;
  RowLoss of_lane;
  ChunkNumber<R> number;
  for (number.add(adder, rows.chunks);; number.add(apart, rows.chunks)) {
    auto& place = ring.places[number.place];
    place.loaded.wait(number.time);
    const int64_t first = place.first;
    if (first >= l.a.labels.rows) break;
    place.done.wait(number.time);
    const int in_unit = static_cast<int>(first & (rows.unit - 1)), of_batch = in_unit % kBatch;
    const int mine = lane - of_batch;
    if (mine >= 0 && mine < rows.rows && first + mine < l.a.labels.rows) {
      const auto& kept = place.kept[mine];
      const bool counts = kept.label != kNoClass;
      of_lane = l.finish(first + mine, {counts, counts ? l.labels.weight_of(kept.label) : 1, kept.score}, kept.most, 0,
                         kept.log_sum);
    }
    place.counted.arrive();
    const int64_t left = l.a.labels.rows - first;
    const int there = of_batch + static_cast<int>(left < rows.rows ? left : rows.rows);
    if (left > rows.rows && there < kBatch && in_unit + rows.rows < rows.unit) continue;
    sums.add(l, first - of_batch, there, of_lane);
    of_lane = {};
  }
  sums.end(l);
}

}  // namespace descend::cuda
