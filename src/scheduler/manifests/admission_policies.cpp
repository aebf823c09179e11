#include "scheduler/admission_policies.h"

#include <algorithm>

#include "kube/inventory.h"
#include "kube/volcano.h"
#include "manifests/cel.h"
#include "manifests/protected_annotations.h"
#include "scheduler/fencing_policy.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kNodeClaim = "authentication.kubernetes.io/node-name";
constexpr const char* kMaySetPriority = "divvy.dev/may-set-priority";  // a label of namespaces
constexpr const char* kHigh = "high";

struct Policy {
  std::string name;
  std::string why;          // lines of a comment
  std::string constraints;  // YAML, by 4
  std::string conditions;   // YAML of the list, by 4
  std::string variables;    // likewise; may be empty
  std::string validations;  // likewise
  std::string actions = "Deny";
};

std::string account(const std::string& name) {
  return std::string("system:serviceaccount:") + kSpace + ':' + name;
}

// An expression on a line of its own.
std::string folded(const std::string& key, const std::string& expression) {
  return key + ": >-\n          " + expression + '\n';
}

std::string condition(const std::string& name, const std::string& expression) {
  return "    - name: " + name + "\n      " + folded("expression", expression);
}

std::string validation(const std::string& expression, const std::string& message) {
  return "    - " + folded("expression", expression) + "      reason: Forbidden\n      " +
         folded("messageExpression", message);
}

std::string constraints(const std::string& operations, const std::string& resources) {
  return "    resourceRules:\n      - apiGroups: [\"\"]\n        apiVersions: [v1]\n"
         "        operations: [" +
         operations + "]\n        resources: [" + resources + "]\n";
}

std::string yamlOf(const Policy& policy) {
  std::string text = "---\n" + policy.why +
                     "apiVersion: admissionregistration.k8s.io/v1\n"
                     "kind: ValidatingAdmissionPolicy\nmetadata:\n  name: " +
                     policy.name + "\nspec:\n  failurePolicy: Fail\n  matchConstraints:\n" +
                     policy.constraints + "  matchConditions:\n" + policy.conditions;
  if (!policy.variables.empty()) text += "  variables:\n" + policy.variables;
  return text + "  validations:\n" + policy.validations +
         "---\napiVersion: admissionregistration.k8s.io/v1\n"
         "kind: ValidatingAdmissionPolicyBinding\nmetadata:\n  name: " +
         policy.name + "\nspec:\n  policyName: " + policy.name + "\n  validationActions: [" +
         policy.actions + "]\n";
}

std::string notBy(const std::vector<std::string>& users) {
  return condition("by-nobody-who-may", "!(request.userInfo.username in " + celList(users) + ')');
}

// Objects without such annotations cost a look at their keys, and no more.
std::string hasGuarded(const AnnotationKeys& keys) {
  const std::string cel = keys.cel();
  return condition("has-such-annotations",
                   "(has(object.metadata.annotations) && object.metadata.annotations.exists(k, " +
                       cel +
                       ")) || (request.operation == 'UPDATE' && "
                       "has(oldObject.metadata.annotations) && "
                       "oldObject.metadata.annotations.exists(k, " +
                       cel + "))");
}

std::string variable(const std::string& name, const std::string& expression) {
  return "    - name: " + name + "\n      " + folded("expression", expression);
}

// `touched`: the guarded annotations that are not what they were.
std::string touched(const AnnotationKeys& keys) {
  const std::string cel = keys.cel();
  return variable("now", "object.metadata.?annotations.orValue({})") +
         variable("before",
                  "request.operation == 'UPDATE' ? oldObject.metadata.?annotations.orValue({}) : "
                  "{}") +
         variable("touched", "variables.now.filter(k, (" + cel +
                                 ") && !(k in variables.before && variables.before[k] == "
                                 "variables.now[k])) + variables.before.filter(k, (" +
                                 cel + ") && !(k in variables.now))");
}

// `node`: the one that the caller's token is bound to; empty: none.
std::string nodeOfToken() {
  return variable("node",
                  std::string("request.userInfo.?extra[?'") + kNodeClaim + "'][0].orValue('')");
}

// The same, and `own`: by the agent, of what is its node's.
std::string touchedBy(const AnnotationKeys& keys, const PolicyOptions& options,
                      const std::string& node) {
  return touched(keys) + nodeOfToken() +
         variable("own", "request.userInfo.username == '" + account(options.agent) +
                             "' && variables.node != '' && variables.node == " + node);
}

const char* const kUntouched = "size(variables.touched) == 0 || variables.own";

// Namespaces that are not the cluster's own, nor ours, nor ask to be left alone. `but`: further
// requirements, YAML by 8.
std::string elsewhere(const std::string& but = "") {
  return "    namespaceSelector:\n      matchExpressions:\n"
         "        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, " +
         std::string(kSpace) +
         "]}\n"
         "        - {key: hami.io/webhook, operator: NotIn, values: [ignore]}\n" +
         but;
}

Policy podAnnotations(const vendors::Catalog& catalog, const PolicyOptions& options,
                      const std::vector<std::string>& writers) {
  const AnnotationKeys keys = guardedOfPods(catalog);
  // pods/status takes annotations, too.
  return {
      "divvy-pod-annotations",
      "# What a pod was given is written by the scheduler, and by the agent of the node that it\n"
      "# is on. What users ask for (hami.io/*-scheduler-policy, */use-gputype ...) is free.\n",
      constraints("CREATE, UPDATE", "pods, pods/status, pods/ephemeralcontainers, pods/resize"),
      notBy(writers) + hasGuarded(keys),
      touchedBy(keys, options,
                "(request.operation == 'UPDATE' ? oldObject.spec.?nodeName.orValue('') : '')"),
      validation(kUntouched,
                 "'annotations that say which devices a pod was given are "
                 "written by the scheduler only: ' + "
                 "variables.touched.join(', ')")};
}

constexpr const char* kMayBind =
    "authorizer.group('').resource('pods').subresource('binding').check('create').allowed()";

// Agents of nodes on which Volcano places go by what it wrote. Who it is nobody needs to be told:
// a scheduler of the cluster's may bind everywhere, and no tenant may.
Policy volcanoAnnotations() {
  const AnnotationKeys keys{{kube::kVolcanoAssigned}, {}};
  return {"divvy-volcano-annotations",
          "# What Volcano gave a pod is written by Volcano, or another scheduler that may bind\n"
          "# pods everywhere.\n",
          constraints("CREATE, UPDATE", "pods, pods/status, pods/ephemeralcontainers, pods/resize"),
          hasGuarded(keys),
          touched(keys),
          validation(std::string("size(variables.touched) == 0 || ") + kMayBind,
                     "'which devices Volcano gave a pod is written by schedulers only: ' + "
                     "variables.touched.join(', ')")};
}

Policy bindings(const vendors::Catalog& catalog, std::vector<std::string> binders) {
  binders.emplace_back("system:kube-scheduler");
  const std::string cel = guardedOfPods(catalog).cel();
  return {
      "divvy-bindings",
      "# A binding does not tell what its pod asks for. So who may bind in single namespaces\n"
      "# only is refused, unless it is named; who may bind everywhere is a scheduler of the\n"
      "# cluster's, and gets pods with devices only if divvy-devices lets it.\n",
      constraints("CREATE", "bindings, pods/binding"),
      notBy(binders),
      "",
      validation("!has(object.metadata.annotations) || !object.metadata.annotations.exists(k, " +
                     cel + ')',
                 "'annotations that say which devices a pod was given are written by the "
                 "scheduler only: ' + object.metadata.annotations.filter(k, " +
                     cel + ").join(', ')") +
          validation(kMayBind,
                     "request.userInfo.username + ' may not bind pods itself: leave it to the "
                     "scheduler that the pod names'")};
}

// An administrator may do all; neither an agent nor a kubelet has this right.
constexpr const char* kMayRecord =
    "authorizer.group('').resource('nodes').subresource('inventory').name(object.metadata.name)."
    "check('update').allowed()";

Policy nodeAnnotations(const vendors::Catalog& catalog, const PolicyOptions& options,
                       const std::vector<std::string>& writers) {
  const AnnotationKeys keys = guardedOfNodes(catalog);
  return {"divvy-node-annotations",
          "# Which devices a node has is written by its own agent.\n",
          constraints("CREATE, UPDATE", "nodes, nodes/status"),
          notBy(writers) + hasGuarded(keys),
          touchedBy(keys, options, "object.metadata.name") +
              variable("recorded", std::string("variables.touched.exists(k, k == '") +
                                       kube::kInventoryKey + "')"),
          validation("size(variables.touched) == 0 || variables.own || (variables.recorded && "
                     "size(variables.touched) == 1)",
                     "'annotations that say which devices a node has are written by "
                     "its own agent only: ' + variables.touched.join(', ')") +
              validation(std::string("!variables.recorded || ") + kMayRecord,
                         "'what a node may register at most is written by divvy scheduler, and by "
                         "users that may update nodes/inventory'")};
}

// Who has an agent's token has one node's, and of that what an agent writes.
Policy agents(const PolicyOptions& options) {
  const auto same = [](const std::string& part, const std::string& none) {
    return "object." + part + ".orValue(" + none + ") == oldObject." + part + ".orValue(" + none +
           ')';
  };
  return {
      "divvy-agents",
      "# An agent writes annotations, and amounts of resources, into its own node only: no\n"
      "# labels, no taints, nothing of other nodes.\n",
      constraints("UPDATE", "nodes, nodes/status"),
      condition("by-an-agent", "request.userInfo.username == '" + account(options.agent) + '\''),
      nodeOfToken(),
      validation("variables.node != '' && variables.node == object.metadata.name",
                 "'an agent writes into its own node only, not into ' + object.metadata.name") +
          validation("object.?spec == oldObject.?spec && " + same("metadata.?labels", "{}") +
                         " && " + same("metadata.?finalizers", "[]") + " && " +
                         same("status.?conditions", "[]"),
                     "'of its node an agent writes annotations and amounts of resources only'")};
}

Policy devices(const vendors::Catalog& catalog, std::vector<std::string> schedulers) {
  const auto any = [](const std::string& list) {
    return list + ".exists(c, c.?securityContext.?privileged.orValue(false))";
  };
  std::string accepted;
  for (const std::string& name : schedulers) accepted += (accepted.empty() ? "" : ", ") + name;
  return {"divvy-devices",
          "# A pod with devices that the webhook did not see is refused, and not placed without\n"
          "# limits: the webhook was away, or the pod asked not to be seen (hami.io/webhook).\n",
          elsewhere() + constraints("CREATE", "pods"),
          // What a kubelet was given as a file runs, whatever is said of its mirror.
          condition("by-no-kubelet", "!('system:nodes' in request.userInfo.groups)") +
              condition("asks-for-devices", celAsksForDevices(catalog)),
          "",
          validation("object.spec.?schedulerName.orValue('') in " + celList(schedulers),
                     "'the pod asks for devices and is for the scheduler ' + "
                     "object.spec.?schedulerName.orValue('') + ', which does not know who holds "
                     "them; accepted: " +
                         accepted + "'") +
              validation("object.spec.?nodeName.orValue('') == ''",
                         "'pod has node assigned: leave spec.nodeName to the scheduler'") +
              validation('!' + any("object.spec.containers") +
                             " && !(has(object.spec."
                             "initContainers) && " +
                             any("object.spec.initContainers") + ')',
                         "'a privileged container would see whole devices, whatever the pod asks "
                         "for'")};
}

// Ephemeral containers of `object` that it has now and had not before.
std::string addedEphemeral() {
  return variable("present",
                  "request.operation == 'UPDATE' ? oldObject.spec.?ephemeralContainers.orValue([])"
                  ".map(c, c.name) : []") +
         variable("added",
                  "object.spec.?ephemeralContainers.orValue([]).filter(c, !(c.name in "
                  "variables.present))");
}

// `kubectl debug --profile=sysadmin`: such a container is of the pod, and its share's limits are
// not its own. Those that are there already cannot be removed, and are no reason to refuse others.
Policy ephemeralContainers(const vendors::Catalog& catalog) {
  return {
      "divvy-ephemeral-containers",
      "# A pod with devices gets no privileged container later: kubectl debug adds them to a\n"
      "# pod that runs, where divvy-devices does not look.\n",
      elsewhere() + constraints("UPDATE", "pods/ephemeralcontainers"),
      condition("asks-for-devices", celAsksForDevices(catalog)),
      addedEphemeral() + variable("privileged",
                                  "variables.added.filter(c, "
                                  "c.?securityContext.?privileged.orValue(false)).map(c, c.name)"),
      validation("size(variables.privileged) == 0",
                 "'a privileged ephemeral container would see whole devices: ' + "
                 "variables.privileged.join(', ') + '; accepted for a pod with devices: "
                 "kubectl debug --profile general, baseline or restricted'")};
}

// NVIDIA's runtime gives a container the cards that its environment names, whatever it asks for.
// Many an image and a monitor does so: it is told, and whoever wants to refuse it binds it so.
Policy visibleDevices() {
  const std::string names =
      "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && (has(e.valueFrom) || "
      "!(e.?value.orValue('') in ['', 'none', 'void'])))";
  const std::string found =
      "object.spec.containers.filter(c, " + names +
      ").map(c, c.name) + object.spec.?initContainers.orValue([]).filter(c, " + names +
      ").map(c, c.name)";
  const std::string later = "variables.added.filter(c, " + names + ").map(c, c.name)";
  return {
      "divvy-visible-devices",
      "# Who names cards in its environment has whole ones where NVIDIA's runtime is the\n"
      "# default, past all shares: whoever makes such a pod is warned, and the audit log says\n"
      "# so. To refuse it make its binding's validationActions [Deny].\n",
      elsewhere() + constraints("CREATE, UPDATE", "pods, pods/ephemeralcontainers"),
      condition("by-no-kubelet", "!('system:nodes' in request.userInfo.groups)") +
          condition("adds-containers",
                    "request.operation == 'CREATE' || request.?subResource.orValue('') == "
                    "'ephemeralcontainers'"),
      addedEphemeral() +
          variable("naming", "request.operation == 'CREATE' ? " + found + " : " + later),
      validation("size(variables.naming) == 0",
                 "'cards named by NVIDIA_VISIBLE_DEVICES are whole ones, past all shares: leave it "
                 "out, and ask for devices in the limits of ' + variables.naming.join(', ')"),
      "Warn, Audit"};
}

// Gates keep pods of queues and gangs from being scheduled: who could take them away would go
// before everybody.
Policy gates(const std::vector<std::string>& writers) {
  const std::string ours = std::string(".exists(g, g.name == '") + kQueueGate + "')";
  return {
      "divvy-gates",
      "# Who waits in a queue, or for the rest of its gang, waits until the scheduler lets it.\n",
      constraints("UPDATE", "pods"),
      notBy(writers) +
          condition("takes-our-gate-away",
                    "has(oldObject.spec.schedulingGates) && oldObject.spec.schedulingGates" + ours +
                        " && !(has(object.spec.schedulingGates) && "
                        "object.spec.schedulingGates" +
                        ours + ')'),
      "",
      validation("false", "'the scheduler takes the gate " + std::string(kQueueGate) +
                              " away: divvy queues tells what the pod waits for'")};
}

// True where the scheduler's own options give the pod of this class high priority.
std::string celHighByClass(const PriorityRules& rules) {
  std::vector<std::string> high, named;
  for (const auto& [name, word] : rules.by_class) {
    named.push_back(name);
    if (word == kHigh) high.push_back(name);
  }
  const std::string cls = "object.spec.?priorityClassName.orValue('')";
  const std::string value = "object.spec.?priority.orValue(0)";
  std::string ranges;
  for (auto at = rules.by_value.begin(); at != rules.by_value.end(); ++at) {
    if (at->second != kHigh) continue;
    const auto next = std::next(at);
    ranges +=
        (ranges.empty() ? "(" : " || (") + value + " >= " + std::to_string(at->first) +
        (next == rules.by_value.end() ? "" : " && " + value + " < " + std::to_string(next->first)) +
        ')';
  }
  std::string text;
  if (!high.empty()) text = cls + " in " + celList(high);
  if (ranges.empty()) return text.empty() ? "false" : text;
  const std::string unnamed = named.empty() ? "" : "!(" + cls + " in " + celList(named) + ") && ";
  return (text.empty() ? "" : text + " || ") + '(' + unnamed + '(' + ranges + "))";
}

// Annotations `k` of `variables.now` that put the pod before others. A time is at most an hour in
// one of the forms that the scheduler reads; what it does not understand protects a pod, too. A
// change is JSON, whose words could be escaped: such a text is taken for the worst.
std::string celPutsFirst() {
  const std::string value = "variables.now[k]";
  return "((k == 'use.divvy.dev/priority' || k.endsWith('.use.divvy.dev/priority')) && " + value +
         " == 'high' && !variables.high) || (k == 'use.divvy.dev/evictable' && " + value +
         " != 'true') || (k == 'use.divvy.dev/min-runtime' && !" + value +
         ".matches('^(([0-9]{1,3}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s?|[1-5]?[0-9]m|60m|[01]h|0d)$'"
         ")) || (k == 'use.divvy.dev/change' && !variables.high && (" +
         value + ".matches('\"priority\"[^,}]*\"high\"') || " + value + ".contains('\\\\')))";
}

// High priority takes a device's latency class from its other tenants, and a pod that is never
// evicted is before all priorities.
Policy priority(const PolicyOptions& options, const std::vector<std::string>& writers) {
  const std::string keys =
      "k in ['use.divvy.dev/priority', 'use.divvy.dev/evictable', 'use.divvy.dev/min-runtime', "
      "'use.divvy.dev/change'] || k.endsWith('.use.divvy.dev/priority')";
  return {
      "divvy-priority",
      "# High priority, and protection from eviction, are for pods of namespaces with the\n"
      "# label divvy.dev/may-set-priority=true. A PriorityClass that the scheduler maps to\n"
      "# high (--priority-class, --priority-value) gives high priority anywhere.\n",
      elsewhere("        - {key: " + std::string(kMaySetPriority) +
                ", operator: NotIn, values: [\"true\"]}\n") +
          constraints("CREATE, UPDATE", "pods, pods/status, pods/ephemeralcontainers, pods/resize"),
      notBy(writers) + condition("by-no-kubelet", "!('system:nodes' in request.userInfo.groups)") +
          condition("has-such-annotations",
                    "object.metadata.?annotations.orValue({}).exists(k, " + keys + ")"),
      variable("now", "object.metadata.?annotations.orValue({})") +
          variable("before",
                   "request.operation == 'UPDATE' ? "
                   "oldObject.metadata.?annotations.orValue({}) : {}") +
          variable("high", celHighByClass(options.priorities)) +
          variable("first",
                   "variables.now.filter(k, !(k in variables.before && variables.before[k] == "
                   "variables.now[k]) && (" +
                       celPutsFirst() + "))"),
      validation("size(variables.first) == 0",
                 "'namespace ' + request.namespace + ' has no label " +
                     std::string(kMaySetPriority) +
                     "=true, and may not set: ' + variables.first.join(', ') + '; accepted: "
                     "priority normal or low, evictable true, min-runtime of 1h at most'")};
}

Result<void> checkNames(const std::vector<std::string>& names, const char* what) {
  for (const std::string& name : names) {
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("-_.:@/").find(c) != std::string_view::npos;
    });
    if (!good)
      return Error{ErrorCode::kUsage, std::string(what) + " \"" + name +
                                          "\" is not accepted; letters, digits and -_.:@/ are"};
  }
  return {};
}

}  // namespace

Result<std::string> policies(const vendors::Catalog& catalog, const PolicyOptions& options) {
  std::vector<std::string> classes;
  for (const auto& [name, word] : options.priorities.by_class) classes.push_back(name);
  for (const Result<void>& good :
       {checkNames(classes, "priority class"), checkNames({options.name}, "scheduler"),
        checkNames({options.agent}, "agent"), checkNames(options.writers, "writer"),
        checkNames(options.binders, "binder"), checkNames(options.schedulers, "scheduler")})
    if (!good) return good.error();
  std::vector<std::string> writers{account(options.name)};
  writers.insert(writers.end(), options.writers.begin(), options.writers.end());
  std::vector<std::string> binders = writers;
  binders.insert(binders.end(), options.binders.begin(), options.binders.end());
  std::vector<std::string> schedulers{options.name};
  schedulers.insert(schedulers.end(), options.schedulers.begin(), options.schedulers.end());
  return "# Made by `divvy scheduler --print policies`: who may do what to pods with devices. API\n"
         "# servers hold it up themselves, whether Divvy is there or not.\n" +
         yamlOf(podAnnotations(catalog, options, writers)) + yamlOf(bindings(catalog, binders)) +
         yamlOf(nodeAnnotations(catalog, options, writers)) + yamlOf(agents(options)) +
         yamlOf(devices(catalog, schedulers)) + yamlOf(ephemeralContainers(catalog)) +
         yamlOf(gates(writers)) + yamlOf(visibleDevices()) + yamlOf(volcanoAnnotations()) +
         yamlOf(priority(options, writers));
}

}  // namespace divvy::scheduler
