// A card's place in the machine: NUMA node, links to other cards, distance to RDMA NICs. Fixed
// facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divvy::agent {

// A link to another card that is better than a path through the host.
struct PeerLink {
  std::string uuid;
  std::uint32_t score = 0;  // higher is better
  bool direct = false;      // NVLink; else through PCIe switches
  friend bool operator==(const PeerLink&, const PeerLink&) = default;
};

struct NicDistance {
  std::string name;
  std::uint32_t distance = 0;  // lower is nearer
  friend bool operator==(const NicDistance&, const NicDistance&) = default;
};

struct DeviceLocality {
  std::optional<unsigned> numa;   // nothing: unknown
  std::vector<PeerLink> ways;     // to all linked cards; both cards of a pair list the link
  std::vector<NicDistance> nics;  // all NICs of the machine, in the same set for each card
  friend bool operator==(const DeviceLocality&, const DeviceLocality&) = default;
};

}  // namespace divvy::agent
