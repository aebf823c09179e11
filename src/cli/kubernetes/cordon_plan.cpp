#include "kubernetes/cordon_plan.h"

#include <algorithm>

namespace divvy::cli {
namespace {

// As scheduler/preemption/running_pods.h reads it.
constexpr const char* kEvictable = "use.divvy.dev/evictable";
constexpr const char* kMirror = "kubernetes.io/config.mirror";

std::vector<std::string> itemsOf(const std::string& list) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : list + ',') {
    if (c == ',') {
      if (!item.empty()) items.push_back(item);
      item.clear();
    } else if (c != ' ' && c != '\t') {
      item += c;
    }
  }
  return items;
}

std::string joined(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
  return list;
}

const vendors::Kind* kindOf(const vendors::Catalog& catalog, const std::string& name) {
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->name == name) return kind;
  return nullptr;
}

}  // namespace

Result<Cordons> cordonsOf(const std::vector<scheduler::DeviceUsage>& devices,
                          const std::string& node, const std::string& device,
                          const vendors::Catalog& catalog) {
  Cordons cordons;
  std::string known;
  std::size_t of_index = 0;
  for (const scheduler::DeviceUsage& one : devices) {
    if (one.node != node) continue;
    const std::string index = std::to_string(one.index);
    known += (known.empty() ? "" : ", ") + index + " (" + one.uuid + ')';
    if (!device.empty() && device != index && device != one.uuid) continue;
    if (!device.empty() && device == index && ++of_index > 1)
      return Error{ErrorCode::kUsage, node + " has several devices " + device +
                                          "; accepted: a UUID of `divvy gpus --cluster`"};
    if (!device.empty() && one.by_plugin)
      return Error{
          ErrorCode::kUnsupported,
          "the devices of " + node + " are allocated by their vendor's plugin; accepted: " + node};
    const vendors::Kind* kind = kindOf(catalog, one.kind);
    if (kind == nullptr || kind->wire.node.cordon.empty())
      return Error{ErrorCode::kUnsupported,
                   one.uuid + " is of kind " + one.kind +
                       "; such devices cannot be cordoned one by one; `kubectl cordon " + node +
                       "` keeps all new pods off the node"};
    cordons[kind->wire.node.cordon].insert(one.uuid);
  }
  if (!cordons.empty()) return cordons;
  if (known.empty())
    return Error{
        ErrorCode::kNotFound,
        "\"" + node +
            "\" is not a node with devices; `divvy gpus --cluster` lists nodes with devices"};
  return Error{ErrorCode::kNotFound,
               node + " has no device \"" + device + "\"; accepted: " + known};
}

std::string listWith(const std::string& list, const std::set<std::string>& items) {
  std::vector<std::string> all = itemsOf(list);
  for (const std::string& item : items)
    if (std::find(all.begin(), all.end(), item) == all.end()) all.push_back(item);
  return joined(all);
}

std::string listWithout(const std::string& list, const std::set<std::string>& items) {
  std::vector<std::string> all = itemsOf(list);
  std::erase_if(all, [&](const std::string& item) { return items.contains(item); });
  return joined(all);
}

bool isStatic(const kube::Pod& pod) {
  return pod.meta.annotations.contains(kMirror);
}

std::string whyNotToEvict(const kube::Pod& pod) {
  if (pod.meta.deleting) return "";
  if (isStatic(pod)) return "it is a static pod: remove its manifest on the node";
  const auto evictable = pod.meta.annotations.find(kEvictable);
  const bool said = evictable != pod.meta.annotations.end() && !evictable->second.empty();
  if (said && evictable->second != "true")
    return std::string("it is annotated ") + kEvictable + ": " + evictable->second;
  if (pod.controller == "DaemonSet") return "its DaemonSet would not replace it until uncordon";
  if (pod.controller.empty()) return "no controller would recreate it";
  return "";
}

}  // namespace divvy::cli
