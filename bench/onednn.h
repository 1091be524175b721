// SPDX-License-Identifier: MIT
// oneDNN on the memory of a benchmark's call: what an operator's *_onednn.cc needs.
#pragma once
#include <dnnl.hpp>
#include <unordered_map>

#include "bench/peer.h"

namespace descend::bench {

inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// The same view of the same memory; undefined for dtypes that oneDNN 2 lacks.
dnnl::memory onednn_view(const Call& call, const std::string& name);

// Runs a primitive that is already made.  `make` is called now and may throw: then oneDNN has none for this call.
struct Prepared {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};
using MakePrimitive = Prepared (*)(const Call& call);
bool add_onednn(const std::string& function, MakePrimitive make);

}  // namespace descend::bench
