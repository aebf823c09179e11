#include "kube/lease.h"

#include "objects/read_meta.h"

namespace divvy::kube {

Result<Lease> leaseOf(const json::value& object) {
  Members members(object, "");
  Lease lease;
  readMeta(members, &lease.meta);
  members.in("spec", [&](Members& spec) {
    spec.text("holderIdentity", &lease.holder);
    spec.number("leaseDurationSeconds", &lease.seconds);
    spec.number("leaseTransitions", &lease.transitions);
  });
  if (!members.ok()) return members.error();
  return lease;
}

std::string leasePath(const std::string& namespace_name, const std::string& name) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + namespace_name + "/leases/" + name;
}

}  // namespace divvy::kube
