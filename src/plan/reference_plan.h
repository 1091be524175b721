// SPDX-License-Identifier: MIT
// What the reference device runs: the operator's own definition, over a copy of the parameters.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "src/plan/spec.h"
#include "src/tensor/overlap.h"

namespace descend {

// Calls body(field) for each input that shares memory with an output without being the very same view: it has to be
// read completely before the output is written.
template <class P, class Body> void for_each_overlapped_input(const Spec<P>& spec, const P& p, const Body& body) {
  for (const auto in : spec.inputs())
    for (const auto out : spec.outputs())
      if (in != out && !same_view(*(p.*in), *(p.*out)) && overlap(*(p.*in), *(p.*out))) {
        body(in);
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
      aclTensor* tensor = copies.of(*(p.*field));
      tensor->data = addresses[next++];
      p.*field = tensor;
    };
    for (const auto field : spec.inputs()) place(field);
    for (const auto field : spec.outputs())
      if (std::find(spec.inputs().begin(), spec.inputs().end(), field) == spec.inputs().end()) place(field);
    std::vector<std::vector<std::byte>> read_first;
    for_each_overlapped_input(spec, p, [&](auto input) {
      aclTensor* tensor = copies.of(*(p.*input));
      read_first.push_back(move_to_host_copy(*tensor));
      p.*input = tensor;
    });
    Op::reference(p);
  };
}

}  // namespace descend
