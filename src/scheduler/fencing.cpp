#include "scheduler/fencing.h"

#include <set>

namespace divvy::scheduler {
namespace {

std::string celKeys(const vendors::Catalog& catalog) {
  std::set<std::string> allocated;
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->wire.placed()) allocated.insert(kind->wire.pod.allocated);
  std::string keys = std::string("'") + kTermAnnotation + '\'';
  for (const std::string& key : allocated) keys += ", '" + key + '\'';
  return '[' + keys + ']';
}

}  // namespace

std::string fencingPolicy(const vendors::Catalog& catalog, const std::string& name) {
  const std::string term = std::string("object.metadata.annotations.exists(k, k == '") +
                           kTermAnnotation + "') && object.metadata.annotations['" +
                           kTermAnnotation +
                           "'] == params.metadata.uid + '/' + string(params.spec.leaseTransitions)";
  return R"(# Made by `divvy scheduler --print fencing`: a binding that gives devices has to be
# decided in the term of whoever holds the scheduler's Lease now. Not for one with --lease none.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: )" +
         name + R"(-fencing
spec:
  failurePolicy: Fail
  paramKind:
    apiVersion: coordination.k8s.io/v1
    kind: Lease
  matchConstraints:
    resourceRules:
      - operations: [CREATE]
        apiGroups: [""]
        apiVersions: [v1]
        resources: [pods/binding, bindings]
  # Whoever binds pods without devices is not concerned.
  matchConditions:
    - name: gives-devices
      expression: >-
        has(object.metadata.annotations) && object.metadata.annotations.exists(k, k in )" +
         celKeys(catalog) + R"()
  validations:
    - expression: >-
        )" +
         term + R"(
      message: the binding was decided in a term of the scheduler's Lease that is over
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: )" +
         name + R"(-fencing
spec:
  policyName: )" +
         name + R"(-fencing
  validationActions: [Deny]
  paramRef:
    namespace: )" +
         kSpace + R"(
    name: )" +
         name + R"(
    parameterNotFoundAction: Deny
)";
}

}  // namespace divvy::scheduler
