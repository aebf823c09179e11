#include "device/inventory.h"

#include "device/context_overhead.h"
#include "device/device_topology.h"
#include "device/open_driver.h"
#include "log/log.h"

namespace divvy::agent {
Result<Inventory> Inventory::open(const Node& node, const NodePaths& paths,
                                  const InstallLayout& install,
                                  std::shared_ptr<driver::ProcessSource> source) {
  Result<driver::Nvml> nvml = openDriver(node, paths, install);
  if (!nvml) return nvml.error();
  if (source) nvml->setProcessSource(std::move(source));
  Inventory inventory;
  inventory.cuda_path_ = cudaOf(node, install);
  inventory.driver_version_ = nvml->driverVersion();
  Result<std::vector<driver::DeviceInfo>> devices = nvml->devices();
  if (!devices) return devices.error();
  if (devices->empty())
    return Error{ErrorCode::kUnavailable,
                 "the NVIDIA driver reports no usable device; a GPU in MIG mode needs an instance "
                 "(nvidia-smi mig -lci)"};
  const driver::Layout layout = driver::layoutOf(*nvml, *devices, sysfsRoot(node.simulated()));
  for (const std::string& uneven : unevenLinks(*devices, layout))
    log::warn("NVLinks of two devices are not counted", {{"reason", uneven}});
  std::vector<DeviceLocality> places = placesOf(*devices, layout);
  inventory.scores_ = scoresOf(*devices, layout);
  inventory.nics_ = nicsOf(*devices, layout);
  for (std::size_t i = 0; i < devices->size(); ++i)
    inventory.devices_.push_back({std::move((*devices)[i]), kAssumedContext, std::move(places[i])});
  inventory.driver_ = std::make_unique<DriverWorker>(std::move(*nvml));
  return inventory;
}

const Device* Inventory::deviceOf(const std::string& uuid) const {
  for (const Device& device : devices_)
    if (device.info.uuid == uuid) return &device;
  return nullptr;
}

void Inventory::exclude(const DeviceExclusions& told) {
  std::vector<DeviceName> names;
  for (const Device& device : devices_) names.push_back({device.info.index, device.info.uuid});
  const std::vector<bool> excluded = excludedAmong(told, names);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].excluded = excluded[i];
    if (excluded[i])
      log::info("device is excluded",
                {{"device", std::to_string(names[i].index)}, {"uuid", names[i].uuid}});
  }
  for (const std::string& name : namesOfNone(told, names))
    log::info("an excluded device is not a device of this node", {{"device", name}});
}

void Inventory::measureContexts(const NodePaths& paths, const InstallLayout& install) {
  ContextCosts costs = loadCosts(paths.contextCosts(), driver_version_);
  std::vector<std::string> unknown;
  for (const Device& device : devices_) {
    // An excluded device is not measured: another program may use it exclusively.
    if (!device.excluded && !costs.contains(device.info.uuid)) unknown.push_back(device.info.uuid);
  }
  if (!unknown.empty()) {
    const std::string cuda = cuda_path_.empty() ? "libcuda.so.1" : cuda_path_;
    costs.merge(probeAll({install.executable, cuda, driver_->path()}, unknown));
    saveCosts(paths.contextCosts(), driver_version_, costs);
  }
  for (Device& device : devices_) {
    const auto cost = costs.find(device.info.uuid);
    if (cost != costs.end()) device.context = cost->second;
    log::info("found a device", {{"device", std::to_string(device.info.index)},
                                 {"uuid", device.info.uuid},
                                 {"model", device.info.model},
                                 {"memory", formatBytes(device.info.physical)},
                                 {"context", formatBytes(device.context)},
                                 {"context_is", cost == costs.end() ? "assumed" : "measured"}});
  }
}

}  // namespace divvy::agent
