// The channel groups of this process: the kernel module's unit of scheduling, one or a few for each
// context.
#pragma once

#include <atomic>
#include <cstdint>

namespace divvy::interposer {

struct ChannelGroup {
  int fd = -1;  // of the device file by which it was created
  std::uint32_t client = 0;
  std::uint32_t object = 0;
};

// A table without locks. Groups beyond its capacity are not recorded.
class ChannelGroups {
 public:
  static constexpr unsigned kCapacity = 512;

  // Returns whether the group was recorded, at the lowest free number.
  bool add(const ChannelGroup& group) {
    for (Entry& entry : entries_) {
      std::uint32_t expected = kFree;
      if (!entry.state.compare_exchange_strong(expected, kBusy, std::memory_order_acquire))
        continue;
      entry.fd.store(group.fd, std::memory_order_relaxed);
      entry.names.store(namesOf(group.client, group.object), std::memory_order_relaxed);
      entry.tries.store(0, std::memory_order_relaxed);
      entry.state.store(kLive, std::memory_order_release);
      return true;
    }
    return false;
  }

  // Removes a group. Object 0, or the client itself: removes all groups of the client.
  void remove(std::uint32_t client, std::uint32_t object) {
    const bool all = object == 0 || object == client;
    for (Entry& entry : entries_) {
      if (entry.state.load(std::memory_order_acquire) != kLive) continue;
      const std::uint64_t names = entry.names.load(std::memory_order_relaxed);
      if (names != namesOf(client, object) && !(all && names >> 32 == client)) continue;
      std::uint32_t expected = kLive;
      entry.state.compare_exchange_strong(expected, kFree, std::memory_order_relaxed);
    }
  }

  unsigned count() const {
    unsigned live = 0;
    for (const Entry& entry : entries_)
      live += entry.state.load(std::memory_order_relaxed) == kLive;
    return live;
  }

  // Returns false if no group has this number.
  bool get(unsigned number, ChannelGroup* out) const {
    if (number >= kCapacity) return false;
    const Entry& entry = entries_[number];
    if (entry.state.load(std::memory_order_acquire) != kLive) return false;
    const std::uint64_t names = entry.names.load(std::memory_order_relaxed);
    *out = {entry.fd.load(std::memory_order_relaxed), static_cast<std::uint32_t>(names >> 32),
            static_cast<std::uint32_t>(names)};
    return true;
  }

  // Returns the group's number; kCapacity if it is not recorded.
  unsigned find(std::uint32_t client, std::uint32_t object) const {
    for (unsigned i = 0; i < kCapacity; ++i) {
      const Entry& entry = entries_[i];
      if (entry.state.load(std::memory_order_acquire) == kLive &&
          entry.names.load(std::memory_order_relaxed) == namesOf(client, object))
        return i;
    }
    return kCapacity;
  }

  // Counts how often a group refused a time slice; kDone: the group accepted it.
  static constexpr std::uint32_t kDone = UINT32_MAX;
  std::atomic<std::uint32_t>& tries(unsigned number) { return entries_[number].tries; }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kBusy = 1;
  static constexpr std::uint32_t kLive = 2;
  struct Entry {
    std::atomic<std::uint32_t> state;
    std::atomic<std::int32_t> fd;
    std::atomic<std::uint64_t> names;
    std::atomic<std::uint32_t> tries;
  };

  static std::uint64_t namesOf(std::uint32_t client, std::uint32_t object) {
    return std::uint64_t{client} << 32 | object;
  }

  Entry entries_[kCapacity];
};

}  // namespace divvy::interposer
