#include "view/share_index.h"

#include <algorithm>

namespace divvy::console {
namespace {

template <typename Value>
bool same(const Value* one, const Value* two) {
  return one == nullptr || two == nullptr ? one == two : *one == *two;
}

bool samePart(const ContainerShare::Part& one, const ContainerShare::Part& two) {
  if (!(*one.share == *two.share) || !same(one.use, two.use)) return false;
  if (one.device == nullptr || two.device == nullptr) return one.device == two.device;
  return one.device->index == two.device->index && one.device->model == two.device->model &&
         one.device->memory == two.device->memory;
}

bool sameShare(const ContainerShare& one, const ContainerShare& two) {
  return one.id == two.id && one.container == two.container && one.image == two.image &&
         *one.pod == *two.pod && same(one.use, two.use) &&
         std::equal(one.parts.begin(), one.parts.end(), two.parts.begin(), two.parts.end(),
                    samePart);
}

}  // namespace

ShareIndex::ShareIndex(const ClusterReading& reading) : reading_(reading) {
  devices_.reserve(reading.devices.size());
  for (const scheduler::DeviceUsage& device : reading.devices) devices_[deviceId(device)] = &device;
  pods_.reserve(reading.pods.size());
  for (const ClusterPodView& pod : reading.pods) pods_[podId(pod)] = &pod;
  places_.reserve(reading.shares.size());
  for (const scheduler::AllocatedShare& share : reading.shares) add(share);
  for (const ContainerShare& share : shares_) {
    for (const ContainerShare::Part& part : share.parts) {
      std::vector<const ContainerShare*>& on = by_device_[part.device];
      if (on.empty() || on.back() != &share) on.push_back(&share);
    }
    by_node_[share.pod->node] += 1;
  }
}

const std::vector<const ContainerShare*>& ShareIndex::on(
    const scheduler::DeviceUsage& device) const {
  static const std::vector<const ContainerShare*> none;
  const auto found = by_device_.find(&device);
  return found == by_device_.end() ? none : found->second;
}

std::size_t ShareIndex::onNode(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : found->second;
}

const DeviceUse* ShareIndex::useOf(const scheduler::DeviceUsage& device) const {
  const auto found = reading_.device_use.find(deviceId(device));
  return found == reading_.device_use.end() ? nullptr : &found->second;
}

bool ShareIndex::isSameIn(const ShareIndex& other, const ContainerShare& share) const {
  const auto place = other.places_.find(share.id);
  return place != other.places_.end() && sameShare(share, other.shares_[place->second]);
}

bool ShareIndex::isSameIn(const ShareIndex& other, const scheduler::DeviceUsage& device) const {
  const auto found = other.devices_.find(deviceId(device));
  if (found == other.devices_.end() || !(*found->second == device)) return false;
  const std::vector<const ContainerShare*>& mine = on(device);
  const std::vector<const ContainerShare*>& theirs = other.on(*found->second);
  return same(useOf(device), other.useOf(*found->second)) &&
         std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [](const auto* one, const auto* two) { return sameShare(*one, *two); });
}

void ShareIndex::add(const scheduler::AllocatedShare& share) {
  const auto pod = pods_.find(share.namespace_name + '/' + share.pod);
  if (pod == pods_.end()) return;
  const auto device = devices_.find(share.node + '/' + share.uuid);
  const scheduler::DeviceUsage* on = device == devices_.end() ? nullptr : device->second;
  const bool any = on != nullptr && on->by_plugin;
  const std::vector<std::string>& names = pod->second->containers;
  const bool named = !any && share.container < names.size();
  const std::string container = any     ? "*"
                                : named ? names[share.container]
                                        : "#" + std::to_string(share.container);
  const std::string id = pod->first + '/' + container;
  const auto [place, fresh] = places_.try_emplace(id, shares_.size());
  if (fresh) {
    const std::vector<std::string>& images = pod->second->images;
    const std::string image =
        named && share.container < images.size() ? images[share.container] : std::string();
    shares_.push_back({id, container, image, pod->second, useOf(*pod->second, container, ""), {}});
  }
  shares_[place->second].parts.push_back({&share, on, useOf(*pod->second, container, share.uuid)});
}

const ShareUse* ShareIndex::useOf(const ClusterPodView& pod, const std::string& container,
                                  const std::string& device) const {
  const auto found = reading_.share_use.find({pod.namespace_name, pod.name, container, device});
  return found == reading_.share_use.end() ? nullptr : &found->second;
}

}  // namespace divvy::console
