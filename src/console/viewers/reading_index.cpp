#include "viewers/reading_index.h"

#include <algorithm>

#include "rows/cluster_rows.h"

namespace divvy::console {
namespace {

template <typename Object, typename Places>
void add(const std::vector<Object>& objects, Places& places) {
  for (std::size_t at = 0; at < objects.size(); ++at)
    places[objects[at].namespace_name].push_back(at);
}

template <typename Object>
std::vector<Object> at(const std::vector<Object>& objects, std::vector<std::size_t> places) {
  std::sort(places.begin(), places.end());
  std::vector<Object> found;
  found.reserve(places.size());
  for (const std::size_t place : places) found.push_back(objects[place]);
  return found;
}

template <typename Object, typename Places>
std::vector<Object> in(const std::vector<Object>& objects, const Places& by_namespace,
                       const NamespaceScope& scope) {
  if (scope.all) return objects;
  std::vector<std::size_t> places;
  for (const std::string& name : scope.names) {
    const auto own = by_namespace.find(name);
    if (own != by_namespace.end())
      places.insert(places.end(), own->second.begin(), own->second.end());
  }
  return at(objects, std::move(places));
}

}  // namespace

ReadingIndex::ReadingIndex(const ClusterReading& reading) : reading_(&reading) {
  add(reading.pods, pods_);
  add(reading.shares, shares_);
  add(reading.events, events_);
  for (std::size_t at = 0; at < reading.devices.size(); ++at)
    devices_.emplace(deviceId(reading.devices[at]), at);
}

std::vector<ClusterPodView> ReadingIndex::pods(const NamespaceScope& scope) const {
  return in(reading_->pods, pods_, scope);
}

std::vector<scheduler::AllocatedShare> ReadingIndex::shares(const NamespaceScope& scope) const {
  return in(reading_->shares, shares_, scope);
}

std::vector<ClusterEvent> ReadingIndex::events(const NamespaceScope& scope) const {
  return in(reading_->events, events_, scope);
}

std::map<ShareUseKey, ShareUse> ReadingIndex::shareUse(const NamespaceScope& scope) const {
  const std::map<ShareUseKey, ShareUse>& all = reading_->share_use;
  if (scope.all) return all;
  std::map<ShareUseKey, ShareUse> found;
  for (const std::string& name : scope.names)
    for (auto at = all.lower_bound({name, "", "", ""});
         at != all.end() && at->first.namespace_name == name; ++at)
      found.emplace_hint(found.end(), at->first, at->second);
  return found;
}

std::vector<scheduler::DeviceUsage> ReadingIndex::devicesOf(
    const std::vector<scheduler::AllocatedShare>& shares) const {
  std::vector<std::size_t> places;
  for (const scheduler::AllocatedShare& share : shares) {
    const auto device = devices_.find(share.node + '/' + share.uuid);
    if (device != devices_.end()) places.push_back(device->second);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return at(reading_->devices, std::move(places));
}

}  // namespace divvy::console
