#include "scheduler/queue_crd.h"

#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {
namespace {

// `by` blanks in front of each line.
std::string indented(const std::string& text, std::size_t by) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = text.find('\n', from);
    out += std::string(by, ' ') + text.substr(from, end - from) + '\n';
    from = end + 1;
  }
  return out;
}

// A list of amounts by model.
std::string amounts(const std::string& what) {
  return "description: " + what + R"(
type: array
maxItems: 64
x-kubernetes-list-type: map
x-kubernetes-list-map-keys: [model]
items:
  type: object
  required: [model]
  properties:
    model:
      description: Devices with these whole words in their model, as H20 or RTX 4090; "*" for all.
      type: string
      minLength: 1
      maxLength: 128
    gpuMilli:
      description: Thousandths of a device's compute.
      type: integer
      format: int64
      minimum: 0
      maximum: 1000000000000
    memoryMiB:
      description: MiB of a device's memory.
      type: integer
      format: int64
      minimum: 0
      maximum: 1000000000000
)";
}

std::string spec() {
  return R"(description: Who may have how much.
type: object
properties:
  parent:
    description: The queue that it is below; none for one at the top.
    type: string
    maxLength: 253
  namespaces:
    description: >-
      Who may use it, and does unless a pod or its namespace names another. None - whoever names it.
    type: array
    maxItems: 1024
    x-kubernetes-list-type: set
    items:
      type: string
      minLength: 1
      maxLength: 63
  weight:
    description: Of what is beyond guarantees, against its siblings.
    type: integer
    format: int64
    minimum: 1
    maximum: 1000000
    default: 1
  pool:
    description: >-
      Of pods that name none, and of queues below it that do not; "none" - devices in no pool.
    type: string
    maxLength: 253
  borrowing:
    description: May have more than its guarantee, of what others do not use.
    type: boolean
    default: true
  reclaim:
    description: >-
      Pods of it that are within its guarantee have others end that borrowed it (borrowed), or wait
      until they do (never).
    type: string
    enum: [borrowed, never]
    default: borrowed
  guarantee:
)" + indented(amounts("What it and the queues below it can always have. Lent while unused."), 4) +
         "  limit:\n" +
         indented(amounts("The most that they can have; what is not named has no limit."), 4);
}

std::string status() {
  return R"(description: Written by the scheduler.
type: object
properties:
  used:
)" + indented(amounts("What it and the queues below it have."), 4) +
         R"(  running:
    description: Pods of its own that have devices, or are about to.
    type: integer
    format: int64
  pending:
    description: Pods of its own that wait.
    type: integer
    format: int64
  waiting:
    description: What they wait for.
    type: array
    items:
      type: object
      properties:
        reason:
          type: string
        pods:
          type: integer
          format: int64
        example:
          type: string
  fault:
    description: Why it is not in force. Empty - it is.
    type: string
)";
}

std::string role(const std::string& name) {
  return R"(---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: )" +
         name + R"(-queues
rules:
  - apiGroups: [divvy.dev]
    resources: [queues]
    verbs: [get, list, watch]
  - apiGroups: [divvy.dev]
    resources: [queues/status]
    verbs: [patch]
  # Namespaces say which queue is their default.
  - apiGroups: [""]
    resources: [namespaces]
    verbs: [get, list, watch]
  # How many of a gang start together, where its pods do not say.
  - apiGroups: [scheduling.x-k8s.io, scheduling.volcano.sh]
    resources: [podgroups]
    verbs: [get]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: )" +
         name + R"(-queues
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: )" +
         name + R"(-queues
subjects:
  - kind: ServiceAccount
    name: )" +
         name + R"(
    namespace: )" +
         kSpace + R"(
---
# Who may see pods may see what they wait for.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: divvy-queues-view
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
rules:
  - apiGroups: [divvy.dev]
    resources: [queues]
    verbs: [get, list, watch]
)";
}

}  // namespace

std::string queuesManifest(const std::string& name) {
  return R"(# Made by `divvy scheduler --print queues`: who has how much, and may see it.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: queues.divvy.dev
spec:
  group: divvy.dev
  scope: Cluster
  names:
    kind: Queue
    listKind: QueueList
    plural: queues
    singular: queue
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources:
        status: {}
      additionalPrinterColumns:
        - {name: Parent, type: string, jsonPath: .spec.parent}
        - {name: Running, type: integer, jsonPath: .status.running}
        - {name: Pending, type: integer, jsonPath: .status.pending}
        - {name: Waits for, type: string, jsonPath: ".status.waiting[0].reason", priority: 1}
        - {name: Fault, type: string, jsonPath: .status.fault}
      schema:
        openAPIV3Schema:
          description: So much of the devices of a cluster, for those who wait in it.
          type: object
          required: [spec]
          properties:
            spec:
)" + indented(spec(), 14) +
         "            status:\n" + indented(status(), 14) + role(name);
}

}  // namespace divvy::scheduler
