// What all objects of Kubernetes have.
#pragma once

#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::kube {

using Labels = std::map<std::string, std::string>;

// Of the rest nothing is kept: a cluster's managedFields alone are larger than all that we use.
struct Meta {
  std::string name;
  std::string space;  // namespace; empty: of the cluster
  std::string uid;
  std::string version;  // resourceVersion: only to be given back, never compared
  Labels labels;
  Labels annotations;
  bool deleting = false;
  friend bool operator==(const Meta&, const Meta&) = default;
};

// kCorrupt: which member is not what the API says it is. Members that are not known are left.
Result<Meta> metaOf(const boost::json::value& object);

}  // namespace divvy::kube
