// SPDX-License-Identifier: MIT
// CUDA's runtime without a card: what src/backends/cuda calls of it, for two cards whose memory is the host's
// (emulated_memory.cc).  A stream is a thread that does one thing after the other.  Where CUDA leaves a choice it is
// made so that mistakes show: freed memory is written over as soon as it is free, a copy reads pinned memory only when
// it runs, and one to pageable memory returns when it is done.  What CUDA forbids is refused: events and kernels on a
// stream of another card than theirs.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "tests/plugin/emulated_machine.h"

namespace descend::emulated {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

// As CUDA's own, which ends with the process.
std::atomic<bool> is_unloading{false};
const struct Unload {
  ~Unload() { is_unloading = true; }
} unload;

// Read when the plug-in is loaded: later a test may set variables while a stream works.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
const std::string& refused = *new std::string(variable("DESCEND_EMULATED_REFUSES"));
const unsigned order = static_cast<unsigned>(std::atoi(variable("DESCEND_EMULATED_ORDER").c_str()));

// Whether this is what the card has not to give, the first time that it is asked for it.
bool refuses(const std::string& what) { return refused == what && !std::exchange(machine().has_refused, true); }

void end(cudaStream_t stream) {
  std::erase(machine().streams, stream);
  delete stream;
}

void run_stream(cudaStream_t stream) {
  Machine& m = machine();
  Lock lock(m.mutex);
  while (!stream->work.empty()) {
    Work next = std::move(stream->work.front());
    stream->work.pop_front();
    cudaError_t& failure = m.failure[stream->card];
    if (failure == cudaSuccess || next.always) {
      lock.unlock();
      const cudaError_t error = next.run();
      next.run = nullptr;
      lock.lock();
      if (failure == cudaSuccess) failure = error;
    }
    ++stream->done;
    m.changed.notify_all();
  }
  stream->has_thread = false;
  if (stream->is_ending) end(stream);
}

}  // namespace

thread_local int current_card = 0;

Machine& machine() {
  static Machine& one = *new Machine;
  return one;
}

cudaError_t answer(cudaError_t error, int card) {
  if (is_unloading) return cudaErrorCudartUnloading;
  if (error == cudaErrorNotReady) return error;  // no error, and not kept
  if (error == cudaSuccess) error = machine().failure[card];
  if (error != cudaSuccess) last_error = error;
  return error;
}

void queue(cudaStream_t stream, std::function<cudaError_t()> run, bool always) {
  stream->work.push_back({std::move(run), always});
  ++stream->begun;
  if (!std::exchange(stream->has_thread, true)) std::thread(run_stream, stream).detach();
}
void wait_for(Lock& lock, cudaStream_t stream) {
  machine().changed.wait(lock, [stream, until = stream->begun] { return stream->done >= until; });
}

unsigned chosen_order() { return order; }
int shared_memory_of_block() { return chosen_order() == 1 ? 99 << 10 : kMostSharedMemory; }  // smaller cards have less

cudaError_t launch(cudaStream_t stream, std::function<cudaError_t()> kernel) {
  const Lock lock(machine().mutex);
  if (stream->card == current_card)
    queue(stream, std::move(kernel));
  else
    answer(cudaErrorInvalidResourceHandle);
  // As after <<<>>>: also what an earlier call failed with, if nobody has asked.
  answer(cudaSuccess, stream->card);
  return std::exchange(last_error, cudaSuccess);
}

}  // namespace descend::emulated

using namespace descend::emulated;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kCards;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "a card in threads");
  properties->totalGlobalMem = kMemory;
  properties->multiProcessorCount = 4;
  properties->sharedMemPerBlockOptin = static_cast<size_t>(shared_memory_of_block());
  properties->major = 8;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaSetDevice(int card) {
  const Lock lock(machine().mutex);
  if (refuses("device")) return answer(cudaErrorMemoryAllocation);
  if (card < 0 || card >= kCards) return cudaErrorInvalidDevice;
  current_card = card;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  const Lock lock(machine().mutex);
  return std::exchange(last_error, machine().failure[current_card]);
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorCudartUnloading:
      return "driver shutting down";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    default:
      return "another error";
  }
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(machine().mutex);
  if (refuses("stream")) return answer(cudaErrorMemoryAllocation);
  *stream = new CUstream_st{.card = current_card};
  machine().streams.push_back(*stream);
  return answer(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {  // ends when its work is done
  const Lock lock(machine().mutex);
  const int card = stream->card;
  stream->is_ending = true;
  if (!stream->has_thread) end(stream);
  return answer(cudaSuccess, card);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(machine().mutex);
  return answer(stream->done == stream->begun ? cudaSuccess : cudaErrorNotReady, stream->card);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Lock lock(machine().mutex);
  wait_for(lock, stream);
  return answer(cudaSuccess, stream->card);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(machine().mutex);
  if (event->point == nullptr) return answer(cudaSuccess, stream->card);
  const auto wait = [point = event->point] {
    Lock again(machine().mutex);
    machine().changed.wait(again, [&] { return point->is_reached; });
    return cudaSuccess;
  };
  queue(stream, wait, true);
  return answer(cudaSuccess, stream->card);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Lock lock(machine().mutex);
  *event = new CUevent_st{.card = current_card, .point = nullptr};
  return answer(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::this_thread::sleep_for(std::chrono::microseconds(100));  // so that what must not happen meanwhile can
  static int records = 0;
  const Lock lock(machine().mutex);
  if (refuses("record " + std::to_string(++records))) return answer(cudaErrorMemoryAllocation, stream->card);
  if (event->card != stream->card) return answer(cudaErrorInvalidResourceHandle, stream->card);
  event->point = std::make_shared<Point>();
  const auto reach = [point = event->point] {
    const Lock again(machine().mutex);
    point->time = Clock::now();
    point->is_reached = true;
    return cudaSuccess;
  };
  queue(stream, reach, true);
  return answer(cudaSuccess, stream->card);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(machine().mutex);
  return answer(event->point == nullptr || event->point->is_reached ? cudaSuccess : cudaErrorNotReady, event->card);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Lock lock(machine().mutex);
  if (const auto point = event->point) machine().changed.wait(lock, [&] { return point->is_reached; });
  return answer(cudaSuccess, event->card);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Lock lock(machine().mutex);
  if (from->card != to->card || from->point == nullptr || to->point == nullptr)
    return answer(cudaErrorInvalidResourceHandle);
  if (!from->point->is_reached || !to->point->is_reached) return answer(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to->point->time - from->point->time).count();
  return answer(cudaSuccess);
}
