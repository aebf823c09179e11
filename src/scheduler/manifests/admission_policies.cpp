#include "scheduler/admission_policies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/inventory.h"
#include "kube/volcano.h"
#include "manifests/cel.h"
#include "manifests/manifest_template.h"
#include "manifests/protected_annotations.h"
#include "scheduler/fencing_policy.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kHigh = "high";

std::string account(const std::string& name) {
  return std::string("system:serviceaccount:") + kDivvyNamespace + ':' + name;
}

std::vector<std::string> joined(std::vector<std::string> list,
                                const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
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
  const std::vector<std::string> users = joined({account(options.name)}, options.writers);
  const std::vector<std::string> schedulers = joined({options.name}, options.schedulers);
  std::string scheduler_names;
  for (const std::string& name : schedulers)
    scheduler_names += (scheduler_names.empty() ? "" : ", ") + name;

  using Value = std::pair<const std::string, std::string>;
  const Value namespace_name{"NAMESPACE", kDivvyNamespace}, agent{"AGENT", options.agent};
  const Value writers{"WRITERS", celList(users)};
  const Value is_device{"R_IS_DEVICE", celIsDevice(catalog)};
  const Value pod_key{"K_IS_PROTECTED", guardedOfPods(catalog).cel()};
  const Value node_key{"K_IS_PROTECTED", guardedOfNodes(catalog).cel()};
  const Value binders{"BINDERS",
                      celList(joined(joined(users, options.binders), {"system:kube-scheduler"}))};
  const Value high{"POD_CLASS_IS_HIGH", celHighByClass(options.priorities)};
  // In the order of the output.
  const std::pair<const char*, std::map<std::string, std::string>> templates[] = {
      {"header", {}},
      {"pod-annotations", {namespace_name, agent, writers, pod_key}},
      {"bindings", {binders, pod_key}},
      {"node-annotations",
       {namespace_name, agent, writers, node_key, {"INVENTORY_KEY", kube::kInventoryKey}}},
      {"agents", {namespace_name, agent}},
      {"devices",
       {namespace_name,
        is_device,
        {"SCHEDULERS", celList(schedulers)},
        {"SCHEDULER_NAMES", scheduler_names}}},
      {"ephemeral-containers", {namespace_name, is_device}},
      {"gates", {writers, {"QUEUE_GATE", kQueueGate}}},
      {"visible-devices", {namespace_name}},
      {"volcano-annotations", {{"VOLCANO_KEY", kube::kVolcanoAssigned}}},
      {"priority", {namespace_name, writers, high}},
  };
  std::string text;
  for (const auto& [name, values] : templates) {
    Result<std::string> one =
        renderManifest("policies/" + std::string(name) + ".yaml", {.values = values});
    if (!one) return std::move(one).error();
    text += *one;
  }
  return text;
}

}  // namespace divvy::scheduler
