// Rows of a cluster's lists as docs/reference/console-api.md describes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console/cluster_source.h"
#include "rows/rows.h"

namespace divvy::console {

// The names of the members of each kind of row, in their order.
const std::vector<std::string_view>& clusterNodeFields();
const std::vector<std::string_view>& clusterDeviceFields();
const std::vector<std::string_view>& clusterShareFields();
const std::vector<std::string_view>& clusterWaitingFields();

// The identifiers of a device and of a pod.
std::string deviceId(const scheduler::DeviceUsage& device);
std::string podId(const ClusterPodView& pod);
// The workload of a pod, KIND/NAME. A pod without a controller is one by itself.
std::string workloadOf(const ClusterPodView& pod);

// The share of one container of a pod.
struct ContainerShare {
  std::string id;         // NAMESPACE/POD/CONTAINER
  std::string container;  // "*": the vendor plugin gave the devices, and the container is not known
  std::string image;      // empty: not known
  const ClusterPodView* pod = nullptr;
  const ShareUse* use = nullptr;  // of all devices; null: not known
  struct Part {
    const scheduler::AllocatedShare* share = nullptr;
    const scheduler::DeviceUsage* device = nullptr;  // null: the device is gone
    const ShareUse* use = nullptr;                   // null: not known
  };
  std::vector<Part> parts;
};

// Returns the sum of a figure over all parts; null: one of them is not known, or there is none.
boost::json::value sumOfUse(const ContainerShare& share,
                            std::optional<std::uint64_t> ShareUse::*figure);

Row clusterShareRow(const ContainerShare& share);
// `shares`: those with a part on the device. `use`: null: not known.
Row clusterDeviceRow(const scheduler::DeviceUsage& device,
                     const std::vector<const ContainerShare*>& shares,
                     const DeviceUse* use = nullptr);
// `devices`: of the node. `used`: bytes of their memory; none: not known.
Row clusterNodeRow(const ClusterNode& node,
                   const std::vector<const scheduler::DeviceUsage*>& devices, std::size_t shares,
                   std::optional<std::uint64_t> used = std::nullopt);
Row clusterWaitingRow(const ClusterPodView& pod);
Row clusterEventRow(const ClusterEvent& event);

// The word for a kind of waiting: "waits-for-room".
const char* wordOf(WaitingKind kind);

}  // namespace divvy::console
