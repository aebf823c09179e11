// Devices that are full. The kubelet counts a device under several resources and must offer a full
// device under none.
// A scheduler that knew of room before the kubelet would have its pod rejected for good. So the
// node publishes first that a device is full. The device's IDs are withdrawn only after that was
// public for a while, and are offered again before the node publishes that there is room. Pure.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace divvy::agent {

class FullDeviceDebouncer {
 public:
  // How long a device is full before the node publishes it: short changes are not written.
  static constexpr std::uint64_t kStaysMs = 10'000;
  // How long the node publishes it before the kubelet learns of it: a pod that was bound earlier
  // has arrived by then.
  static constexpr std::uint64_t kKnownMs = 5'000;

  // `full`: UUIDs of full devices; `said`: UUIDs that the node publishes as full; `now_ms`: of a
  // monotonic clock. Returns true if closed() or withdrawn() changed.
  bool update(const std::set<std::string>& full, const std::set<std::string>& said,
              std::uint64_t now_ms);

  // Devices that the node shall publish as full.
  const std::set<std::string>& closed() const { return closed_; }
  // Devices of which the kubelet shall offer no ID: a subset of closed().
  const std::set<std::string>& withdrawn() const { return withdrawn_; }

 private:
  std::map<std::string, std::uint64_t> full_since_, said_since_;
  std::set<std::string> closed_, withdrawn_;
};

}  // namespace divvy::agent
