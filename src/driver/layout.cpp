#include "driver/layout.h"

#include <algorithm>
#include <array>
#include <bit>

#include "nvml_api.h"
#include "pci_tree.h"

namespace divvy::driver {
namespace {

constexpr unsigned kMaxNvlinks = 18;
constexpr nvmlAffinityScope_t kOfNodes = 0;  // of memory, not of sockets

// One device, as far as the driver answers.
struct DeviceLinks {
  nvmlDevice_t handle = nullptr;
  nvmlPciInfo_t pci{};
  std::optional<PciPosition> place;
  // Ends of its links: other devices, and switches. A switch connects all devices that have links
  // to one.
  std::vector<unsigned> links;
  unsigned switch_links = 0;
  bool reports_links = false;  // it reports its links, even if it has none
};

struct Nvlinks {
  unsigned count = 0;
  bool uneven = false;
};

bool sameAddress(const nvmlPciInfo_t& a, const nvmlPciInfo_t& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

PciPath pathOf(nvmlGpuTopologyLevel_t level) {
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL:
      return PciPath::kSame;
    case NVML_TOPOLOGY_SINGLE:
      return PciPath::kSwitch;
    case NVML_TOPOLOGY_MULTIPLE:
      return PciPath::kSwitches;
    case NVML_TOPOLOGY_HOSTBRIDGE:
      return PciPath::kHostBridge;
    case NVML_TOPOLOGY_NODE:
      return PciPath::kNode;
    default:
      return PciPath::kSystem;
  }
}

class Reader {
 public:
  Reader(const Nvml::Api& api, const std::vector<DeviceInfo>& cards, const PciTree& tree)
      : api_(api) {
    for (const DeviceInfo& card : cards) {
      DeviceLinks& device = devices_.emplace_back();
      const Result<nvmlDevice_t> handle = api_.device(card.index);
      if (handle) device.handle = *handle;
      if (handle && api_.pci != nullptr) api_.pci(*handle, &device.pci);
      device.place = tree.find(card.pci);
    }
    for (DeviceLinks& device : devices_) readLinks(device);
  }

  std::size_t count() const { return devices_.size(); }
  const DeviceLinks& at(std::size_t i) const { return devices_[i]; }

  // The kernel's value precedes the driver's: it is about the bus and needs no driver.
  std::optional<unsigned> numaOf(const DeviceLinks& card) const {
    if (card.place && card.place->numa) return card.place->numa;
    std::array<unsigned long, 16> nodes{};
    if (api_.memory_affinity == nullptr || card.handle == nullptr ||
        api_.memory_affinity(card.handle, nodes.size(), nodes.data(), kOfNodes) != NVML_SUCCESS)
      return std::nullopt;
    unsigned found = 0;
    unsigned node = 0;
    for (std::size_t word = 0; word < nodes.size(); ++word) {
      found += static_cast<unsigned>(std::popcount(nodes[word]));
      if (nodes[word] != 0)
        node =
            static_cast<unsigned>(word * 64) + static_cast<unsigned>(std::countr_zero(nodes[word]));
    }
    return found == 1 ? std::optional(node) : std::nullopt;
  }

  Nvlinks nvlinksBetween(std::size_t a, std::size_t b) const {
    // Each end reports its own links; an end without an answer does not contradict.
    const unsigned there = devices_[a].links[b], back = devices_[b].links[a];
    const bool uneven = devices_[a].reports_links && devices_[b].reports_links && there != back;
    const unsigned straight = uneven ? 0 : std::max(there, back);
    const unsigned switched = std::min(devices_[a].switch_links, devices_[b].switch_links);
    // Switches may be partitioned, so that not all devices reach each other.
    const bool reached = switched > 0 && can(devices_[a], devices_[b], NVML_P2P_CAPS_INDEX_NVLINK);
    return {straight + (reached ? switched : 0), uneven};
  }

  PciPath pathBetweenDevices(const DeviceLinks& a, const DeviceLinks& b) const {
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    const bool reported = api_.common_ancestor != nullptr && a.handle != nullptr &&
                          b.handle != nullptr &&
                          api_.common_ancestor(a.handle, b.handle, &level) == NVML_SUCCESS;
    if (reported) return pathOf(level);
    return a.place && b.place ? pathBetween(*a.place, *b.place) : PciPath::kSystem;
  }

  // An unknown status counts as permitted.
  bool can(const DeviceLinks& a, const DeviceLinks& b, nvmlGpuP2PCapsIndex_t what) const {
    nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_OK;
    if (api_.p2p_status == nullptr || a.handle == nullptr || b.handle == nullptr) return true;
    return api_.p2p_status(a.handle, b.handle, what, &status) != NVML_SUCCESS ||
           status == NVML_P2P_STATUS_OK;
  }

 private:
  void readLinks(DeviceLinks& card) const {
    card.links.assign(devices_.size(), 0);
    if (api_.link_state == nullptr || card.handle == nullptr) return;
    for (unsigned link = 0; link < kMaxNvlinks; ++link) {
      nvmlEnableState_t state = NVML_FEATURE_DISABLED;
      const nvmlReturn_t answer = api_.link_state(card.handle, link, &state);
      card.reports_links =
          card.reports_links || answer == NVML_SUCCESS || answer == NVML_ERROR_NOT_SUPPORTED;
      if (answer == NVML_ERROR_NOT_SUPPORTED) return;  // it has no NVLinks
      if (answer == NVML_SUCCESS && state == NVML_FEATURE_ENABLED) followLink(card, link);
    }
  }

  void followLink(DeviceLinks& card, unsigned link) const {
    nvmlPciInfo_t remote{};
    const bool reported =
        api_.link_remote != nullptr && api_.link_remote(card.handle, link, &remote) == NVML_SUCCESS;
    for (std::size_t i = 0; reported && i < devices_.size(); ++i) {
      if (&devices_[i] == &card || !sameAddress(devices_[i].pci, remote)) continue;
      ++card.links[i];
      return;
    }
    nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
    if (api_.link_remote_type != nullptr) api_.link_remote_type(card.handle, link, &type);
    if (type == NVML_NVLINK_DEVICE_TYPE_SWITCH) ++card.switch_links;
  }

  const Nvml::Api& api_;
  std::vector<DeviceLinks> devices_;
};

}  // namespace

Layout layoutOf(const Nvml& nvml, const std::vector<DeviceInfo>& cards, const std::string& sysfs) {
  const PciTree tree(sysfs);
  const Reader reader(nvml.api(), cards, tree);
  Layout layout;
  for (std::size_t b = 0; b < reader.count(); ++b) {
    layout.numa.push_back(reader.numaOf(reader.at(b)));
    for (std::size_t a = 0; a < b; ++a) {
      const Nvlinks nvlinks = reader.nvlinksBetween(a, b);
      layout.pairs.push_back({static_cast<unsigned>(a), static_cast<unsigned>(b), nvlinks.count,
                              reader.pathBetweenDevices(reader.at(a), reader.at(b)),
                              reader.can(reader.at(a), reader.at(b), NVML_P2P_CAPS_INDEX_READ),
                              nvlinks.uneven});
    }
  }
  for (const PciTree::Nic& nic : tree.nics()) {
    NicPaths& place = layout.nics.emplace_back();
    place.name = nic.name;
    for (std::size_t i = 0; i < reader.count(); ++i) {
      const std::optional<PciPosition>& card = reader.at(i).place;
      place.to.push_back(card ? pathBetween(*card, nic.place) : PciPath::kSystem);
    }
  }
  return layout;
}

}  // namespace divvy::driver
