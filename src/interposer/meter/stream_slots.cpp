#include "meter/stream_slots.h"

#include "cuda/capture_scope.h"
#include "support/syscalls.h"

namespace divvy::interposer {

__attribute__((noinline)) StreamSlot& StreamSlots::otherSlot(ThreadStreams& thread,
                                                             const CallWork& work,
                                                             std::uint64_t name,
                                                             std::uint64_t stamp) {
  for (StreamSlot& slot : thread.slots) {
    if (slot.name != name || slot.stamp != stamp) continue;
    thread.last = &slot;
    return slot;
  }
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  StreamSlot* const end = thread.slots + ThreadStreams::kSlots;
  const bool again = thread.last != nullptr && thread.last->stamp == 0;
  const bool starts = thread.last == nullptr || thread.last + 1 == end;
  StreamSlot& slot = again ? *thread.last : starts ? thread.slots[0] : thread.last[1];
  thread.last = &slot;
  if (slot.launches != 0) flush(slot, sys::now());
  slot.name = name;
  slot.stamp = stamp;
  open(slot, work);
  return slot;
}

void StreamSlots::open(StreamSlot& slot, const CallWork& work) {
  const RelaxedCapture relaxed;
  time_.read();
  const StreamTracker::Opened opened = tracker_.open(work);
  slot.record = opened.record;
  slot.device = opened.device;
  usage_.use(slot.device);
  if (slot.record == nullptr) {
    // The next launch tries again: the thread that holds the tracker may have lost its processor.
    if (opened.busy) slot.stamp = 0;
    return;
  }
  slot.generation = slot.record->generation.load(std::memory_order_relaxed);
  marks_.watchOlder(*slot.record->context);
}

void StreamSlots::flush(StreamSlot& slot, std::uint64_t now) {
  StreamRecord* record = slot.record;
  DeviceUsage& device = usage_.device(slot.device);
  if (record == nullptr || record->gone.load(std::memory_order_relaxed) ||
      record->generation.load(std::memory_order_relaxed) != slot.generation) {
    if (record != nullptr) slot.stamp = 0;
    device.launchLoose(slot.launches, slot.sum, now);
  } else {
    const std::uint32_t before = record->launches.load(std::memory_order_relaxed);
    if (before == 0) {
      record->alike.store(slot.alike, std::memory_order_relaxed);
    } else if (record->alike.load(std::memory_order_relaxed) != slot.alike) {
      record->alike.store(nullptr, std::memory_order_relaxed);
    }
    record->sum.fetch_add(slot.sum, std::memory_order_relaxed);
    record->due.store(device.launch(slot.sum, now), std::memory_order_relaxed);
    record->launches.fetch_add(slot.launches, std::memory_order_release);
  }
  slot.sum = 0;
  slot.launches = 0;
}

void StreamSlots::takeBack(const StreamSlot& slot, std::uint64_t estimate) {
  DeviceUsage& device = usage_.device(slot.device);
  StreamRecord* record = slot.record;
  if (record == nullptr) {
    device.takeBack(device.takeBackLoose(estimate));
  } else {
    takeFrom(record->launches, 1u);
    device.takeBack(takeFrom(record->sum, estimate));
  }
}

}  // namespace divvy::interposer
