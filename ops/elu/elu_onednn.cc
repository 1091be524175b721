// SPDX-License-Identifier: MIT
// ELU as oneDNN computes it, for the benchmarks.
#include "bench/onednn.h"

namespace descend::bench {
namespace {

using dnnl::algorithm, dnnl::prop_kind;

Prepared forward(const Call& call, const std::string& from, const std::string& to) {
  const dnnl::memory src = onednn_view(call, from), dst = onednn_view(call, to);
  if (src.get_desc() != dst.get_desc()) throw dnnl::error(dnnl_unimplemented, "one layout for both");
  const dnnl::eltwise_forward::desc desc(prop_kind::forward_inference, algorithm::eltwise_elu, src.get_desc(),
                                         static_cast<float>(call.number("alpha")));
  return {dnnl::eltwise_forward({desc, onednn_engine()}), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}};
}

Prepared backward(const Call& call) {
  const dnnl::memory data = onednn_view(call, "selfOrResult");
  const dnnl::memory diff_dst = onednn_view(call, "gradOutput"), diff_src = onednn_view(call, "gradInput");
  if (diff_dst.get_desc() != diff_src.get_desc()) throw dnnl::error(dnnl_unimplemented, "one layout for both");
  const bool is_result = call.number("isResult") != 0;
  const auto kind = is_result ? algorithm::eltwise_elu_use_dst_for_bwd : algorithm::eltwise_elu;
  const auto alpha = static_cast<float>(call.number("alpha"));
  const dnnl::eltwise_forward::desc forward(prop_kind::forward_training, kind, data.get_desc(), alpha);
  const dnnl::eltwise_backward::desc desc(kind, diff_dst.get_desc(), data.get_desc(), alpha);
  return {
      dnnl::eltwise_backward({desc, onednn_engine(), {forward, onednn_engine()}}),
      {{is_result ? DNNL_ARG_DST : DNNL_ARG_SRC, data}, {DNNL_ARG_DIFF_DST, diff_dst}, {DNNL_ARG_DIFF_SRC, diff_src}}};
}

[[maybe_unused]] const bool added[] = {
    add_onednn("aclnnElu", [](const Call& call) { return forward(call, "self", "out"); }),
    add_onednn("aclnnInplaceElu", [](const Call& call) { return forward(call, "selfRef", "selfRef"); }),
    add_onednn("aclnnEluBackward", backward),
};

}  // namespace
}  // namespace descend::bench
