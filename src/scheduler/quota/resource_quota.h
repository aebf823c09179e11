// What namespaces may hold of devices, and hold: ResourceQuotas, counted by what was given and not
// by what API servers count, who know nothing of such resources. Source: facts on the incumbent's
// control plane, 3.3. Pure. Private.
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

// As nodes are told of it: HAMi's word for it, and the reason.
inline std::string refusalText(const std::string& why) {
  return "ResourceQuotaNotFit: " + why;
}

class ResourceQuotaTracker {
 public:
  // `catalog` outlives it.
  explicit ResourceQuotaTracker(const vendors::Catalog& catalog);

  // Counted are `limits.` of the resources that memory and cores are asked for by; of several
  // objects the least holds. kUsage: what of it is not counted; the rest is.
  Result<void> set(const kube::ResourceQuota& quota);
  void remove(const std::string& uid);
  bool limits(const std::string& space) const { return limits_.contains(space); }

  // Who holds, or is promised, how much: instead of what it had.
  void take(const std::string& uid, const std::string& space, Amounts amounts);
  void give(const std::string& uid);

  // Why it may not have so much now; none: it may. What it has itself does not count.
  std::optional<std::string> refusal(const std::string& space, const std::string& uid,
                                     const Amounts& more) const;
  // Likewise, were nobody else there.
  std::optional<std::string> never(const std::string& space, const Amounts& more) const;

  std::vector<QuotaUsage> uses() const;  // by namespace and resource

 private:
  struct Limit {
    std::string quota;  // whose name
    std::int64_t most = 0;
  };
  struct Resource {
    const vendors::Kind* kind = nullptr;
    bool memory = false;  // else cores
  };
  struct Held {
    std::string space;
    Amounts amounts;
  };

  std::int64_t of(const Resource& resource, const Amount& amount) const;
  std::optional<std::string> check(const std::string& space, const Amounts& held,
                                   const Amounts& more) const;
  void readAnew();
  std::string meantBy(const std::string& key) const;

  std::map<std::string, Resource> resources_;                   // by name
  std::map<std::string, kube::ResourceQuota> quotas_;           // by UID
  std::map<std::string, std::map<std::string, Limit>> limits_;  // by namespace and resource
  std::unordered_map<std::string, Held> held_;                  // by UID of the pod
  std::map<std::string, Amounts> sums_;                         // by namespace
};

}  // namespace divvy::scheduler
