// The cards of this node: fixed facts, the cost of a context on each, and their present use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/device_exclusion.h"
#include "agent/device_locality.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "base/bytes.h"
#include "base/result.h"
#include "device/driver_worker.h"
#include "driver/nvml.h"
#include "driver/process_source.h"
#include "kube/device_scores.h"
#include "kube/nics.h"

namespace divvy::agent {

struct Device {
  driver::DeviceInfo info;
  Bytes context;  // measured, or kAssumedContext if that failed
  DeviceLocality place;
  bool excluded = false;  // no new allocations
};

// Cost of a context if the measurement failed: the need of recent data-centre cards.
constexpr Bytes kAssumedContext = mib(512);

// Owns the driver connection. One thread. Opening blocks as long as the driver does, measuring for
// about 10 s, and driver() for kDriverPatience at most.
class Inventory {
 public:
  // Opens the node's driver, as openDriver(). `source`: reports the processes on a device; null:
  // the driver does.
  static Result<Inventory> open(const Node& node, const NodePaths& paths,
                                const InstallLayout& install,
                                std::shared_ptr<driver::ProcessSource> source = nullptr);

  // Excludes these cards from new allocations. Names that match no card are logged.
  void exclude(const DeviceExclusions& told);

  // Measures the cost of a context on each card that is not excluded, all cards at once, in child
  // processes; about 10 s altogether (see probeAll()). Costs of the same driver and card are read
  // from `paths.contextCosts()`.
  void measureContexts(const NodePaths& paths, const InstallLayout& install);

  const std::vector<Device>& devices() const { return devices_; }
  // Null: the device is not in the inventory.
  const Device* deviceOf(const std::string& uuid) const;
  // The link score of each pair of cards, as in the node's annotation.
  const kube::DeviceScores& scores() const { return scores_; }
  // RDMA NICs, as in the node's annotation.
  const std::vector<kube::Nic>& nics() const { return nics_; }
  DriverWorker& driver() const { return *driver_; }
  const std::string& driverVersion() const { return driver_version_; }
  // Absolute path of libcuda for tenants; empty: their loader chooses.
  const std::string& cudaPath() const { return cuda_path_; }

 private:
  Inventory() = default;

  std::unique_ptr<DriverWorker> driver_;
  std::vector<Device> devices_;
  kube::DeviceScores scores_;
  std::vector<kube::Nic> nics_;
  std::string driver_version_;
  std::string cuda_path_;
};

}  // namespace divvy::agent
