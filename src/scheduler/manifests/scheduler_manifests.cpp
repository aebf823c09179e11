#include "scheduler/manifests.h"

#include <set>

#include "manifests/cel.h"
#include "manifests/manifest_template.h"
#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {
namespace {

// Kinds that nodes can register: pods with other kinds stay with their present scheduler.
std::vector<const vendors::Kind*> placedKinds(const vendors::Catalog& catalog) {
  std::vector<const vendors::Kind*> kinds;
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->wire.placed()) kinds.push_back(kind);
  return kinds;
}

// Of partitions the whole names: kube-scheduler has no prefixes.
std::vector<std::string> instanceNames(const vendors::Catalog& catalog) {
  std::set<std::string> names;
  for (const vendors::Kind* kind : placedKinds(catalog)) {
    if (kind->instances_prefix.empty()) continue;
    for (const vendors::Geometry& geometry : kind->geometries)
      for (const vendors::Instance& one : geometry.instances)
        names.insert(kind->instances_prefix + one.name);
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> resourceNames(const vendors::Catalog& catalog) {
  std::set<std::string> names;
  for (const vendors::Kind* kind : placedKinds(catalog))
    for (std::string& one : vendors::resourcesOf(*kind)) names.insert(std::move(one));
  return {names.begin(), names.end()};
}

std::vector<std::string> resourcePrefixes(const vendors::Catalog& catalog) {
  std::set<std::string> prefixes;
  for (const vendors::Kind* kind : placedKinds(catalog))
    if (!kind->instances_prefix.empty()) prefixes.insert(kind->instances_prefix);
  return {prefixes.begin(), prefixes.end()};
}

Result<std::string> schedulerConfig(const vendors::Catalog& catalog, const std::string& name,
                                    bool all_feasible) {
  std::vector<std::string> managed = resourceNames(catalog);
  for (std::string& one : instanceNames(catalog)) managed.push_back(std::move(one));
  std::vector<std::string> prioritize;
  if (all_feasible) prioritize.emplace_back("prioritize");
  return renderManifest(
      "scheduler-config.yaml",
      {.values = {{"NAME", name}, {"NAMESPACE", kDivvyNamespace}},
       .lists = {{"PRIORITIZE_VERB", prioritize}, {"MANAGED_RESOURCE", managed}}});
}

Result<std::string> webhookConfig(const vendors::Catalog& catalog, const std::string& name) {
  return renderManifest("webhook.yaml", {.values = {{"NAME", name},
                                                    {"NAMESPACE", kDivvyNamespace},
                                                    {"R_IS_DEVICE", celIsDevice(catalog)}}});
}

}  // namespace divvy::scheduler
