// Limits of ResourceQuotas on devices, and the use of namespaces. This counts allocations: API
// servers do not count device resources. Source: facts on the incumbent's control plane, 3.3. Pure.
// Private.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kube/resource_quota.h"
#include "quota/amounts.h"
#include "scheduler/device_usage.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

// Returns the text of a refusal for nodes: the reason's name in HAMi, then `why`.
inline std::string refusalText(const std::string& why) {
  return "ResourceQuotaNotFit: " + why;
}

class ResourceQuotaTracker {
 public:
  // `catalog` outlives it.
  explicit ResourceQuotaTracker(const vendors::Catalog& catalog);

  // Adds or replaces a ResourceQuota. Counts `limits.` of the resources for memory and cores; of
  // several quotas the smallest limit applies. kUsage: which limit is not counted; the rest counts.
  Result<void> set(const kube::ResourceQuota& quota);
  void remove(const std::string& uid);
  bool limits(const std::string& namespace_name) const { return limits_.contains(namespace_name); }

  // Sets the amounts that a pod (UID) holds or has reserved. Replaces its earlier amounts.
  void take(const std::string& uid, const std::string& namespace_name, Amounts amounts);
  // Removes a pod's amounts.
  void give(const std::string& uid);

  // Returns why the pod may not hold `more` now; none: it may. Its present amounts do not count.
  std::optional<std::string> refusal(const std::string& namespace_name, const std::string& uid,
                                     const Amounts& more) const;
  // Returns why no pod of the namespace may ever hold `more`; none: it may in an empty namespace.
  std::optional<std::string> never(const std::string& namespace_name, const Amounts& more) const;

  std::vector<QuotaUsage> uses() const;  // by namespace and resource

 private:
  struct Limit {
    std::string quota;      // name of the ResourceQuota
    std::int64_t most = 0;  // bytes, or thousandths of a device's compute
  };
  struct Resource {
    const vendors::Kind* kind = nullptr;
    bool memory = false;  // false: cores
  };
  struct Held {
    std::string namespace_name;
    Amounts amounts;
  };

  std::int64_t of(const Resource& resource, const Amount& amount) const;
  std::optional<std::string> check(const std::string& namespace_name, const Amounts& held,
                                   const Amounts& more) const;
  void readAnew();
  std::string meantBy(const std::string& key) const;

  std::map<std::string, Resource> resources_;                   // by name
  std::map<std::string, kube::ResourceQuota> quotas_;           // by UID
  std::map<std::string, std::map<std::string, Limit>> limits_;  // by namespace, then resource
  std::unordered_map<std::string, Held> held_;                  // by UID of the pod
  std::map<std::string, Amounts> sums_;                         // by namespace
};

}  // namespace divvy::scheduler
