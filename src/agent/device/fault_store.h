// What an agent knows of cards' faults, for the next one: drivers tell of new ones only, and only
// who listens. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "driver/nvml.h"

namespace divvy::agent {

struct KnownFault {
  std::uint64_t xid = 0;
  std::uint64_t since_ms = 0;  // of CLOCK_MONOTONIC
  // Of one that no agent heard: between when it happened, since 1970. `from_s` is 0 where nobody
  // knows when an agent looked last; `until_s` is 0 where one heard it.
  std::int64_t from_s = 0;
  std::int64_t until_s = 0;

  friend bool operator==(const KnownFault&, const KnownFault&) = default;
};

// By UUID.
using KnownFaults = std::map<std::string, KnownFault>;
using KnownErrors = std::map<std::string, driver::MemoryErrors>;

struct PersistedDeviceState {
  KnownFaults faults;  // of since the machine was started last
  KnownErrors errors;  // as the driver told of them last
  std::string driver;  // the version of that driver
  bool this_boot = true;
  // What of the file could not be understood; empty: all could. What could is above.
  std::string damage;

  // Whether a card has, or had, errors.
  bool any() const;
};

// Nothing is known where there is no file.
PersistedDeviceState loadKnown(const std::string& path);
// Best effort: the file is replaced whole or not at all. Where nothing is known it goes.
void saveKnown(const std::string& path, const PersistedDeviceState& known);
// Whether it is worth writing: how long a card was quiet may be forgotten by half a minute.
bool differ(const PersistedDeviceState& saved, const PersistedDeviceState& now);

// When an agent looked last, by the later of these files (os/heartbeat_file.h); since 1970. 0: it
// is not known, or of the future.
std::int64_t lastLook(const std::string& faults, const std::string& watch_mark);
// "between 2026-11-27T06:58:12Z and 2026-11-27T07:15:12Z", "before 2026-...".
std::string spanWords(std::int64_t from_s, std::int64_t until_s);

}  // namespace divvy::agent
