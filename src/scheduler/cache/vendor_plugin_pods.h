// Bound pods that request devices of vendor plugins: bound by Divvy or by another scheduler, before
// or after the cache had their node. Pure. Private.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotations/device_metadata.h"
#include "engine/allocation.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

class VendorPluginPods {
 public:
  struct Has {
    std::string namespace_name, name, node;
    std::map<const vendors::Kind*, std::uint32_t> counts;
  };
  // Adds or updates a pod. Returns true if it is bound, has not ended and requests such devices;
  // otherwise removes it.
  bool see(const kube::Pod& pod, const vendors::Catalog& catalog);
  void forget(const std::string& uid);
  const Has* find(const std::string& uid) const;               // null: it is not known
  std::vector<std::string> on(const std::string& node) const;  // UIDs, ascending
  // Returns true if `placement` has as many devices as the pod requests of vendor plugins there.
  bool same(const std::string& uid, const engine::Placement& placement,
            const DeviceMetadataMap& devices) const;
  // Chooses devices for the pod among those that a vendor plugin serves, free devices first. None:
  // the node has no such devices.
  std::optional<engine::Placement> placementOf(
      const std::string& uid, const engine::Node& node, const DeviceMetadataMap& devices,
      const std::function<bool(const engine::DeviceUuid&)>& taken) const;

 private:
  std::map<std::string, Has> pods_;  // by UID
  std::map<std::string, std::set<std::string>> on_;
};

}  // namespace divvy::scheduler
