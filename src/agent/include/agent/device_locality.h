// Where a card is: at which NUMA node, by which ways to other cards, how near to which RDMA NIC.
// Fixed facts of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divvy::agent {

// To another card, better than through the host.
struct PeerLink {
  std::string uuid;
  std::uint32_t score = 0;  // more is better
  bool direct = false;      // NVLink; else by switches of the PCIe bus
  friend bool operator==(const PeerLink&, const PeerLink&) = default;
};

struct NicDistance {
  std::string name;
  std::uint32_t distance = 0;  // less is nearer
  friend bool operator==(const NicDistance&, const NicDistance&) = default;
};

struct DeviceLocality {
  std::optional<unsigned> numa;   // none: nobody says
  std::vector<PeerLink> ways;     // to all that have one; both cards of a pair tell of it
  std::vector<NicDistance> nics;  // all that the machine has, the same of each card
  friend bool operator==(const DeviceLocality&, const DeviceLocality&) = default;
};

}  // namespace divvy::agent
