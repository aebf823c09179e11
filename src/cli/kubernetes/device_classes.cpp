#include "kubernetes/device_classes.h"

#include <algorithm>
#include <set>

#include "base/quantity.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxNames = 3;

// Resource names with a domain, except Kubernetes' own.
std::set<std::string> extendedOf(const kube::Pod& pod) {
  std::set<std::string> names;
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list)
      for (const auto& [name, amount] : one.limits)
        if (name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos)
          names.insert(name);
  return names;
}

std::string listOf(const std::set<std::string>& names, const char* more) {
  std::string text;
  std::size_t said = 0;
  for (const std::string& one : names) {
    if (said == kMaxNames) break;
    text += (said++ == 0 ? "" : ", ") + one;
  }
  if (names.size() > said) text += " and " + std::to_string(names.size() - said) + ' ' + more;
  return text;
}

}  // namespace

Result<std::vector<doctor::MappedClass>> mappedClasses(KubeApi& api) {
  std::vector<doctor::MappedClass> found;
  const Result<void> listed =
      api.list("/apis/resource.k8s.io/v1/deviceclasses", "", [&](const json::value& one) {
        const std::string resource = textAt(one, {"spec", "extendedResourceName"});
        if (!resource.empty()) found.push_back({textAt(one, {"metadata", "name"}), resource});
      });
  if (!listed && listed.error().code() != ErrorCode::kNotFound) return listed.error();
  return found;
}

std::string hazardText(const std::vector<doctor::MappedClass>& classes, const kube::Pod& pod,
                       const std::vector<kube::Node>& nodes) {
  const std::set<std::string> asked = extendedOf(pod);
  const auto mapped = std::find_if(classes.begin(), classes.end(),
                                   [&](const auto& one) { return asked.contains(one.resource); });
  if (mapped == classes.end()) return "";
  std::set<std::string> lacking, where;
  for (const kube::Node& node : nodes) {
    // A node without devices is refused for lack of devices.
    if (!node.allocatable.contains(mapped->resource)) continue;
    for (const std::string& name : asked)
      if (!node.allocatable.contains(name)) lacking.insert(name), where.insert(node.meta.name);
  }
  if (where.empty()) return "";
  return "DeviceClass " + mapped->name + " is mapped to " + mapped->resource +
         ": Kubernetes 1.36 and later refuse nodes that do not announce " +
         listOf(lacking, "others") + " (" + listOf(where, "others") +
         "); have their agents announce it: docs/operations/node-agent.md";
}

std::string DeviceClassHazards::of(const kube::Pod& pod) {
  if (!classes_) {
    Result<std::vector<doctor::MappedClass>> classes = mappedClasses(api_);
    classes_ = classes ? std::move(*classes) : std::vector<doctor::MappedClass>();
  }
  const std::set<std::string> asked = extendedOf(pod);
  if (std::none_of(classes_->begin(), classes_->end(),
                   [&](const auto& one) { return asked.contains(one.resource); }))
    return "";
  if (!nodes_) {
    nodes_.emplace();
    const Result<void> listed = api_.list("/api/v1/nodes", "", [&](const json::value& object) {
      Result<kube::Node> node = kube::nodeOf(object);
      if (node) nodes_->push_back(std::move(*node));
    });
    if (!listed) nodes_->clear();
  }
  return hazardText(*classes_, pod, *nodes_);
}

}  // namespace divvy::cli
