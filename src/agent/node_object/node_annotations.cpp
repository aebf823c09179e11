#include "node_object/node_annotations.h"

#include <boost/json/value.hpp>

#include "kube/device_list.h"
#include "kube/nics.h"
#include "kube/renamed_annotation.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

std::string valueIn(const Annotations& annotations, const std::string& key) {
  const auto found = annotations.find(key);
  return found == annotations.end() ? std::string() : found->second;
}

std::string renamedIn(const Annotations& annotations, const std::string& key) {
  const std::string* found = kube::findRenamed(annotations, key);
  return found == nullptr ? std::string() : *found;
}

// A pod for a resource that the kubelet does not count is rejected for good. Until it counts one,
// those that an earlier agent published stay, if they are still served.
std::set<std::string> servedNow(const std::set<std::string>& counted,
                                const std::set<std::string>& resources,
                                const Annotations& published) {
  if (!counted.empty()) return counted;
  std::set<std::string> served;
  for (const std::string& name :
       kube::decodeDevices(renamedIn(published, kube::kServedResourcesKey)))
    if (resources.contains(name)) served.insert(name);
  return served;
}

}  // namespace

bool mayRegister(const PublishedState& state, const std::set<std::string>& resources) {
  return state.holders_known && (resources.empty() || !state.counted.empty());
}

Annotations wantedAnnotations(const PublishedState& state, const DeviceFacts& devices,
                              const Annotations& published) {
  const auto evictions = [&](const std::optional<kube::Complaints>& all, const char* key) {
    if (!all) return valueIn(published, key);
    return all->empty() ? std::string() : kube::encode(*all);
  };
  Annotations all{
      {kube::kNicsKey, devices.nics},
      {kube::kServedResourcesKey,
       kube::encodeDevices(servedNow(state.counted, devices.resources, published))},
      {kube::kAnnouncedResourcesKey, kube::encodeDevices(devices.announced)},
      {kube::kFullDevicesKey, state.holders_known ? kube::encodeDevices(state.full)
                                                  : renamedIn(published, kube::kFullDevicesKey)},
      {kube::kIdleKey, evictions(state.idle, kube::kIdleKey)},
      {kube::kBypassKey, evictions(state.bypass, kube::kBypassKey)},
      {kube::kChangesKey, state.resizes.empty() ? std::string() : kube::encode(state.resizes)}};
  for (const char* key :
       {kube::kServedResourcesKey, kube::kAnnouncedResourcesKey, kube::kFullDevicesKey})
    all[kube::oldKeyOf(key)] = devices.deprecated_names ? all[key] : std::string();
  for (const std::string& key : devices.left) all[key] = "";
  const bool registers = mayRegister(state, devices.resources);
  for (const auto& [key, value] : devices.registration)
    all[key] = registers ? value : valueIn(published, key);
  return all;
}

json::object annotationPatch(const Annotations& published, const Annotations& wanted) {
  json::object patch;
  for (const auto& [key, value] : wanted)
    if (valueIn(published, key) != value)
      patch[key] = value.empty() ? json::value(nullptr) : json::value(value);
  return patch;
}

}  // namespace divvy::agent
