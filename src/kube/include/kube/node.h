// A Node, as far as placement needs it. Source: the core/v1 API.
#pragma once

#include "kube/object.h"
#include "kube/pod.h"

namespace divvy::kube {

struct Node {
  Meta meta;
  bool unschedulable = false;
  Quantities capacity;
  Quantities allocatable;
  friend bool operator==(const Node&, const Node&) = default;
};

Result<Node> nodeOf(const boost::json::value& object);

}  // namespace divvy::kube
