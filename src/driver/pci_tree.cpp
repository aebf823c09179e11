#include "pci_tree.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace divvy::driver {
namespace {

namespace fs = std::filesystem;

// "0000:17:00.0"
bool isAddress(const std::string& part) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int read = 0;
  return std::sscanf(part.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &read) ==
             4 &&
         static_cast<std::size_t>(read) == part.size();
}

// "pci0000:15"
bool isHostBridge(const std::string& part) {
  return part.starts_with("pci") && part.find(':') != std::string::npos;
}

// In the kernel's form; empty: not an address.
std::string asKernel(const std::string& address) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (!isAddress(address)) return "";
  std::sscanf(address.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function);
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

std::optional<long> numberIn(const std::string& path) {
  std::ifstream file(path);
  long number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

}  // namespace

// On a machine with one NUMA node the kernel reports -1 for all devices.
std::optional<unsigned> PciTree::numaAt(const std::string& device) const {
  const std::optional<long> node = numberIn(device + "/numa_node");
  if (node && *node >= 0) return static_cast<unsigned>(*node);
  std::error_code fault;
  std::vector<unsigned> nodes;
  for (const auto& entry : fs::directory_iterator(root_ + "/devices/system/node", fault)) {
    unsigned number = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "node%u", &number) == 1) nodes.push_back(number);
  }
  return nodes.size() == 1 ? std::optional(nodes.front()) : std::nullopt;
}

// A device on the bus, or a function of one. Functions implemented in software are under no bus.
std::optional<PciPosition> PciTree::at(const std::string& link) const {
  std::error_code fault;
  const fs::path device = fs::canonical(link, fault);
  if (fault) return std::nullopt;
  PciPosition place;
  fs::path known;
  fs::path whole;
  for (const fs::path& part : device) {
    whole /= part;
    const std::string name = part.string();
    if (isHostBridge(name)) {
      place.path = {name};
    } else if (!place.path.empty() && isAddress(name)) {
      place.path.push_back(name);
      known = whole;
    }
  }
  if (place.path.size() < 2) return std::nullopt;
  place.numa = numaAt(known.string());
  return place;
}

std::optional<PciPosition> PciTree::find(const std::string& address) const {
  const std::string name = asKernel(address);
  if (root_.empty() || name.empty()) return std::nullopt;
  return at(root_ + "/bus/pci/devices/" + name);
}

std::vector<PciTree::Nic> PciTree::nics() const {
  std::vector<Nic> all;
  if (root_.empty()) return all;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(root_ + "/class/infiniband", fault)) {
    std::optional<PciPosition> place = at(entry.path().string() + "/device");
    if (place) all.push_back({entry.path().filename().string(), std::move(*place)});
  }
  std::sort(all.begin(), all.end(), [](const Nic& a, const Nic& b) { return a.name < b.name; });
  return all;
}

// Devices behind one switch are below its ports, so their last common bridge is the switch's
// upstream bridge. Devices of one board are functions of one device, or on one bus.
PciPath pathBetween(const PciPosition& a, const PciPosition& b) {
  const std::size_t most = std::min(a.path.size(), b.path.size());
  std::size_t common = 0;
  while (common < most && a.path[common] == b.path[common]) ++common;
  if (common == 0) {
    return a.numa && a.numa == b.numa ? PciPath::kNode : PciPath::kSystem;
  }
  const std::size_t left = std::max(a.path.size(), b.path.size()) - common;
  if (common == 1) return PciPath::kHostBridge;
  if (left <= 1) return PciPath::kSame;
  return left <= 2 ? PciPath::kSwitch : PciPath::kSwitches;
}

}  // namespace divvy::driver
