#include "deviceplugin/resource_names.h"

#include <algorithm>
#include <string_view>

#include "engine/selection.h"
#include "kube/registration.h"

namespace divvy::agent {
namespace {

constexpr std::string_view kNvidias = "nvidia.com/";

std::vector<engine::ModelName> wordsOf(const std::vector<std::string>& texts) {
  std::vector<engine::ModelName> words;
  for (const std::string& text : texts) words.emplace_back(text);
  return words;
}

bool counts(const ModelCount& name, const Device& device) {
  const engine::ModelName model(device.info.model);
  constexpr auto kWords = engine::ModelMatch::kWords;
  return engine::namesModel(wordsOf(name.models), kWords, model) &&
         !engine::namesModel(wordsOf(name.not_models), kWords, model);
}

// As NVIDIA's own plugin calls its sockets, and HAMi's, which is made of it; empty: it has no such
// name.
std::string rivalOf(const std::string& resource) {
  if (!resource.starts_with(kNvidias)) return {};
  return "nvidia-" + resource.substr(kNvidias.size()) + ".sock";
}

// `own`: so many of them count all devices. Another plugin for those serves the same devices.
void addRivals(std::size_t own, std::vector<ExtendedResource>* names) {
  std::vector<std::string> all;
  bool shared = false;
  for (std::size_t at = 0; at < names->size(); ++at) {
    const std::string rival = rivalOf((*names)[at].resource);
    if (!rival.empty()) all.push_back(rival);
    shared = shared || (at < own && !rival.empty());
  }
  for (ExtendedResource& name : *names) {
    const std::string rival = rivalOf(name.resource);
    if (shared) name.rivals = all;
    if (!shared && !rival.empty()) name.rivals = {rival};
  }
}

std::string profileOf(const Device& device) {
  return device.info.instance() ? kube::profileIn(device.info.model) : std::string();
}

}  // namespace

std::vector<ExtendedResource> countedNames(const ClusterNode& cluster,
                                           const std::vector<Device>& devices) {
  std::vector<ExtendedResource> names;
  const auto add = [&](const std::string& resource, unsigned units, const auto& has) {
    ExtendedResource name{resource, {}, units, {}};
    for (std::size_t at = 0; at < devices.size(); ++at)
      if (!devices[at].excluded && has(devices[at])) name.devices.push_back(at);
    const bool known = std::any_of(names.begin(), names.end(), [&](const ExtendedResource& other) {
      return other.resource == resource;
    });
    if (!known) names.push_back(std::move(name));
  };
  for (const std::string& resource : cluster.resources)
    add(resource, cluster.per_device, [](const Device&) { return true; });
  const std::size_t own = names.size();
  for (const ModelCount& one : cluster.of_models)
    add(one.resource, cluster.per_device,
        [&](const Device& device) { return counts(one, device); });
  std::set<std::string> profiles;
  for (const Device& device : devices) profiles.insert(profileOf(device));
  profiles.erase("");
  // A container that requests an instance by its profile has it alone.
  if (!cluster.instances_prefix.empty())
    for (const std::string& profile : profiles)
      add(cluster.instances_prefix + profile, 1,
          [&](const Device& device) { return profileOf(device) == profile; });
  for (std::size_t at = names.size(); at-- > own;)
    if (names[at].devices.empty()) names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
  addRivals(own, &names);
  return names;
}

std::set<std::string> resourcesOf(const std::vector<ExtendedResource>& names) {
  std::set<std::string> resources;
  for (const ExtendedResource& name : names) resources.insert(name.resource);
  return resources;
}

}  // namespace divvy::agent
