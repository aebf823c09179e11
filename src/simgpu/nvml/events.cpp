// Event sets, which report injected Xid and ECC errors.
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "nvml/machine.h"

namespace divvy::simgpu {
namespace {

constexpr int kPollMs = 10;  // interval at which a waiter reads the cards' event rings
constexpr unsigned long long kSupported =
    nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeXidCriticalError;

struct EventWatch {
  NvmlCard* card;  // or an instance; its card reports the events
  unsigned long long types;
  std::uint64_t seen;  // events with a sequence up to this were delivered or are from before
};

struct EventSet {
  std::mutex mutex;
  std::vector<EventWatch> watches;
};

class EventSets {
 public:
  static EventSets& get() {
    static EventSets& sets = *new EventSets;
    return sets;
  }
  std::shared_ptr<EventSet> find(nvmlEventSet_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = sets_.find(handle);
    return it == sets_.end() ? nullptr : it->second;
  }
  nvmlEventSet_t add() {
    const std::lock_guard lock(mutex_);
    auto set = std::make_shared<EventSet>();
    auto* handle = reinterpret_cast<nvmlEventSet_t>(set.get());
    sets_[handle] = std::move(set);
    return handle;
  }
  bool remove(nvmlEventSet_t handle) {
    const std::lock_guard lock(mutex_);
    return sets_.erase(handle) > 0;
  }

 private:
  std::mutex mutex_;
  std::map<nvmlEventSet_t, std::shared_ptr<EventSet>> sets_;
};

std::uint64_t newest(NvmlCard& card) {
  Card* shared = card.sharedCard();
  if (shared == nullptr) return 0;
  const CardLock lock(*shared);
  std::uint64_t sequence = 0;
  for (const CardEvent& event : shared->file().events)
    sequence = std::max(sequence, event.sequence);
  return sequence;
}

// The oldest event that a watch has not seen; false when there is none.
bool nextEvent(EventWatch& watch, nvmlEventData_t* out) {
  Card* shared = watch.card->sharedCard();
  if (shared == nullptr) return false;
  const CardLock lock(*shared);
  const CardEvent* next = nullptr;
  for (const CardEvent& event : shared->file().events) {
    if (event.sequence <= watch.seen || (event.type & watch.types) == 0) continue;
    if (next == nullptr || event.sequence < next->sequence) next = &event;
  }
  if (next == nullptr) return false;
  watch.seen = next->sequence;
  NvmlCard* const whole = watch.card->whole();
  *out = {.device = whole == nullptr ? watch.card->handle() : whole->handle(),
          .eventType = next->type,
          .eventData = next->data,
          .gpuInstanceId = whole == nullptr ? 0xffffffff : watch.card->instanceId(),
          .computeInstanceId = whole == nullptr ? 0xffffffff : 0};
  return true;
}

std::uint64_t nowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

}  // namespace

SIMGPU_IMPL(nvmlEventSetCreate)(nvmlEventSet_t* set) {
  return withNvml([&](NvmlMachine&) {
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *set = EventSets::get().add();
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlEventSetFree)(nvmlEventSet_t set) {
  return withNvml([&](NvmlMachine&) {
    return EventSets::get().remove(set) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  });
}

SIMGPU_IMPL(nvmlDeviceGetSupportedEventTypes)(nvmlDevice_t device, unsigned long long* types) {
  return answer(device, types, [](NvmlCard& card) {
    return card.profile().ecc ? kSupported : nvmlEventTypeXidCriticalError;
  });
}

SIMGPU_IMPL(nvmlDeviceRegisterEvents)
(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t handle) {
  return withCard(device, [&](NvmlCard& card) {
    const auto set = EventSets::get().find(handle);
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if ((types & ~kSupported) != 0) return NVML_ERROR_NOT_SUPPORTED;
    if (card.whole() != nullptr) return NVML_ERROR_NOT_SUPPORTED;
    const std::lock_guard lock(set->mutex);
    for (const auto& part : card.parts())
      set->watches.push_back({part.get(), types, newest(*part)});
    if (!card.partitioned()) set->watches.push_back({&card, types, newest(card)});
    return NVML_SUCCESS;
  });
}

SIMGPU_IMPL(nvmlEventSetWait_v2)
(nvmlEventSet_t handle, nvmlEventData_t* data, unsigned int timeout_ms) {
  return withNvml([&](NvmlMachine&) {
    const auto set = EventSets::get().find(handle);
    if (set == nullptr || data == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const std::uint64_t until = nowMs() + timeout_ms;
    for (;;) {
      {
        const std::lock_guard lock(set->mutex);
        for (EventWatch& watch : set->watches) {
          if (nextEvent(watch, data)) return NVML_SUCCESS;
        }
      }
      if (nowMs() >= until) return NVML_ERROR_TIMEOUT;
      poll(nullptr, 0, kPollMs);
    }
  });
}
SIMGPU_IMPL(nvmlEventSetWait)
(nvmlEventSet_t handle, nvmlEventData_t* data, unsigned int timeout_ms) {
  return sim_nvmlEventSetWait_v2(handle, data, timeout_ms);
}

}  // namespace divvy::simgpu
