// SPDX-License-Identifier: MIT
// The gradient of short rows that follow on each other, without smoothing and z-loss.
//
// A block goes over groups of rows.  Rows are so short that what is done once for each counts: a thread a row computes
// its scale and the label's element while the group's first elements are on their way, and what it needs for the next
// group is asked for meanwhile.  Elements are asked for a round ahead, so that memory never waits for the arithmetic.
#pragma once
#include "ops/cross_entropy_loss/cross_entropy_loss_grad_cuda.cuh"

namespace descend::cuda {
namespace {

constexpr int kPiecesAhead = 4;  // of a thread
// Enough for two or four rounds of 128 classes: what is asked for early must still be in the cache when it is used.
template <class Element> constexpr int kRowsOfGroup = sizeof(Element) == 4 ? 64 : 256;

template <class Element> bool are_plain_rows(const CrossEntropyLossGradArgs& a) {
  constexpr int64_t kShortest = kPiecesAhead * Vector<Element>::kCount, kLongest = 512;
  const int64_t classes = a.labels.classes;
  return classes >= kShortest && classes <= kLongest && a.log_prob.row == classes && a.out.row == classes &&
         a.smoothing == 0 && a.zloss_scale == 0;
}

// What a row's elements are made of.  label -1: it does not count, and they are 0; scale_f 0: no ordinary row, or that.
template <class Element> struct PlainRow {
  float scale_f;
  int label;
  double scale;
  Element at_label;
};

// What that is made of, asked for before it is needed.
template <class Element> struct RowInputs {
  int64_t target;
  int label;
  float weight;
  Element gradient, log_prob;

  __device__ __forceinline__ void ask_for_target(const Gradient<Element>& g, int64_t row, bool is_there) {
    target = is_there ? g.labels.target_of(row) : kNoClass;
  }
  __device__ __forceinline__ void ask_for_rest(const Gradient<Element>& g, int64_t row) {
    label = static_cast<int>(g.labels.class_of(target));
    if (label < 0) return;
    weight = g.labels.weight_of(label);
    gradient = g.gradient[row * g.a.gradient_stride];
    log_prob = g.log_prob[row * g.a.labels.classes + label];
  }
  // As Gradient::row_of() has it where there is neither smoothing nor z-loss.
  __device__ __forceinline__ PlainRow<Element> row(double share) const {
    PlainRow<Element> r{.scale_f = 0, .label = label};
    if (label < 0) return r;
    const Lane<double> d;
    const double x = widen<double>(log_prob);
    constexpr double kLargest = 709;                                   // exp of it is finite
    r.scale = widen<double>(gradient) * share * double{weight} + 0.0;  // never -0
    if (is_ordinary(r.scale)) r.scale_f = static_cast<float>(r.scale);
    double element = r.scale * expm1(d, x) + 0.0;
    if (!(x <= kLargest && std::fabs(r.scale) < INFINITY)) {
      const double probability = exp(d, x);
      if (std::isinf(probability) || std::isinf(r.scale)) element = probability * r.scale - r.scale;
    }
    r.at_label = narrow<Element>(element);
    return r;
  }
};

// A group of which some rows are no ordinary ones.
template <class Element>
__device__ __noinline__ void write_careful_rows(const PlainRow<Element>* row_of, Divisor per_row, int pieces, bool nan,
                                                const Vector<Element>* from, Vector<Element>* to) {
  constexpr int V = Vector<Element>::kCount;
#pragma unroll 1
  for (int piece = static_cast<int>(threadIdx.x); piece < pieces; piece += kThreads) {
    uint32_t column = static_cast<uint32_t>(piece);
    const PlainRow<Element>& row = row_of[per_row.divide(column)];
    const Vector<Element> in = from[piece];
    Vector<Element> out;
    float x[V], result[V];
#pragma unroll
    for (int i = 0; i < V; ++i) x[i] = widen<float>(in.at[i]), result[i] = nan ? NAN : 0.0f;
    if (!nan && row.scale_f != 0)
      scaled_exps(x, row.scale_f, result);
    else if (!nan && row.label >= 0)
      one_by_one(x, result, [&](int, float one, float) {
        return static_cast<float>(exp(Lane<double>{}, static_cast<double>(one)) * row.scale);
      });
    narrow_all(result, out.at);
    store_at_once(to + piece, out);
    const uint32_t place = static_cast<uint32_t>(row.label) - column * V;
    if (place < V && !nan) to[piece].at[place] = row.at_label;
  }
}

template <class Element>
__global__ void __launch_bounds__(kThreads, 3)
    write_rows(const __grid_constant__ Gradient<Element> g, Divisor per_row, int64_t groups) {
  using Piece = Vector<Element>;
  constexpr int V = Piece::kCount;
  constexpr int kRound = kPiecesAhead * kThreads;
  __shared__ PlainRow<Element> rows_of[2][kRowsOfGroup<Element>];
  __shared__ double few[2];
  double total = 1;
  if (g.adds_rows) {
    sum_few_rows(g.labels, few);
    __syncthreads();
    total = few[0];
  } else if (g.a.reduction == CrossEntropyReduction::kMean) {
    total = g.scratch->numbers[kWeights];
  }
  const double share = 1 / total;
  const int of_row = static_cast<int>(g.a.labels.classes / V);
  const int thread = static_cast<int>(threadIdx.x);
  const auto rows_in = [&](int64_t group) {
    const int64_t left = g.a.labels.rows - group * g.rows_per_block;
    return static_cast<int>(left < 0 ? 0 : left < g.rows_per_block ? left : g.rows_per_block);
  };
  const auto own_row = [&](int64_t group) { return group * g.rows_per_block + thread; };
  const auto place = [&](int64_t group) { return group * g.rows_per_block * of_row; };  // pieces before it
  const Piece* const from = reinterpret_cast<const Piece*>(g.log_prob);
  Piece* const to = reinterpret_cast<Piece*>(g.out);

  int64_t group = blockIdx.x, next = group + gridDim.x;
  RowInputs<Element> mine, of_next;
  mine.ask_for_target(g, own_row(group), thread < rows_in(group));
  uint4 in[kPiecesAhead];  // as words: the compiler takes elements apart as soon as it has them, and waits for that
  // One of those that begin at `at`, of which there are so many.
  const auto ask_for_piece = [&](int u, const Piece* at, int count) {
    const int piece = thread + u * kThreads;
    if (piece < count) in[u] = *reinterpret_cast<const uint4*>(at + piece);
  };
  const auto ask_for_first_round = [&](int64_t of) {
#pragma unroll
    for (int u = 0; u < kPiecesAhead; ++u) ask_for_piece(u, from + place(of), rows_in(of) * of_row);
  };
  ask_for_first_round(group);
  mine.ask_for_rest(g, own_row(group));
  of_next.ask_for_target(g, own_row(next), thread < rows_in(next));

  for (bool turn = false; group < groups; group = next, next += gridDim.x, turn = !turn) {
    PlainRow<Element>* const row_of = rows_of[turn];
    const PlainRow<Element> row = mine.row(share);
    if (thread < rows_in(group)) row_of[thread] = row;
    const bool careful = __syncthreads_or(total == 0 || (row.label >= 0 && row.scale_f == 0));
    mine = of_next;
    mine.ask_for_rest(g, own_row(next));
    of_next.ask_for_target(g, own_row(next + gridDim.x), thread < rows_in(next + gridDim.x));

    const int pieces = rows_in(group) * of_row, of_next_group = rows_in(next) * of_row;
    const Piece *at = from + place(group), *const at_next_group = from + place(next);
    Piece* out = to + place(group);
    if (careful) {
      write_careful_rows(row_of, per_row, pieces, total == 0, at, out);
      ask_for_first_round(next);
      continue;
    }
    for (int done = 0; done < pieces; done += kRound, out += kRound) {
      const int left = pieces - done;
      const bool is_last = left <= kRound;
      const Piece* const ahead = is_last ? at_next_group : at += kRound;
      const int count_ahead = is_last ? of_next_group : left - kRound;
#pragma unroll
      for (int u = 0; u < kPiecesAhead; ++u) {
        const Piece now = std::bit_cast<Piece>(in[u]);
        ask_for_piece(u, ahead, count_ahead);
        const int piece = thread + u * kThreads;
        if (piece >= left) continue;
        uint32_t column = static_cast<uint32_t>(done + piece);
        const PlainRow<Element>& its = row_of[per_row.divide(column)];
        float x[V], result[V] = {};
        Piece computed;
#pragma unroll
        for (int i = 0; i < V; ++i) x[i] = widen<float>(now.at[i]);
        if (its.label >= 0) scaled_exps(x, its.scale_f, result);
        narrow_all(result, computed.at);
        store_at_once(out + piece, computed);
        const uint32_t place_of_label = static_cast<uint32_t>(its.label) - column * V;
        if (place_of_label < V) out[piece].at[place_of_label] = its.at_label;
      }
    }
  }
}

template <class Element> Status write_plain_rows(Gradient<Element> g, const CudaLaunch& on) {
  // As many groups for each block, of no more rows than there are threads.
  const int64_t rows = g.a.labels.rows, blocks = on.multiprocessors * 3;
  const int64_t of_block = ceil_divide(rows, blocks * kRowsOfGroup<Element>);
  g.rows_per_block =
      static_cast<int>(std::clamp<int64_t>(ceil_divide(rows, blocks * of_block), 16, kRowsOfGroup<Element>));
  const int64_t groups = ceil_divide(rows, g.rows_per_block);
  return start(on, write_rows<Element>, std::min(groups, blocks), kThreads, 0, g,
               Divisor(g.a.labels.classes / Vector<Element>::kCount), groups);
}

}  // namespace
}  // namespace descend::cuda
