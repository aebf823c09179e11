#include "scheduler/kueue_config.h"

#include <map>
#include <set>

namespace divvy::scheduler {
namespace {

using Means = vendors::ResourceAlias::Means;

// The name that HAMi's users know from Kueue's documentation: nvidia.com/total-gpumem.
std::string totalOf(const std::string& resource) {
  const std::size_t name = resource.find('/') + 1;
  return resource.substr(0, name) + "total-" + resource.substr(name);
}

std::string domainOf(const std::string& resource) {
  return resource.substr(0, resource.find('/'));
}

// The count that a pod states beside `resource`: in names of the same domain.
std::string countBeside(const vendors::Kind& kind, const std::string& resource) {
  for (const vendors::ResourceAlias& one : kind.also)
    if (one.means == Means::kCount && domainOf(one.resource) == domainOf(resource))
      return one.resource;
  return kind.count.resource;
}

// Resources that state an amount of each device, with the resource that counts the devices.
void addPerDevice(const vendors::Kind& kind, std::map<std::string, std::string>* all) {
  if (kind.count.resource.empty()) return;
  const auto add = [all](const std::string& resource, const std::string& count) {
    if (!resource.empty()) all->emplace(resource, count);
  };
  add(kind.memory.resource, kind.count.resource);
  if (!kind.cores.counts) add(kind.cores.resource, kind.count.resource);
  for (const vendors::ResourceAlias& one : kind.also) {
    const bool is_amount =
        one.means == Means::kMemory || (one.means == Means::kCores && !kind.cores.counts);
    if (is_amount) add(one.resource, countBeside(kind, one.resource));
  }
}

// Resources that are no amounts: percentages of a device whose size is unknown, and priorities.
void addNoAmounts(const vendors::Kind& kind, std::set<std::string>* all) {
  for (const std::string& one : {kind.memory.percent, kind.priority})
    if (!one.empty()) all->insert(one);
  for (const vendors::ResourceAlias& one : kind.also)
    if (one.means == Means::kPercent) all->insert(one.resource);
}

}  // namespace

std::string kueueConfiguration(const vendors::Catalog& catalog, KueueRole role) {
  std::map<std::string, std::string> per_device;
  std::set<std::string> no_amounts;
  for (const vendors::Kind* kind : catalog.kinds()) {
    if (!kind->wire.placed()) continue;
    addPerDevice(*kind, &per_device);
    addNoAmounts(*kind, &no_amounts);
  }
  std::string text =
      "# Merge this into Kueue's configuration (ConfigMap kueue-manager-config).\n"
      "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
      "kind: Configuration\n";
  if (role == KueueRole::kManager)
    text +=
        "# `divvy hub --dispatch` nominates clusters, and Kueue clears its nominations.\n"
        "multiKueue: {dispatcherName: divvy.dev/dispatcher}\n"
        "featureGates: {WorkloadRequestUseMergePatch: true}\n";
  text += per_device.empty() && no_amounts.empty() ? "resources: {}\n" : "resources:\n";
  if (!no_amounts.empty()) {
    text += "  # Percentages and priorities: a quota cannot count them.\n";
    text += "  excludeResourcePrefixes:\n";
    for (const std::string& one : no_amounts) text += "  - " + one + '\n';
  }
  if (!per_device.empty()) {
    text += "  # A pod states these for each of its devices. Quotas cover their totals.\n";
    text += "  transformations:\n";
    for (const auto& [resource, count] : per_device)
      text += "  - {input: " + resource + ", strategy: Replace, multiplyBy: " + count +
              ", outputs: {" + totalOf(resource) + ": \"1\"}}\n";
  }
  return text;
}

}  // namespace divvy::scheduler
