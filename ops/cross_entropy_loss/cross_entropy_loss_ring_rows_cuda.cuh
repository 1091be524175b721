// SPDX-License-Identifier: MIT
// The cross entropy of rows that come in chunks (cross_entropy_loss_ring_cuda.cuh): what teams do with them.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_cache_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_part_of_row_cuda.cuh"
#include "ops/cross_entropy_loss/cross_entropy_loss_ring_cuda.cuh"

namespace descend::cuda {

// A lane's part of a row of a chunk.
template <class Element, int V, RowsAre rows_are> class RowOfChunk {
  using Lanes = LanesOfRow<V>;
  static constexpr int kPiece = Vector<Element>::kCount, kOfTile = static_cast<int>(kTile);
  static constexpr int kLogTerms = 12;  // of a row
  // Words of halves that are put together have a half that another warp may be writing over.
  static constexpr RowsAre kTilesAre = rows_are == RowsAre::kInPieces ? RowsAre::kInPieces : RowsAre::kAnyhow;

 public:
  const Lanes lanes;
  const int rank;  // of the row's lanes

  __device__ __forceinline__ explicit RowOfChunk(const RingRows<Element, V>& rows)
      : lanes{rows.tiles * Lanes::kLanes}, rank(lane_of_warp() & (lanes.count - 1)) {}

  // The elements from `begin` on, up to `end`, of a chunk whose first piece is there.
  __device__ __forceinline__ void set(Element* chunk, int begin, int end) {
    chunk_ = chunk, begin_ = begin, end_ = end;
    whole_begin_ = rows_are == RowsAre::kInPieces ? begin : (begin + kPiece - 1) / kPiece * kPiece;
    whole_end_ = rows_are == RowsAre::kInPieces ? end : end / kPiece * kPiece;
  }
  // The largest score in each lane, the others in the first.
  __device__ __forceinline__ Scores scores() const {
    Vector<Element> largest;
#pragma unroll
    for (Element& each : largest.at) each = narrow<Element>(-std::numeric_limits<float>::infinity());
    for_pieces([&](const Element* at) { keep_larger(largest.at, load_at_once<Vector<Element>>(at).at); });
    const Columns<Element, 2> rest = load_rest();
    Scores scores{kLeastMost, 0, 0, 0};
#pragma unroll
    for (const Element each : largest.at) scores.most = std::fmax(scores.most, widen<float>(each));
#pragma unroll
    for (const Element each : rest.at) scores.most = std::fmax(scores.most, widen<float>(each));
    scores.most = lanes.largest(scores.most);
    const int first = begin_ + rank / Lanes::kLanes * kOfTile;  // of the lane's tile
    const int n = min(max(end_ - first, 0), kOfTile);
    const TileScores<Element, kTilesAre> tile{chunk_ + first, 1};
    int times = 0;
    if constexpr (kSumsQuickly<Element, false>) {
      QuickSum<Element> sum(scores.most);
      for_pieces([&](const Element* at) { sum.add(load_at_once<Vector<Element>>(at)); });
      if (rows_are != RowsAre::kInPieces) sum.add(rest);
      const double quick = sum.total(lanes.over_row(sum.sum, [](double a, double b) { return a + b; }));
      scores.below = kept_sum<Element>(quick, true, true, kLogTerms,
                                       [&] { return lanes.sum_of_tiles(exact_sum<V>(n, tile, scores.most)); });
      times = sum.times;
    } else {
      scores.below = lanes.sum_of_tiles(sum_exponentials(n, TileGroup<V>{}, tile, scores.most, times)) *
                     ExpBelow<Element>{scores.most}.factor();
    }
    scores.times = lanes.sum(times);
    return scores;
  }
  __device__ __forceinline__ Element operator[](int column) const { return chunk_[begin_ + column]; }
  // Writes f of each element where it is; f is the first lane's.  What is before the whole pieces of the chunk's first
  // row, or behind those of its last one, is not stored with the chunk: to its place in the matrix.
  __device__ __forceinline__ void write(LogProb f, Element* matrix, bool is_first, bool is_last) const {
    const int first = lane_of_warp() - rank;
    f = {__shfl_sync(~0u, f.high, first), __shfl_sync(~0u, f.low, first)};
    __syncwarp();  // labels' scores are read before they are written over
    if (__any_sync(~0u, f.low != 0))
      write_in_form(f, is_first ? matrix : chunk_, is_last ? matrix : chunk_);
    else
      write_in_form(LogProbOfHigh{f.high}, is_first ? matrix : chunk_, is_last ? matrix : chunk_);
  }

 private:
  // f(at) for each of this lane's whole pieces.
  template <class F> __device__ __forceinline__ void for_pieces(const F& f) const {
#pragma unroll 4
    for (int c = whole_begin_ + rank * kPiece; c < whole_end_; c += lanes.count * kPiece) f(chunk_ + c);
  }
  // This lane's elements before the whole pieces, and behind them; -Inf for none.
  __device__ __forceinline__ Columns<Element, 2> load_rest() const {
    const Element none = narrow<Element>(-std::numeric_limits<float>::infinity());
    if constexpr (rows_are == RowsAre::kInPieces) return {none, none};
    return {is_before() ? chunk_[begin_ + rank] : none, is_behind() ? chunk_[whole_end_ + rank] : none};
  }
  __device__ __forceinline__ bool is_before() const { return begin_ + rank < whole_begin_; }
  __device__ __forceinline__ bool is_behind() const { return whole_end_ + rank < end_; }
  template <class Form>
  __device__ __forceinline__ void write_in_form(const Form& log_prob, Element* before, Element* behind) const {
    for_pieces([&](Element* at) { *reinterpret_cast<uint4*>(at) = std::bit_cast<uint4>(piece_of(at, log_prob)); });
    if constexpr (rows_are == RowsAre::kInPieces) return;
    const Columns<Element, 2> rest = load_rest();
    float result[2];
    widen_all(rest, result);
#pragma unroll
    for (float& each : result) each = log_prob(each);
    Columns<Element, 2> to;
    narrow_all(result, to.at);
    if (is_before()) before[begin_ + rank] = to.at[0];
    if (is_behind()) behind[whole_end_ + rank] = to.at[1];
  }
  Element* chunk_;
  int begin_, end_, whole_begin_, whole_end_;  // the row's; of its whole pieces
};

template <class Element, int V, RowsAre rows_are>
__global__ void __launch_bounds__(RingRows<Element, V>::kThreads, 1)
    ring_rows(const __grid_constant__ Loss<Element> l, const __grid_constant__ RingRows<Element, V> rows) {
  using R = RingRows<Element, V>;
  __shared__ __align__(8) unsigned char memory_of_ring[sizeof(Ring<Element, V>)];
  auto& ring = *reinterpret_cast<Ring<Element, V>*>(memory_of_ring);
  unsigned char* const memory = shared_memory<unsigned char>();
  if (threadIdx.x < R::kPlaces) ring.open(static_cast<int>(threadIdx.x));
  fence_gates();
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_of_warp();
  if (const int other = warp - R::kTeams * R::kWarpsOfTeam; other == R::kAdders) {
    if (lane == 0) move_chunks(l, rows, ring, memory);
  } else if (other >= 0) {
    add_losses(l, rows, ring, other);
  } else {
    const int classes = static_cast<int>(l.a.labels.classes);
    RowOfChunk<Element, V, rows_are> mine(rows);
    const int row = warp % R::kWarpsOfTeam * rows.at_once + lane / mine.lanes.count;
    ChunkNumber<R> number;
    for (number.add(warp / R::kWarpsOfTeam, rows.chunks);; number.add(R::kTeams, rows.chunks)) {
      auto& place = ring.places[number.place];
      place.loaded.wait(number.time);
      const int64_t first = place.first;
      if (first >= l.a.labels.rows) break;
      const int64_t left = l.a.labels.rows - first;
      const int last = (left < rows.rows ? static_cast<int>(left) : rows.rows) - 1;
      const bool tells = mine.rank == 0 && row <= last;
      int64_t target = 0;  // asked for long before it is needed
      if (tells) target = l.labels.target_of(first + row);
      const int shift = rows_are == RowsAre::kInPieces ? 0 : shift_of(l.input + first * classes);
      const int64_t piece = first * classes - shift;
      mine.set(rows.chunk_at(memory, number.slot, l.input + piece), shift + row * classes, shift + (row + 1) * classes);
      const Scores scores = mine.scores();
      const double log_sum = scores.log_sum();
      if (tells) {
        const int label = static_cast<int>(l.labels.class_of(target));
        place.kept[row] = {log_sum, scores.most, label, label == kNoClass ? Element{} : mine[label]};
      }
      mine.write(scores.template log_prob<Element>(log_sum), l.log_prob + piece, row == 0, row == last);
      fence_bulk_store();
      place.done.arrive();
    }
  }
  l.add_parts(true);
}

template <int V, class Element> Status run_ring(const Loss<Element>& l, const CudaLaunch& on) {
  using R = RingRows<Element, V>;
  const R rows(l.a.labels.classes, l.cut, on);
  auto kernel = ring_rows<Element, V, RowsAre::kTogether>;
  if constexpr (sizeof(Element) == 2)
    if (R::are_pieces(l.a.labels.classes)) kernel = ring_rows<Element, V, RowsAre::kInPieces>;
  return start(on, kernel, blocks_for(on, l.a.labels.rows, rows.unit, 1), R::kThreads,
               static_cast<size_t>(rows.bytes()), l, rows);
}

}  // namespace descend::cuda
