#include "scheduler/fencing_policy.h"

#include <set>

#include "kube/resize_request.h"

namespace divvy::scheduler {
namespace {

// What the policy says.
const std::string kOver = "it was decided in a term of the scheduler's Lease that is over";

std::string celKeys(const vendors::Catalog& catalog) {
  std::set<std::string> allocated;
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->wire.placed()) allocated.insert(kind->wire.pod.allocated);
  std::string keys = std::string("'") + kTermAnnotation + '\'';
  for (const std::string& key : allocated) keys += ", '" + key + '\'';
  return '[' + keys + ']';
}

std::string celGives(const vendors::Catalog& catalog) {
  return "has(object.metadata.annotations) && object.metadata.annotations.exists(k, k in " +
         celKeys(catalog) + ')';
}

// Of a pod that is changed: it says something else of an admission than before.
std::string celAdmits() {
  const std::string key = std::string("'") + kube::kChangeStateKey + '\'';
  const auto has = [&](const std::string& object) {
    return "has(" + object + ".metadata.annotations) && " + object +
           ".metadata.annotations.exists(k, k == " + key + ')';
  };
  const auto said = [&](const std::string& object) {
    return object + ".metadata.annotations[" + key + ']';
  };
  return '(' + has("object") + " && " + said("object") +
         R"(.contains('"phase":"admitted"') && !()" + has("oldObject") + " && " +
         said("oldObject") + " == " + said("object") + "))";
}

}  // namespace

std::string explainFenced(const std::string& refusal) {
  // Source: k8s.io/apiserver, pkg/admission/plugin/policy/generic.
  const bool gone = refusal.find("no params found for policy binding") != std::string::npos;
  const bool old = refusal.find(kOver) != std::string::npos;
  if (!gone && !old) return refusal;
  return refusal + (gone ? "; " : "; where it stays so, ") +
         "the API server had this policy before, and goes on with the Lease as it was then: "
         "start API servers anew, or switch fencing off (scheduler.fencing=false; "
         "docs/install.md, Again)";
}

std::string fencingPolicy(const vendors::Catalog& catalog, const std::string& name) {
  const std::string term = std::string("object.metadata.annotations.exists(k, k == '") +
                           kTermAnnotation + "') && object.metadata.annotations['" +
                           kTermAnnotation +
                           "'] == params.metadata.uid + '/' + string(params.spec.leaseTransitions)";
  const std::string admitted = std::string("object.metadata.annotations['") +
                               kube::kChangeStateKey +
                               R"('].contains('"term":"' + params.metadata.uid + '/' + )" +
                               R"(string(params.spec.leaseTransitions) + '"'))";
  return R"(# Made by `divvy scheduler --print fencing`: a binding that gives devices, and a
# change of a running pod that is admitted, have to be decided in the term of whoever holds the
# scheduler's Lease now. Not for one with --lease none.
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
      - operations: [UPDATE]
        apiGroups: [""]
        apiVersions: [v1]
        resources: [pods]
  # Whoever binds pods without devices, and changes something else of pods, is not concerned.
  matchConditions:
    - name: gives-devices
      expression: >-
        request.operation == 'CREATE' ? ()" +
         celGives(catalog) + ") : " + celAdmits() + R"(
  validations:
    - expression: >-
        request.operation == 'CREATE' ? ()" +
         term + ") : " + admitted + R"(
      message: )" +
         kOver + R"(
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
