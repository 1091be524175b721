// SPDX-License-Identifier: MIT
// Overlap of strided views, decided exactly: the question is whether a sum of bounded multiples of strides can have a
// given value.
#include "src/tensor/overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace descend {
namespace {

using Wide = __int128;  // sums of products of int64 values

// step * i with 0 <= i <= most, step > 0.
struct Term {
  Wide step;
  Wide most;
};

Wide gcd(Wide a, Wide b) {
  while (b) std::swap(a %= b, b);
  return a;
}

// Whether the terms can add up to `target`, by depth-first search from the largest step; the bounds of what the smaller
// steps can reach and their greatest common divisor leave few branches.  `budget` ends a search that would take too
// long, with "yes": callers then do the safe thing.
class SumSearch {
 public:
  explicit SumSearch(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::erase_if(terms_, [](const Term& t) { return t.most == 0; });
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    // Equal steps are one: i + j steps.
    size_t kept = 0;
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (kept > 0 && terms_[kept - 1].step == terms_[i].step)
        terms_[kept - 1].most += terms_[i].most;
      else
        terms_[kept++] = terms_[i];
    }
    terms_.resize(kept);
    rest_.assign(terms_.size() + 1, 0);
    divisor_.assign(terms_.size() + 1, 0);
    for (size_t i = terms_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + terms_[i].step * terms_[i].most;
      divisor_[i] = gcd(terms_[i].step, divisor_[i + 1]);
    }
  }

  bool reaches(Wide target) { return search(0, target); }

 private:
  bool search(size_t at, Wide target) {
    if (target == 0) return true;
    if (target < 0 || target > rest_[at] || target % divisor_[at] != 0) return false;
    const Term& term = terms_[at];
    // The smaller steps must make up what is left: at most rest_[at + 1].
    const Wide low = target > rest_[at + 1] ? (target - rest_[at + 1] + term.step - 1) / term.step : 0;
    for (Wide i = std::min(term.most, target / term.step); i >= low; --i)
      if (--budget_ < 0 || search(at + 1, target - i * term.step)) return true;
    return false;
  }

  std::vector<Term> terms_;
  std::vector<Wide> rest_, divisor_;
  int budget_ = 100000;
};

void add_terms(const aclTensor& t, std::vector<Term>& terms) {
  const auto item = static_cast<Wide>(size_of(t.dtype));
  for (size_t k = 0; k < t.shape.size(); ++k) {
    const Wide step = Wide{t.strides[k]} * item;
    if (t.shape[k] > 1 && step != 0) terms.push_back({step < 0 ? -step : step, Wide{t.shape[k]} - 1});
  }
}

}  // namespace

bool is_addressable(const aclTensor& t, Extent& range) {
  const auto item = static_cast<int64_t>(size_of(t.dtype));
  int64_t low = t.offset, high = t.offset;
  bool too_far = false;
  for (size_t k = 0; k < t.shape.size(); ++k) {
    if (t.shape[k] == 0) return range = {}, true;  // however far the others reach
    int64_t reach;
    too_far |= __builtin_mul_overflow(t.shape[k] - 1, t.strides[k], &reach) ||
               __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  if (too_far) return false;
  int64_t end;
  if (__builtin_mul_overflow(low, item, &range.begin) || __builtin_add_overflow(high, 1, &end) ||
      __builtin_mul_overflow(end, item, &range.end))
    return false;
  // A view over no memory yet (null data) is addressed from 0; with data the addresses themselves must exist.
  const auto base = static_cast<int64_t>(reinterpret_cast<intptr_t>(t.data));
  return !__builtin_add_overflow(range.begin, base, &range.begin) &&
         !__builtin_add_overflow(range.end, base, &range.end);
}

bool overlaps_itself(const aclTensor& t) {
  // Usual views: by falling strides, each step is longer than everything below it reaches.
  struct Dim {
    uint64_t step, extent;
  };
  Dim dims[kMaxRank];
  int n = 0;
  for (int64_t d : t.shape)
    if (d == 0) return false;
  for (size_t k = 0; k < t.shape.size(); ++k) {
    if (t.shape[k] == 1) continue;
    if (t.strides[k] == 0) return true;
    const uint64_t step = t.strides[k] < 0 ? -static_cast<uint64_t>(t.strides[k]) : static_cast<uint64_t>(t.strides[k]);
    int at = n++;
    for (; at > 0 && dims[at - 1].step > step; --at) dims[at] = dims[at - 1];
    dims[at] = {step, static_cast<uint64_t>(t.shape[k])};
  }
  uint64_t reach = 0;
  bool nested = true;
  for (int k = 0; k < n; ++k) {
    nested &= dims[k].step > reach;
    reach += dims[k].step * (dims[k].extent - 1);
  }
  if (nested) return false;
  // Two elements share a place if the differences of their indices, each between -(extent - 1) and extent - 1, add up
  // to no distance.  Shifted to be positive, for the largest dimension that differs by at least one.
  for (int first = 0; first < n; ++first) {
    std::vector<Term> terms{{Wide{dims[first].step}, Wide{dims[first].extent} - 2}};
    Wide target = -Wide{dims[first].step};  // that dimension differs by 1 at least
    for (int k = 0; k < n; ++k) {
      if (k == first) continue;
      terms.push_back({Wide{dims[k].step}, 2 * (Wide{dims[k].extent} - 1)});
      target += Wide{dims[k].step} * (Wide{dims[k].extent} - 1);
    }
    if (SumSearch(std::move(terms)).reaches(target)) return true;
  }
  return false;
}

aclTensor without_repeats(aclTensor view) {
  for (size_t k = 0; k < view.shape.size(); ++k)
    if (view.strides[k] == 0 && view.shape[k] > 1) view.shape[k] = 1;
  return view;
}

bool same_view(const aclTensor& a, const aclTensor& b) {
  const auto first = [](const aclTensor& t) {  // the address of the first element; views here were measured
    return reinterpret_cast<uintptr_t>(t.data) + static_cast<uintptr_t>(t.offset) * size_of(t.dtype);
  };
  if (a.dtype != b.dtype || first(a) != first(b) || !(a.shape == b.shape)) return false;
  for (size_t k = 0; k < a.shape.size(); ++k)
    if (a.shape[k] > 1 && a.strides[k] != b.strides[k]) return false;
  return true;
}

bool overlap_exactly(const aclTensor& a, const Extent& at, const aclTensor& b, const Extent& other) {
  // a's byte minus b's byte is 0: a counts up from its first byte, b down from its last.
  std::vector<Term> terms{{1, Wide(size_of(a.dtype)) - 1}, {1, Wide(size_of(b.dtype)) - 1}};
  add_terms(a, terms);
  add_terms(b, terms);
  return SumSearch(std::move(terms)).reaches(Wide{other.end} - 1 - at.begin);
}

bool measure(const aclTensor& t, bool is_written, Extent& extent) {
  // Row-major views, all at once.  Their elements do not share memory, and no sum overflows while the count does not.
  int64_t step = 1;
  bool row_major = true;
  for (size_t k = t.shape.size(); k-- > 0 && row_major;) {
    const int64_t d = t.shape[k];
    row_major = d > 0 && (d == 1 || t.strides[k] == step) && !__builtin_mul_overflow(step, d, &step);
  }
  const auto item = static_cast<int64_t>(size_of(t.dtype));
  const auto base = static_cast<int64_t>(reinterpret_cast<intptr_t>(t.data));
  int64_t offset, bytes;
  if (row_major && !__builtin_mul_overflow(t.offset, item, &offset) && !__builtin_mul_overflow(step, item, &bytes) &&
      !__builtin_add_overflow(base, offset, &extent.begin) && !__builtin_add_overflow(extent.begin, bytes, &extent.end))
    return true;
  return count(t.shape) && is_addressable(t, extent) && !(is_written && overlaps_itself(t));
}

}  // namespace descend
