// Refusals of thousands of nodes at once, without the amounts of each device: so many nodes share
// few different refusals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/refusal.h"

namespace divvy::engine {

struct CompactRefusal {
  NodeName node;
  NodeWhy why = NodeWhy::kCordoned;
  std::size_t container = 0;  // as in NodeRefusal
  std::uint64_t needed = 0;   // devices; 0 where the reason is not about a number of devices
  DeviceKind kind = {};       // of kDevices: the kind of which too few fit
  // Of kDevices: the most frequent reason among devices of the kind, among equals the reason that
  // is checked last. kKind: there is no device of the kind.
  DeviceWhy most = DeviceWhy::kKind;
  friend bool operator==(const CompactRefusal&, const CompactRefusal&) = default;
};

// Refusals of nodes; thousands of nodes share few different ones.
struct CompactRefusals {
  static constexpr std::uint32_t kNone = UINT32_MAX;    // the node fits
  static constexpr std::uint32_t kUnknown = kNone - 1;  // there is no such node
  std::vector<CompactRefusal> different;                // their `node` is empty
  std::vector<std::uint32_t> of;  // by the given names: index in `different`, or kNone, kUnknown
};

// For display: "too little device memory free (2 devices wanted by container train)". An empty
// container name is left out. Refusals with equal text differ at most in their nodes.
std::string text(const CompactRefusal& brief, const std::string& container);

}  // namespace divvy::engine
