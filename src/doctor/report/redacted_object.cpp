#include "doctor/redacted_object.h"

#include <string>

#include "json/path.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;

// Copies the value under its own name if it is a string, number or boolean.
void copyMember(const json::value& object, JsonPath path, json::object* out) {
  const json::value* found = memberAt(object, path);
  if (found == nullptr || found->is_structured() || found->is_null()) return;
  (*out)[*(path.end() - 1)] = *found;
}

json::object aboutDevices(const json::value& object, const char* member, std::size_t* others) {
  json::object kept;
  const json::value* all = memberAt(object, {"metadata", member});
  if (all == nullptr || !all->is_object()) return kept;
  for (const auto& [key, value] : all->get_object()) {
    const std::string_view name(key.data(), key.size());
    if (isAboutDevices(name) && value.is_string()) {
      kept[key] = value;
    } else {
      ++*others;
    }
  }
  return kept;
}

// Amounts by resource; strings only.
json::object amountsOf(const json::value* all) {
  json::object kept;
  if (all == nullptr || !all->is_object()) return kept;
  for (const auto& [key, value] : all->get_object())
    if (value.is_string() || value.is_number()) kept[key] = value;
  return kept;
}

json::array each(const json::value& object, JsonPath path, JsonPath members) {
  json::array kept;
  const json::value* all = memberAt(object, path);
  if (all == nullptr || !all->is_array()) return kept;
  for (const json::value& one : all->get_array()) {
    json::object row;
    for (const std::string_view member : members) copyMember(one, {member}, &row);
    kept.push_back(std::move(row));
  }
  return kept;
}

json::object named(const json::value& object) {
  json::object out;
  copyMember(object, {"metadata", "namespace"}, &out);
  copyMember(object, {"metadata", "name"}, &out);
  copyMember(object, {"metadata", "creationTimestamp"}, &out);
  copyMember(object, {"metadata", "deletionTimestamp"}, &out);
  return out;
}

void addKeys(const json::value& object, json::object* out) {
  std::size_t others = 0;
  (*out)["labels"] = aboutDevices(object, "labels", &others);
  (*out)["annotations"] = aboutDevices(object, "annotations", &others);
  (*out)["other_labels_and_annotations"] = others;
}

json::array containersOf(const json::value& pod, const char* member) {
  json::array kept;
  const json::value* all = memberAt(pod, {"spec", member});
  if (all == nullptr || !all->is_array()) return kept;
  for (const json::value& one : all->get_array()) {
    json::object row;
    copyMember(one, {"name"}, &row);
    copyMember(one, {"restartPolicy"}, &row);
    row["limits"] = amountsOf(memberAt(one, {"resources", "limits"}));
    row["requests"] = amountsOf(memberAt(one, {"resources", "requests"}));
    kept.push_back(std::move(row));
  }
  return kept;
}

}  // namespace

bool isAboutDevices(std::string_view key) {
  for (const std::string_view prefix : {"divvy.dev/", "use.divvy.dev/", "hami.io/", "nvidia.com/",
                                        "feature.node.kubernetes.io/pci"})
    if (key.starts_with(prefix)) return true;
  return false;
}

json::object nodeExcerpt(const json::value& node) {
  json::object out = named(node);
  addKeys(node, &out);
  copyMember(node, {"spec", "unschedulable"}, &out);
  out["taints"] = each(node, {"spec", "taints"}, {"key", "value", "effect"});
  out["capacity"] = amountsOf(memberAt(node, {"status", "capacity"}));
  out["allocatable"] = amountsOf(memberAt(node, {"status", "allocatable"}));
  out["conditions"] =
      each(node, {"status", "conditions"}, {"type", "status", "reason", "lastTransitionTime"});
  for (const char* member :
       {"kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "architecture"})
    copyMember(node, {"status", "nodeInfo", member}, &out);
  return out;
}

json::object podExcerpt(const json::value& pod) {
  json::object out = named(pod);
  addKeys(pod, &out);
  for (const char* member : {"nodeName", "schedulerName", "priorityClassName", "priority",
                             "runtimeClassName", "preemptionPolicy"})
    copyMember(pod, {"spec", member}, &out);
  for (const char* member : {"phase", "reason", "nominatedNodeName", "startTime"})
    copyMember(pod, {"status", member}, &out);
  out["gates"] = each(pod, {"spec", "schedulingGates"}, {"name"});
  out["init_containers"] = containersOf(pod, "initContainers");
  out["containers"] = containersOf(pod, "containers");
  // Messages of other writers than the scheduler may contain anything.
  out["conditions"] =
      each(pod, {"status", "conditions"}, {"type", "status", "reason", "lastTransitionTime"});
  return out;
}

json::object leaseExcerpt(const json::value& lease) {
  json::object out = named(lease);
  for (const char* member :
       {"holderIdentity", "leaseDurationSeconds", "leaseTransitions", "acquireTime", "renewTime"})
    copyMember(lease, {"spec", member}, &out);
  return out;
}

json::object configMapExcerpt(const json::value& map) {
  json::object out = named(map);
  const json::value* label = memberAt(map, {"metadata", "labels", "app.kubernetes.io/name"});
  if (label == nullptr || !label->is_string() || label->get_string() != "divvy") return out;
  json::object data;
  if (const json::value* all = memberAt(map, {"data"}); all != nullptr && all->is_object())
    for (const auto& [key, value] : all->get_object())
      if (value.is_string()) data[key] = value;
  out["data"] = std::move(data);
  return out;
}

bool isTold(const json::value& event) {
  const json::value* by = memberAt(event, {"reportingComponent"});
  if (by == nullptr || !by->is_string() || by->get_string().empty())
    by = memberAt(event, {"source", "component"});
  if (by != nullptr && by->is_string() && by->get_string() == "divvy-scheduler") return true;
  const json::value* reason = memberAt(event, {"reason"});
  return reason != nullptr && reason->is_string() &&
         reason->get_string() == "UnexpectedAdmissionError";
}

json::object eventExcerpt(const json::value& event) {
  json::object out;
  for (const char* member : {"type", "reason", "message", "count", "eventTime", "firstTimestamp",
                             "lastTimestamp", "reportingComponent"})
    copyMember(event, {member}, &out);
  json::object about;
  for (const char* member : {"kind", "namespace", "name"})
    copyMember(event, {"involvedObject", member}, &about);
  out["about"] = std::move(about);
  return out;
}

}  // namespace divvy::doctor
