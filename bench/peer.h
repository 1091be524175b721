// SPDX-License-Identifier: MIT
// Other libraries that compute the same from the same memory, and how: what bench/torch.cc and bench/onednn.cc add, and
// an operator's *_torch.cc and *_onednn.cc.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/case.h"

namespace descend::bench {

struct Library {
  std::string name;     // as in the report's JSON: "torch"
  std::string version;  // "2.10.0"
  void (*set_threads)(int threads);
};
bool add_library(Library library);
const std::vector<Library>& libraries();
// Empty when it is not built in.
std::string version_of(const std::string& library);

// Makes a function that computes what the call does, into the same output; an empty one where the library cannot.
using MakePeer = std::function<std::function<void()>(const Call& call)>;
bool add_peer(const std::string& library, const std::string& function, MakePeer make);

struct Peer {
  std::string library;
  std::function<void()> run;
};
std::vector<Peer> peers_of(const std::string& function, const Call& call);

}  // namespace descend::bench
