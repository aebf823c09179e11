#include "scheduler/manifests.h"

#include <set>

#include "manifests/cel.h"
#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {
namespace {

// Those that nodes can register: pods with others are not taken from whoever places them now.
std::vector<const vendors::Kind*> placedKinds(const vendors::Catalog& catalog) {
  std::vector<const vendors::Kind*> kinds;
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->wire.placed()) kinds.push_back(kind);
  return kinds;
}

// Of partitions the whole names: kube-scheduler has no prefixes.
std::vector<std::string> instanceNames(const vendors::Catalog& catalog) {
  std::set<std::string> names;
  for (const vendors::Kind* kind : placedKinds(catalog)) {
    if (kind->instances_prefix.empty()) continue;
    for (const vendors::Geometry& geometry : kind->geometries)
      for (const vendors::Instance& one : geometry.instances)
        names.insert(kind->instances_prefix + one.name);
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> resourceNames(const vendors::Catalog& catalog) {
  std::set<std::string> names;
  for (const vendors::Kind* kind : placedKinds(catalog))
    for (std::string& one : vendors::resourcesOf(*kind)) names.insert(std::move(one));
  return {names.begin(), names.end()};
}

std::vector<std::string> resourcePrefixes(const vendors::Catalog& catalog) {
  std::set<std::string> prefixes;
  for (const vendors::Kind* kind : placedKinds(catalog))
    if (!kind->instances_prefix.empty()) prefixes.insert(kind->instances_prefix);
  return {prefixes.begin(), prefixes.end()};
}

std::string schedulerConfig(const vendors::Catalog& catalog, const std::string& name,
                            bool all_feasible) {
  std::string text =
      R"(# Made by `divvy scheduler --print config`: for a kube-scheduler of the
# cluster's own version that runs beside Divvy in one pod.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
# Who holds this Lease places pods, and Divvy beside it: the others wait. A leader that is lost is
# replaced within leaseDuration and two retryPeriods.
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceNamespace: )" +
      std::string(kSpace) + R"(
  resourceName: )" +
      name + R"(
  leaseDuration: 8s
  renewDeadline: 5s
  retryPeriod: 1s
# All nodes are looked at: a choice among a sample is worse by what the sample hides.
percentageOfNodesToScore: 100
profiles:
  - schedulerName: )" +
      name + R"(
    pluginConfig:
      # Which nodes a pod would fit but for processors and the like: all of them are told to Divvy,
      # which makes pods end for those with devices itself (preemptVerb: it lets kube-scheduler end
      # none). For pods without devices kube-scheduler does it, as ever.
      - name: DefaultPreemption
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: DefaultPreemptionArgs
          minCandidateNodesPercentage: 100
extenders:
  - urlPrefix: http://127.0.0.1:9396
    filterVerb: filter
    preemptVerb: preempt
)" + (all_feasible ? "    prioritizeVerb: prioritize\n" : "") +
      R"(    bindVerb: bind
    weight: 1
    nodeCacheCapable: true
    httpTimeout: 30s
    # Pods that ask for none of these are not sent; how much of them there is is not
    # kube-scheduler's business.
    managedResources:
)";
  std::vector<std::string> names = resourceNames(catalog);
  for (const std::string& one : instanceNames(catalog)) names.push_back(one);
  for (const std::string& one : names)
    text += "      - {name: " + one + ", ignoredByScheduler: true}\n";
  return text;
}

std::string webhookConfig(const vendors::Catalog& catalog, const std::string& name) {
  return R"(# Made by `divvy scheduler --print webhook`: gives pods that ask for devices
# to the scheduler, and refuses those that can never be right.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: )" +
         name + R"(
webhooks:
  - name: pods.divvy.dev
    admissionReviewVersions: [v1]
    sideEffects: None
    # Only for pods that ask for devices (below): nobody else's pods are kept from being made
    # because Divvy is away.
    failurePolicy: Fail
    reinvocationPolicy: IfNeeded
    timeoutSeconds: 10
    rules:
      - operations: [CREATE]
        apiGroups: [""]
        apiVersions: [v1]
        resources: [pods]
        scope: Namespaced
      # kubectl debug adds containers to pods that run.
      - operations: [UPDATE]
        apiGroups: [""]
        apiVersions: [v1]
        resources: [pods/ephemeralcontainers]
        scope: Namespaced
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, divvy-system]}
        - {key: hami.io/webhook, operator: NotIn, values: [ignore]}
    objectSelector:
      matchExpressions:
        - {key: hami.io/webhook, operator: NotIn, values: [ignore]}
    matchConditions:
      - name: asks-for-devices
        expression: >-
          )" +
         celAsksForDevices(catalog) + R"(
    clientConfig:
      service:
        name: )" +
         name + R"(
        namespace: divvy-system
        path: /webhook
        port: 9443
)";
}

}  // namespace divvy::scheduler
