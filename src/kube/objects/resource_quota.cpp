#include "kube/resource_quota.h"

#include "objects/read_meta.h"

namespace divvy::kube {

Result<ResourceQuota> resourceQuotaOf(const json::value& object) {
  Members members(object, "");
  ResourceQuota quota;
  readMeta(members, &quota.meta);
  members.in("spec", [&](Members& spec) { spec.quantities("hard", &quota.hard); });
  if (!members.ok()) return members.error();
  return quota;
}

}  // namespace divvy::kube
