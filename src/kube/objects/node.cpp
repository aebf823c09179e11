#include "kube/node.h"

#include "objects/read_meta.h"

namespace divvy::kube {

Result<Node> nodeOf(const json::value& object) {
  Members members(object, "");
  Node node;
  readMeta(members, &node.meta);
  members.in("spec", [&](Members& spec) { spec.flag("unschedulable", &node.unschedulable); });
  members.in("status", [&](Members& status) {
    status.quantities("capacity", &node.capacity);
    status.quantities("allocatable", &node.allocatable);
  });
  if (!members.ok()) return members.error();
  return node;
}

}  // namespace divvy::kube
