// Where a card is: at which NUMA node, by which ways to other cards, how near to which RDMA NIC.
// Fixed facts of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divvy::agent {

// To another card, better than through the host.
struct CardWay {
  std::string uuid;
  std::uint32_t score = 0;  // more is better
  bool direct = false;      // NVLink; else by switches of the PCIe bus
  friend bool operator==(const CardWay&, const CardWay&) = default;
};

struct NicWay {
  std::string name;
  std::uint32_t distance = 0;  // less is nearer
  friend bool operator==(const NicWay&, const NicWay&) = default;
};

struct CardPlace {
  std::optional<unsigned> numa;  // none: nobody says
  std::vector<CardWay> ways;     // to all that have one; both cards of a pair tell of it
  std::vector<NicWay> nics;      // all that the machine has, the same of each card
  friend bool operator==(const CardPlace&, const CardPlace&) = default;
};

}  // namespace divvy::agent
