// Pods that have devices of vendors' own plugins, wherever they are: bound by us or by others,
// before or after their node was told of. Pure. Private.
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
    std::string space, name, node;
    std::map<const vendors::Kind*, std::uint32_t> counts;
  };
  // Whether it is bound somewhere, and has such devices if its node has. Else it is forgotten.
  bool see(const kube::Pod& pod, const vendors::Catalog& catalog);
  void forget(const std::string& uid);
  const Has* find(const std::string& uid) const;               // null: it is not known
  std::vector<std::string> on(const std::string& node) const;  // UIDs, ascending
  // Whether those are as many as it has there.
  bool same(const std::string& uid, const engine::Placement& placement,
            const DeviceMetadataMap& devices) const;
  // Devices for it of those that are counted for a plugin: such as are not taken first. None: its
  // node has no such devices.
  std::optional<engine::Placement> placementOf(
      const std::string& uid, const engine::Node& node, const DeviceMetadataMap& devices,
      const std::function<bool(const engine::DeviceUuid&)>& taken) const;

 private:
  std::map<std::string, Has> pods_;  // by UID
  std::map<std::string, std::set<std::string>> on_;
};

}  // namespace divvy::scheduler
