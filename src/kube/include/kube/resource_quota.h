// ResourceQuota: limits of a namespace. Source: the core/v1 API.
#pragma once

#include "kube/object.h"
#include "kube/pod.h"

namespace divvy::kube {

struct ResourceQuota {
  Meta meta;
  Quantities hard;  // "limits.nvidia.com/gpumem": "20480"
  friend bool operator==(const ResourceQuota&, const ResourceQuota&) = default;
};

Result<ResourceQuota> resourceQuotaOf(const boost::json::value& object);

}  // namespace divvy::kube
