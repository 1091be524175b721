// SPDX-License-Identifier: MIT
// Choosing the devices of this process.
#include "src/device/backends.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

#include "src/base/environment.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/device/plugin.h"

namespace descend {
namespace {

// The backends of this library, by name.  Complete once the library is loaded.
std::vector<Backend*>& built_in() {
  static auto& backends = *new std::vector<Backend*>;
  return backends;
}

struct Choice {
  const Environment* from;
  VisibleDevices devices;
};

struct Choices {
  std::mutex mutex;
  std::deque<Choice> all;  // references handed out stay good
  std::atomic<const Choice*> current{nullptr};
};
std::atomic<Choices*> the_choices{nullptr};

// In the child of a fork that happened while another thread was choosing: that thread is not there to finish.
void begin_anew_if_unfinished() {
  if (!the_choices.load()->mutex.try_lock())
    the_choices.store(new Choices);
  else
    the_choices.load()->mutex.unlock();
}

Choices& choices() {
  static const bool made = [] {
    the_choices.store(new Choices);
    return pthread_atfork(nullptr, nullptr, begin_anew_if_unfinished) == 0;
  }();
  (void)made;
  return *the_choices.load(std::memory_order_acquire);
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// A name becomes part of a file's name, so it may not be a path.
bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string what_there_is() {
  std::string text = "auto";
  for (const Backend* backend : built_in()) text += cat(", ", backend->name());
  return text + ", or NAME or NAME:INDEX for a plug-in libdescend_NAME.so";
}

void add_all(Backend& backend, std::vector<DeviceEntry>& to) {
  for (int i = 0; i < backend.device_count(); ++i) to.push_back({&backend, &backend.device(i), i});
}

Backend* find_built_in(std::string_view name) {
  for (Backend* backend : built_in()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

// Without being asked for by name, a plug-in that is missing or does not want to is no failure.
void choose_automatically(std::vector<DeviceEntry>& to) {
  const LoadedPlugin cuda = load_plugin("cuda");
  if (cuda.backend != nullptr) add_all(*cuda.backend, to);
  if (!to.empty()) return;
  if (log_enabled(LogLevel::kInfo))
    log(LogLevel::kInfo, cat("no cuda devices: ", cuda.backend != nullptr ? "the plug-in has none" : cuda.why_not));
  add_all(*find_built_in("cpu"), to);
}

Status choose_by_name(std::string_view wanted, std::vector<DeviceEntry>& to) {
  const size_t colon = wanted.find(':');
  const std::string_view name = wanted.substr(0, colon);
  const auto failed = [&](const std::string& why) {
    return Status(Code::kInvalidDeviceId,
                  cat("DESCEND_DEVICE must name a device that is there; it is '", wanted, "': ", why),
                  cat("Set DESCEND_DEVICE to one of: ", what_there_is(), "."));
  };
  if (!is_name(name)) return failed("a name has small letters, digits and underscores");
  Backend* backend = find_built_in(name);
  if (backend == nullptr) {
    LoadedPlugin plugin = load_plugin(name);
    if (plugin.backend == nullptr) return failed(plugin.why_not);
    backend = plugin.backend;
  }
  const int count = backend->device_count();
  if (count == 0) return failed(cat("the backend ", name, " has no device"));
  if (colon == std::string_view::npos) {
    add_all(*backend, to);
    return {};
  }
  const std::optional<int> index = whole_number(wanted.substr(colon + 1));
  if (!index || *index >= count) return failed(cat("the index must be from 0 to ", count - 1));
  to.push_back({backend, &backend->device(*index), *index});
  return {};
}

// ASCEND_RT_VISIBLE_DEVICES: indices among the chosen devices, in the order the program shall see them.  As with
// CUDA_VISIBLE_DEVICES, the first entry that is no index of a device, or names one a second time, ends the list.
std::vector<DeviceEntry> select(const std::vector<DeviceEntry>& from, std::string_view indices) {
  std::vector<DeviceEntry> selected;
  std::vector<bool> taken(from.size(), false);
  while (!indices.empty()) {
    const size_t comma = std::min(indices.find(','), indices.size());
    std::string_view word = indices.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    const std::optional<int> index = whole_number(word);
    if (!index || static_cast<size_t>(*index) >= from.size() || taken[*index]) {
      log(LogLevel::kWarning,
          cat("ASCEND_RT_VISIBLE_DEVICES ends at '", word, "': it is not the index of a further device"));
      break;
    }
    taken[*index] = true;
    selected.push_back(from[*index]);
    indices.remove_prefix(std::min(comma + 1, indices.size()));
  }
  return selected;
}

VisibleDevices choose(const Environment& from) {
  VisibleDevices devices;
  if (from.device == "auto") {
    choose_automatically(devices.entries);
  } else {
    devices.status = choose_by_name(from.device, devices.entries);
  }
  if (from.visible_devices_set) devices.entries = select(devices.entries, from.visible_devices);
  return devices;
}

bool same(const VisibleDevices& a, const VisibleDevices& b) {
  const auto equal = [](const DeviceEntry& x, const DeviceEntry& y) { return x.device == y.device; };
  return a.status.code() == b.status.code() && a.status.message() == b.status.message() &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), equal);
}

const Choice& choose_now(bool again) {
  Choices& c = choices();
  const std::lock_guard lock(c.mutex);
  const Environment& now = environment();
  if (!again) {
    const Choice* current = c.current.load(std::memory_order_acquire);
    if (current != nullptr && current->from == &now) return *current;
  }
  VisibleDevices devices = choose(now);
  const Choice* found = nullptr;
  for (const Choice& choice : c.all) {
    if (choice.from == &now && same(choice.devices, devices)) found = &choice;
  }
  if (found == nullptr) found = &c.all.emplace_back(Choice{&now, std::move(devices)});
  c.current.store(found, std::memory_order_release);
  return *found;
}

}  // namespace

const VisibleDevices& visible_devices() {
  const Choice* choice = choices().current.load(std::memory_order_acquire);
  if (choice == nullptr || choice->from != &environment()) [[unlikely]]
    choice = &choose_now(false);
  return choice->devices;
}

void choose_devices_again() { choose_now(true); }

bool add_backend(Backend* backend) {
  std::vector<Backend*>& backends = built_in();
  backends.push_back(backend);
  std::sort(backends.begin(), backends.end(), [](const Backend* a, const Backend* b) { return a->name() < b->name(); });
  return true;
}

}  // namespace descend
