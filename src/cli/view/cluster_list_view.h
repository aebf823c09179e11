// A cluster's cards and who has what of them, as text and JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/units.h"
#include "scheduler/device_usage.h"

namespace divvy::cli {

// A device that a container of a pod has a part of; or a pod that waits for devices.
struct ClusterShare {
  std::string space, pod, container;  // "*": of several; no container: it waits
  std::string node, uuid, model;      // empty: it waits
  std::size_t index = 0;              // of the device, on its node
  Bytes memory;
  engine::Compute compute;
  // Its pod's: "running", "pending" (not all of it runs), "ending", "unknown", "waits".
  std::string state;
  std::string reason;  // why it waits; may be empty
};

// With headers the last line is the sum of all, where there is more than one.
std::string clusterDevicesText(const std::vector<scheduler::DeviceUsage>& devices, bool headers,
                               std::size_t width);
// Each device with those who have a part of it.
std::string clusterDevicesJson(const std::vector<scheduler::DeviceUsage>& devices,
                               const std::vector<ClusterShare>& shares);
std::string clusterSharesText(const std::vector<ClusterShare>& shares, bool headers,
                              std::size_t width);
std::string clusterSharesJson(const std::vector<ClusterShare>& shares);

}  // namespace divvy::cli
