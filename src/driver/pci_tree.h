// Devices of the PCI bus, as the kernel shows them in files. Private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/layout.h"

namespace divvy::driver {

// A device: "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0", bridge by bridge.
struct PciPlace {
  std::vector<std::string> path;  // from the host's bridge on, itself last
  std::optional<unsigned> numa;
};

class PciTree {
 public:
  // "/sys", or a tree like it; empty: there is none.
  explicit PciTree(std::string root) : root_(std::move(root)) {}

  // By its address on the bus, letters of either case, a domain of four digits or eight.
  std::optional<PciPlace> find(const std::string& address) const;

  struct Nic {
    std::string name;
    PciPlace place;
  };
  // All RDMA devices that are on the bus, by name. Those of software are on none.
  std::vector<Nic> nics() const;

 private:
  std::optional<PciPlace> at(const std::string& link) const;
  std::optional<unsigned> numaAt(const std::string& device) const;

  std::string root_;
};

PciWay wayBetween(const PciPlace& a, const PciPlace& b);

}  // namespace divvy::driver
