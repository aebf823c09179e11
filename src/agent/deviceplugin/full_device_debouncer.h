// Devices on which nothing more fits, and which the kubelet, that counts them by several names, is
// to offer by none. A scheduler that knows of room before the kubelet does would have its pod
// turned away for good: so the node says first that a device is full, and its units go only when
// that was known for a while; they come back before the node says that there is room. Pure.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace divvy::agent {

class FullDeviceDebouncer {
 public:
  // For so long it is full before the node says so: who comes and goes is not written of.
  static constexpr std::uint64_t kStaysMs = 10'000;
  // For so long the node says so before the kubelet is told: who was bound before that has come.
  static constexpr std::uint64_t kKnownMs = 5'000;

  // `full`: UUIDs, now; `said`: those that the node says are. `now_ms`: of a clock that never goes
  // back. Whether said or withdrawn is to be something else than before.
  bool look(const std::set<std::string>& full, const std::set<std::string>& said,
            std::uint64_t now_ms);

  // The node is to say so of these.
  const std::set<std::string>& closed() const { return closed_; }
  // The kubelet is to offer no unit of these: always some of closed().
  const std::set<std::string>& withdrawn() const { return withdrawn_; }

 private:
  std::map<std::string, std::uint64_t> full_since_, said_since_;
  std::set<std::string> closed_, withdrawn_;
};

}  // namespace divvy::agent
