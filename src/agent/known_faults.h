// Faults of cards that an agent has heard of, for the next one: drivers tell of new ones only.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace divvy::agent {

struct KnownFault {
  std::uint64_t xid = 0;
  std::uint64_t since_ms = 0;  // of CLOCK_MONOTONIC

  friend bool operator==(const KnownFault&, const KnownFault&) = default;
};

// By UUID.
using KnownFaults = std::map<std::string, KnownFault>;

// Empty when the file says nothing usable, or is of before the machine was started last.
KnownFaults loadFaults(const std::string& path);
// Best effort: the file is replaced whole or not at all. Where there are none it goes.
void saveFaults(const std::string& path, const KnownFaults& faults);
// Whether it is worth writing: how long a card was quiet may be forgotten by half a minute.
bool differ(const KnownFaults& saved, const KnownFaults& now);

}  // namespace divvy::agent
