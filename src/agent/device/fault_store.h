// Known device faults, stored for the next agent: drivers report new faults only, and only to
// listeners. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "driver/nvml.h"

namespace divvy::agent {

struct KnownFault {
  std::uint64_t xid = 0;
  std::uint64_t since_ms = 0;  // CLOCK_MONOTONIC
  // The span in which a fault without an event occurred, in seconds since 1970. `from_s` 0: the
  // last look of an agent is unknown. `until_s` 0: an event reported the fault.
  std::int64_t from_s = 0;
  std::int64_t until_s = 0;

  friend bool operator==(const KnownFault&, const KnownFault&) = default;
};

// By UUID.
using KnownFaults = std::map<std::string, KnownFault>;
using KnownErrors = std::map<std::string, driver::MemoryErrors>;

struct PersistedDeviceState {
  KnownFaults faults;  // since the machine's last boot
  KnownErrors errors;  // the driver's last counts
  std::string driver;  // version of that driver
  bool this_boot = true;
  // Why the file is damaged; empty: it is not. The valid part is in the members above.
  std::string damage;

  // Whether a card has faults or errors.
  bool any() const;
};

// Empty state if there is no file.
PersistedDeviceState loadKnown(const std::string& path);
// Best effort: replaces the file atomically. Removes it if the state is empty.
void saveKnown(const std::string& path, const PersistedDeviceState& known);
// Whether `now` must be written. A difference of less than 30 s in a fault's time is ignored.
bool differ(const PersistedDeviceState& saved, const PersistedDeviceState& now);

// The last look of an agent: the later change of the two files (os/heartbeat_file.h), in seconds
// since 1970. 0: unknown, or in the future.
std::int64_t lastLook(const std::string& faults, const std::string& watch_mark);
// "between 2026-11-27T06:58:12Z and 2026-11-27T07:15:12Z", "before 2026-...".
std::string spanWords(std::int64_t from_s, std::int64_t until_s);

}  // namespace divvy::agent
