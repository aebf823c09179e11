// A cluster's devices and shares, as text and JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/units.h"
#include "scheduler/device_usage.h"

namespace divvy::cli {

// A device that a pod's container has a share of, or a pod that waits for devices.
struct ClusterShare {
  std::string namespace_name, pod, container;  // "*": several containers; empty: the pod waits
  std::string node, uuid, model;               // empty: it waits
  std::size_t index = 0;                       // of the device on its node
  Bytes memory;
  engine::Compute compute;
  // State of the pod: "running", "pending" (not all of it runs), "ending", "unknown", "waits".

  std::string state;
  std::string reason;  // why it waits; may be empty
};

// With headers and more than one line, the last line is the sum.
std::string clusterDevicesText(const std::vector<scheduler::DeviceUsage>& devices, bool headers,
                               std::size_t width);
// Each device with its shares.
std::string clusterDevicesJson(const std::vector<scheduler::DeviceUsage>& devices,
                               const std::vector<ClusterShare>& shares);
std::string clusterSharesText(const std::vector<ClusterShare>& shares, bool headers,
                              std::size_t width);
std::string clusterSharesJson(const std::vector<ClusterShare>& shares);

}  // namespace divvy::cli
