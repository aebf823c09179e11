// Where the cards of a machine are: to each other, to its NUMA nodes and to its RDMA NICs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/nvml.h"

namespace divvy::driver {

// What lies between two devices of the PCI bus; a later one is further.
enum class PciWay : std::uint8_t {
  kSame,        // one board
  kSwitch,      // one switch
  kSwitches,    // several of them
  kHostBridge,  // the host's bridge
  kNode,        // bridges of one NUMA node
  kSystem,      // more than one NUMA node
};

// Numbers of cards are places in the list that was asked about.
struct CardPair {
  unsigned a = 0;
  unsigned b = 0;        // more than a
  unsigned nvlinks = 0;  // between them, by a switch too
  PciWay way = PciWay::kSystem;
  bool peers = true;    // one can use the other's memory without the host
  bool uneven = false;  // they do not agree on how many NVLinks are between them: none is counted
  friend bool operator==(const CardPair&, const CardPair&) = default;
};

struct NicPlace {
  std::string name;        // of the RDMA device: "mlx5_0"
  std::vector<PciWay> to;  // each card
  friend bool operator==(const NicPlace&, const NicPlace&) = default;
};

struct Layout {
  std::vector<std::optional<unsigned>> numa;  // of each card; none: nobody says
  std::vector<CardPair> pairs;                // all
  std::vector<NicPlace> nics;                 // by name
};

// What the driver says, and of what it does not say what the files of the kernel under `sysfs`
// do ("/sys"; empty: none). NICs are known from there alone. What nobody says is left out, or the
// furthest.
Layout layoutOf(const Nvml& nvml, const std::vector<DeviceInfo>& cards, const std::string& sysfs);

}  // namespace divvy::driver
