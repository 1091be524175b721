// SPDX-License-Identifier: MIT
// Comparing outputs: loosely, since the tests say how accurate they are.
#include "bench/compare.h"

#include <algorithm>
#include <cmath>

#include "bench/peer.h"
#include "src/base/dtype.h"

namespace descend::bench {
namespace {

using Outputs = std::map<std::string, std::vector<double>>;

Outputs outputs_of(const Call& call) {
  Outputs all;
  for (const std::string& name : call.outputs()) {
    const Tensor& tensor = call.tensor(name);
    visit(Dtypes<float, float16, bfloat16, double>{}, static_cast<DataType>(tensor.spec().dtype), [&]<class T>() {
      const auto* values = static_cast<const T*>(tensor.data());
      std::vector<double>& copy = all[name];
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, float>;  // to which halves convert
      for (uint64_t i = 0; i < tensor.bytes() / sizeof(T); ++i) copy.push_back(static_cast<Wide>(values[i]));
    });
  }
  return all;
}

bool near(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)}) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::string compare(const Case& c) {
  Call call;
  c.prepare(call);
  aclrtStream stream = nullptr;
  must(aclrtCreateStream(&stream), "aclrtCreateStream");
  call.run(stream);
  must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  must(aclrtDestroyStream(stream), "aclrtDestroyStream");
  const Outputs ours = outputs_of(call);

  std::string text;
  for (const Library& library : libraries()) {
    Call again;  // the same numbers
    c.prepare(again);
    const Outputs before = outputs_of(again);
    for (const Peer& peer : peers_of(c.function, again)) {
      if (peer.library != library.name) continue;
      peer.run();
      const Outputs theirs = outputs_of(again);
      if (theirs == before) continue;  // where it cannot write into ours it has an output of its own
      for (const auto& [name, values] : ours) {
        const aclDataType dtype = call.tensor(name).spec().dtype;
        const double tolerance = dtype == ACL_FLOAT || dtype == ACL_DOUBLE ? 1e-4 : dtype == ACL_FLOAT16 ? 4e-3 : 3e-2;
        for (size_t i = 0; i < values.size(); ++i) {
          if (near(values[i], theirs.at(name)[i], tolerance)) continue;
          text += library.name + ": " + name + "[" + std::to_string(i) + "] is " + std::to_string(theirs.at(name)[i]) +
                  ", ours " + std::to_string(values[i]) + "; ";
          break;
        }
      }
    }
  }
  return text;
}

}  // namespace descend::bench
