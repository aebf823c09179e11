// Positions of a machine's devices: to each other, to NUMA nodes and to RDMA NICs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/nvml.h"

namespace divvy::driver {

// The path between two devices of the PCI bus; later values are longer paths.
enum class PciPath : std::uint8_t {
  kSame,        // one board
  kSwitch,      // one switch
  kSwitches,    // several of them
  kHostBridge,  // the host's bridge
  kNode,        // bridges of one NUMA node
  kSystem,      // more than one NUMA node
};

// Numbers of devices are indexes in the list that layoutOf() got.
struct CardPair {
  unsigned a = 0;
  unsigned b = 0;        // more than a
  unsigned nvlinks = 0;  // between them, also through a switch
  PciPath path = PciPath::kSystem;
  bool peers = true;    // one can use the other's memory without the host
  bool uneven = false;  // the two disagree on the number of NVLinks between them: none is counted
  friend bool operator==(const CardPair&, const CardPair&) = default;
};

struct NicPaths {
  std::string name;         // of the RDMA device: "mlx5_0"
  std::vector<PciPath> to;  // to each device
  friend bool operator==(const NicPaths&, const NicPaths&) = default;
};

struct Layout {
  std::vector<std::optional<unsigned>> numa;  // of each device; none: unknown
  std::vector<CardPair> pairs;                // all
  std::vector<NicPaths> nics;                 // by name
};

// Uses the driver's answers, else the kernel's files under `sysfs` ("/sys"; empty: none). NICs are
// known from these files only. Unknown values are left out, or are the longest path.
Layout layoutOf(const Nvml& nvml, const std::vector<DeviceInfo>& cards, const std::string& sysfs);

}  // namespace divvy::driver
