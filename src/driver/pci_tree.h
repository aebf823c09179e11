// Devices of the PCI bus, from the kernel's files. Private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/layout.h"

namespace divvy::driver {

// A device: "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0", bridge by bridge.
struct PciPosition {
  std::vector<std::string> path;  // from the host bridge on, the device last
  std::optional<unsigned> numa;
};

class PciTree {
 public:
  // "/sys", or a tree of that form; empty: none.
  explicit PciTree(std::string root) : root_(std::move(root)) {}

  // Finds a device by its bus address, in either case, with a domain of four or eight digits.
  std::optional<PciPosition> find(const std::string& address) const;

  struct Nic {
    std::string name;
    PciPosition place;
  };
  // All RDMA devices on the bus, by name. Software devices are not on it.
  std::vector<Nic> nics() const;

 private:
  std::optional<PciPosition> at(const std::string& link) const;
  std::optional<unsigned> numaAt(const std::string& device) const;

  std::string root_;
};

PciPath pathBetween(const PciPosition& a, const PciPosition& b);

}  // namespace divvy::driver
