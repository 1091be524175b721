// SPDX-License-Identifier: MIT
// The lists of libraries and of what they compute.
#include "bench/peer.h"

namespace descend::bench {
namespace {

struct Entry {
  std::string library, function;
  MakePeer make;
};
std::vector<Entry>& entries() {
  static auto& all = *new std::vector<Entry>;
  return all;
}
std::vector<Library>& known() {
  static auto& all = *new std::vector<Library>;
  return all;
}

}  // namespace

bool add_library(Library library) {
  known().push_back(std::move(library));
  return true;
}
const std::vector<Library>& libraries() { return known(); }
std::string version_of(const std::string& library) {
  for (const Library& each : known())
    if (each.name == library) return each.version;
  return "";
}

bool add_peer(const std::string& library, const std::string& function, MakePeer make) {
  entries().push_back({library, function, std::move(make)});
  return true;
}
std::vector<Peer> peers_of(const std::string& function, const Call& call) {
  std::vector<Peer> peers;
  for (const Entry& each : entries()) {
    if (each.function != function) continue;
    if (std::function<void()> run = each.make(call)) peers.push_back({each.library, std::move(run)});
  }
  return peers;
}

}  // namespace descend::bench
