// SPDX-License-Identifier: MIT
// The nearest upsampling as oneDNN computes it, for the benchmarks.
#include "bench/onednn.h"

namespace descend::bench {
namespace {

using dnnl::algorithm, dnnl::prop_kind;

// As (N, C, D, H, W), whatever the format.
dnnl::memory volume(const Call& call, const std::string& name) {
  const dnnl::memory view = onednn_view(call, name);
  if (call.tensor(name).spec().format != ACL_FORMAT_NDHWC) return view;
  return {view.get_desc().permute_axes({0, 2, 3, 4, 1}), onednn_engine(), view.get_data_handle()};
}

// oneDNN takes the nearest centre, we the element at floor(index / factor): the same for whole factors only.
void check_factor(const dnnl::memory& small, const dnnl::memory& large) {
  if (large.get_desc().dims().back() % small.get_desc().dims().back() != 0)
    throw dnnl::error(dnnl_unimplemented, "other elements");
}

dnnl::resampling_forward::primitive_desc forward_plan(const dnnl::memory& src, const dnnl::memory& dst) {
  check_factor(src, dst);
  return {{prop_kind::forward_training, algorithm::resampling_nearest, src.get_desc(), dst.get_desc()},
          onednn_engine()};
}

Prepared forward(const Call& call) {
  const dnnl::memory src = volume(call, "self"), dst = volume(call, "out");
  return {dnnl::resampling_forward(forward_plan(src, dst)), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}};
}

Prepared backward(const Call& call) {
  const dnnl::memory diff_src = volume(call, "gradInput"), diff_dst = volume(call, "gradOut");
  const dnnl::resampling_backward::desc desc(algorithm::resampling_nearest, diff_src.get_desc(), diff_dst.get_desc());
  return {dnnl::resampling_backward({desc, onednn_engine(), forward_plan(diff_src, diff_dst)}),
          {{DNNL_ARG_DIFF_DST, diff_dst}, {DNNL_ARG_DIFF_SRC, diff_src}}};
}

[[maybe_unused]] const bool added[] = {
    add_onednn("aclnnUpsampleNearest3d", forward),
    add_onednn("aclnnUpsampleNearest3dBackward", backward),
};

}  // namespace
}  // namespace descend::bench
