// SPDX-License-Identifier: MIT
// Everything the checker can find, with its number for ever: docs/checker.md has an example of each.
#pragma once
#include <array>
#include <string>
#include <string_view>

namespace descend {

enum class Finding : int {
  kOutside = 101,
  kPadding = 102,
  kHostMemory = 103,
  kFreedMemory = 104,
  kNobodysMemory = 105,
  kOverlap = 106,
  kUninitialised = 107,
  kFreedInUse = 108,
  kDereferenced = 109,
  kUnaligned = 110,
  kCopyKind = 111,
  kFloatsAsHalves = 112,
  kRaceOfStreams = 201,
  kRaceWithHost = 202,
  kRunTwice = 301,
  kNeverRun = 302,
  kDestroyedTwice = 303,
  kObjectAlive = 304,
  kHandleAlive = 305,
  kMemoryAlive = 306,
  kTarget = 401,
  kMeanOfNothing = 402,
  kNotFinite = 403,
  kNoOperator = 501,
  kNoDtype = 502,
  kNoSmoothing = 503,
  kNoZloss = 504,
  kTooLarge = 505,
  kScales = 506,
  kEmpty = 507,
};

struct FindingText {
  Finding finding;
  std::string_view title;   // what it is
  std::string_view why;     // why it is wrong
  std::string_view remedy;  // what to do
};

inline constexpr auto kFindings = std::to_array<FindingText>({
    {Finding::kOutside, "a view reaches outside of its memory",
     "the card reads or writes memory of somebody else, or stops with 507015",
     "allocate (largest offset + 1) * the size of the dtype, or correct shape, strides, offset or dtype"},
    {Finding::kPadding, "memory is used past what was asked for, in the allocation's padding",
     "the padding's contents are undefined, and another version or card may have less of it",
     "ask aclrtMalloc for as many bytes as the view needs; check that the dtype is that of the data"},
    {Finding::kHostMemory, "an address is memory of the host",
     "the card cannot reach it; here it would work only because the device is the host",
     "copy the data to memory from aclrtMalloc and give that address"},
    {Finding::kFreedMemory, "memory is used after it was freed", "it may belong to somebody else by now",
     "free it after the last use, or clear the pointer"},
    {Finding::kNobodysMemory, "an address is nobody's memory", "nothing is mapped there: the card stops with 507015",
     "give an address that aclrtMalloc returned; it must not be changed by arithmetic past the end"},
    {Finding::kOverlap, "an output overlaps an input",
     "elements are written before they are read; Descend copies the input first, a card does not",
     "use another buffer for the output, or exactly the same view as the input"},
    {Finding::kUninitialised, "device memory is read that nothing ever wrote", "aclrtMalloc does not clear memory",
     "copy data to it, or aclrtMemset it, before it is read"},
    {Finding::kFreedInUse, "memory is freed while queued work needs it",
     "aclrtFree does not wait for streams: the work may run after the memory has another owner",
     "synchronise the stream, or an event recorded behind the work, before aclrtFree"},
    {Finding::kDereferenced, "the host reads or writes device memory through its pointer",
     "on a card that address means nothing to the host", "copy with aclrtMemcpy, or use memory from aclrtMallocHost"},
    {Finding::kUnaligned, "a tensor's data address is not a multiple of 32",
     "aclCreateTensor is documented to want it, and some cards read wrong bytes or stop",
     "give the address that aclrtMalloc returned and put the distance into the tensor's offset"},
    {Finding::kCopyKind, "a copy's kind contradicts its addresses",
     "here the addresses decide; a card takes the kind's word", "give the kind that fits, or ACL_MEMCPY_DEFAULT"},
    {Finding::kFloatsAsHalves, "a tensor of 16-bit elements has memory with floats in it",
     "nothing converts them: every float counts as two elements, and half of the memory is never looked at",
     "convert the data to the tensor's dtype, 2 bytes an element, before the copy, or make it a tensor of ACL_FLOAT"},
    {Finding::kRaceOfStreams, "two streams touch the same memory and nothing orders them",
     "one writes, and either may be first: the result depends on luck",
     "record an event behind the first and let the second stream wait for it, or use one stream"},
    {Finding::kRaceWithHost, "the host copies memory that a stream may still be using",
     "aclrtMemcpy and aclrtMemset do not wait for streams",
     "synchronise the stream (or an event behind its work) first, or copy with aclrtMemcpyAsync in that stream"},
    {Finding::kRunTwice, "an executor is run a second time", "phase two used it up: it is gone",
     "call phase one again, or aclSetAclOpExecutorRepeatable before the first run"},
    {Finding::kNeverRun, "an executor was made and never run",
     "phase one without phase two computes nothing, and leaks", "call phase two, or do not call phase one"},
    {Finding::kDestroyedTwice, "an executor is destroyed that is gone already",
     "phase two used it up, or it was destroyed before",
     "destroy only executors that aclSetAclOpExecutorRepeatable was called on, once"},
    {Finding::kObjectAlive, "objects of aclnn are still alive at the end", "each leaks host memory",
     "call the aclDestroy function of the object after the last call that uses it"},
    {Finding::kHandleAlive, "streams, events or contexts are still alive at the end",
     "a card has a limited number of them", "destroy them before aclrtResetDevice"},
    {Finding::kMemoryAlive, "memory is still allocated at the end", "nobody else on the card can use it",
     "aclrtFree or aclrtFreeHost it before aclrtResetDevice"},
    {Finding::kTarget, "a target is no class and not ignoreIndex",
     "here it counts for nothing; a card may read or write outside of its memory",
     "correct the labels, or give ignoreIndex their value"},
    {Finding::kMeanOfNothing, "a mean of nothing", "0 is divided by 0: the result is NaN",
     "skip batches without a label that counts, or use the reduction \"sum\""},
    {Finding::kNotFinite, "a NaN or infinity appears in a result whose inputs have none",
     "what is computed from it later is of no use",
     "look at the ranges: FLOAT16 ends at 65504; scale the values, or use BF16 or FLOAT; "
     "the weights of a mean must not add up to 0"},
    {Finding::kNoOperator, "the product does not have the operator", "its page says no for the product",
     "choose another product with DESCEND_SOC, or another operator"},
    {Finding::kNoDtype, "the product does not have the dtype", "the operator's page does not list it for the product",
     "convert the tensor, or choose another product with DESCEND_SOC"},
    {Finding::kNoSmoothing, "label smoothing is not supported by the card",
     "the page supports labelSmoothing 0 only; Descend computes the documented formula", "give 0"},
    {Finding::kNoZloss, "the z-loss is not supported by the card", "the page says that these parameters have no effect",
     "give null tensors and 0"},
    {Finding::kTooLarge, "a size is over the page's limits", "the card refuses it or computes something else",
     "split the tensor"},
    {Finding::kScales, "sizes and scales disagree", "the page demands outputSize = floor(inputSize * scale)",
     "give the scale the sizes were made with, or 0 for all three"},
    {Finding::kEmpty, "a tensor is empty where the page does not allow it", "the card refuses it",
     "skip the call when there is nothing to compute"},
});

// "DSC-101".
std::string id_of(Finding finding);
const FindingText& text_of(Finding finding);

}  // namespace descend
