// Metadata that all Kubernetes objects have.
#pragma once

#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::kube {

using Labels = std::map<std::string, std::string>;

// Metadata of an object. Other members are not kept: managedFields alone are larger than all that
// is used.
struct Meta {
  std::string name;
  std::string namespace_name;  // empty: cluster-scoped
  std::string uid;
  std::string version;  // resourceVersion: opaque, never compared for order
  Labels labels;
  Labels annotations;
  bool deleting = false;
  friend bool operator==(const Meta&, const Meta&) = default;
};

// Reads the metadata. Unknown members are ignored. kCorrupt: a member differs from the API.
Result<Meta> metaOf(const boost::json::value& object);

}  // namespace divvy::kube
