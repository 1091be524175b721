// SPDX-License-Identifier: MIT
// What the reference device runs: the operator's own definition, over a copy of the parameters.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "src/plan/spec.h"
#include "src/tensor/overlap.h"

namespace descend {

// Calls body(field) for each input that shares memory with an output, unless it is the very same view and the operator
// works in place: it has to be read completely before the output is written.
template <class P, class Body>
void for_each_overlapped_input(const Spec<P>& spec, const P& p, const Extents& extents, const Body& body) {
  for (const auto& in : spec.inputs())
    for (const auto& out : spec.outputs()) {
      if (!(p.*in.field) || !(p.*out.field)) continue;
      const aclTensor &a = *(p.*in.field), &b = *(p.*out.field);
      const Extent &at = extents[static_cast<size_t>(in.extent)], &other = extents[static_cast<size_t>(out.extent)];
      if (in.field == out.field || !overlap(a, at, b, other) || (in.in_place && same_view(a, b))) continue;
      body(in.field);
      break;
    }
}

// The view's elements in row-major order; `t` is changed to the view of them.
std::vector<std::byte> move_to_host_copy(aclTensor& t);

// A function that runs Op::reference with the tensor parameters at the addresses given, inputs first, in the API's
// order.
template <class Op> std::function<void(void* const* addresses)> reference_of(const typename Op::Params& params) {
  struct Kept {
    Copies copies;
    typename Op::Params params;
  };
  auto kept = std::make_shared<Kept>();
  kept->params = params;
  for (const auto& row : Op::spec().rows())
    if (row.keep && row.present(kept->params)) row.keep(kept->params, kept->copies);
  return [kept](void* const* addresses) {
    const auto& spec = Op::spec();
    Copies copies;
    auto p = kept->params;
    size_t next = 0;
    const auto place = [&](auto field) {
      if (!(p.*field)) return;
      aclTensor* tensor = copies.of(*(p.*field));
      tensor->data = addresses[next++];
      p.*field = tensor;
    };
    for (const auto& in : spec.inputs()) place(in.field);
    for (const auto& out : spec.outputs())
      if (std::none_of(spec.inputs().begin(), spec.inputs().end(), [&](auto& in) { return in.field == out.field; }))
        place(out.field);
    Extents extents;
    for (const auto* list : {&spec.inputs(), &spec.outputs()})
      for (const auto& tensor : *list)
        if (p.*tensor.field) measure(*(p.*tensor.field), false, extents[static_cast<size_t>(tensor.extent)]);
    std::vector<std::vector<std::byte>> read_first;
    for_each_overlapped_input(spec, p, extents, [&](auto input) {
      aclTensor* tensor = copies.of(*(p.*input));
      read_first.push_back(move_to_host_copy(*tensor));
      p.*input = tensor;
    });
    Op::reference(p);
  };
}

}  // namespace descend
