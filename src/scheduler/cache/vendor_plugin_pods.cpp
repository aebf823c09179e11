#include "cache/vendor_plugin_pods.h"

#include <algorithm>

#include "codec/vendor_plugin.h"

namespace divvy::scheduler {

bool VendorPluginPods::see(const kube::Pod& pod, const vendors::Catalog& catalog) {
  forget(pod.meta.uid);
  if (pod.ended() || pod.node.empty()) return false;
  Has has{pod.meta.namespace_name, pod.meta.name, pod.node, {}};
  for (const vendors::Kind* kind : catalog.kinds())
    if (const std::uint32_t count = ofOwnPlugin(pod, *kind); count > 0) has.counts[kind] = count;
  if (has.counts.empty()) return false;
  on_[pod.node].insert(pod.meta.uid);
  pods_.emplace(pod.meta.uid, std::move(has));
  return true;
}

void VendorPluginPods::forget(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const auto there = on_.find(found->second.node);
  there->second.erase(uid);
  if (there->second.empty()) on_.erase(there);
  pods_.erase(found);
}

const VendorPluginPods::Has* VendorPluginPods::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

std::vector<std::string> VendorPluginPods::on(const std::string& node) const {
  const auto there = on_.find(node);
  if (there == on_.end()) return {};
  return {there->second.begin(), there->second.end()};
}

bool VendorPluginPods::same(const std::string& uid, const engine::Placement& placement,
                            const DeviceMetadataMap& devices) const {
  std::map<const vendors::Kind*, std::uint32_t> counts;
  for (const engine::Charge& one : placement.charges) {
    const auto device = devices.find(one.uuid.text);
    if (device == devices.end() || !device->second.own_plugin) return false;
    ++counts[device->second.kind];
  }
  const auto found = pods_.find(uid);
  return found != pods_.end() && placement.node.text == found->second.node &&
         counts == found->second.counts;
}

std::optional<engine::Placement> VendorPluginPods::placementOf(
    const std::string& uid, const engine::Node& node, const DeviceMetadataMap& devices,
    const std::function<bool(const engine::DeviceUuid&)>& taken) const {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.node != node.name.text) return std::nullopt;
  engine::Placement placement;
  placement.node = node.name;
  placement.containers.emplace_back();
  auto left = found->second.counts;
  const auto take = [&](const engine::Device& device, bool busy) {
    const auto known = devices.find(device.uuid.text);
    if (known == devices.end() || !known->second.own_plugin || taken(device.uuid) != busy) return;
    const auto count = left.find(known->second.kind);
    if (count == left.end() || count->second == 0) return;
    --count->second;
    placement.containers[0].push_back({device.uuid, device.memory, engine::kWholeDevice});
    placement.charges.push_back({device.uuid, device.memory, engine::kWholeDevice, 1});
  };
  for (const bool busy : {false, true})
    for (const engine::Device& device : node.devices) take(device, busy);
  if (placement.charges.empty()) return std::nullopt;
  return placement;
}

}  // namespace divvy::scheduler
