// The cards of this node: fixed facts, what a context costs on each, and what is going on on them.
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
  Bytes context;  // measured, or kAssumedContext where that failed
  DeviceLocality place;
  bool excluded = false;  // nobody new gets anything of it
};

// Charged for a context where measuring it failed: what recent data-centre cards were seen to need.
constexpr Bytes kAssumedContext = mib(512);

// Owns the driver connection. One thread. Opening blocks as long as the driver does, measuring for
// about 10 s, and driver() for kDriverPatience at most.
class Inventory {
 public:
  // Opens the node's driver, as openDriver does.
  // `source`: who says which processes use a device; null: the driver.
  static Result<Inventory> open(const Node& node, const NodePaths& paths,
                                const InstallLayout& install,
                                std::shared_ptr<driver::ProcessSource> source = nullptr);

  // From now on these are given to nobody new. Names that fit no card are said in the diary.
  void exclude(const DeviceExclusions& told);

  // Measures what a context costs on each card that is not excluded, all cards at once, in child
  // processes; about 10 s altogether (see probeAll). Figures of the same driver and card are taken
  // from `paths.contextCosts()`.
  void measureContexts(const NodePaths& paths, const InstallLayout& install);

  const std::vector<Device>& devices() const { return devices_; }
  // Of each two of them, in the words of the node's annotation.
  const kube::DeviceScores& scores() const { return scores_; }
  // RDMA NICs, likewise.
  const std::vector<kube::Nic>& nics() const { return nics_; }
  DriverWorker& driver() const { return *driver_; }
  const std::string& driverVersion() const { return driver_version_; }
  // Absolute path of libcuda for tenants; empty: as their loader chooses.
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
