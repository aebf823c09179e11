#include <algorithm>

#include "api/protocol_json.h"
#include "container/cdi_spec.h"
#include "container/injection.h"

namespace divvy::agent {
namespace {

namespace bj = boost::json;

const std::string& controlInside() {
  static const std::string path = std::string(kTenantInside) + "/control";
  return path;
}

// Returns a copy: the value is walked once.
bj::value memberOf(const bj::value& object, std::string_view name) {
  const bj::object* members = object.if_object();
  const bj::value* found = members == nullptr ? nullptr : members->if_contains(name);
  return found == nullptr ? bj::value() : *found;
}

bj::array listOf(const bj::value& object, std::string_view name) {
  const bj::value found = memberOf(object, name);
  return found.is_array() ? found.get_array() : bj::array();
}

std::string textOf(const bj::value& object, std::string_view name) {
  const bj::value found = memberOf(object, name);
  return found.is_string() ? std::string(found.get_string()) : std::string();
}

}  // namespace

std::string cdiSpec(const char* kind, const std::string& name, const ContainerEdits& edits) {
  bj::array environment, mounts, nodes;
  for (const auto& [variable, value] : edits.environment)
    environment.emplace_back(json::clean(variable + "=" + value));
  for (const ContainerMount& mount : edits.mounts)
    mounts.push_back(bj::object{
        {"hostPath", json::clean(mount.host_path)},
        {"containerPath", json::clean(mount.container_path)},
        {"options", bj::array{"bind", mount.read_only ? "ro" : "rw", "nosuid", "nodev"}}});
  for (const std::string& device : edits.devices)
    nodes.push_back(bj::object{{"path", json::clean(device)}});
  bj::object all;
  if (!environment.empty()) all["env"] = std::move(environment);
  if (!nodes.empty()) all["deviceNodes"] = std::move(nodes);
  all["mounts"] = std::move(mounts);
  bj::object device{{"name", name}, {"containerEdits", std::move(all)}};
  const bj::object spec{
      {"cdiVersion", "0.5.0"}, {"kind", kind}, {"devices", bj::array{std::move(device)}}};
  return bj::serialize(spec) + "\n";
}

std::string controlIn(std::string_view spec) {
  const Result<bj::value> value = json::parse(spec);
  if (!value) return "";
  const std::string kind = textOf(*value, "kind");
  if (kind != kCdiKind && kind != kPodCdiKind) return "";
  for (const bj::value& device : listOf(*value, "devices"))
    for (const bj::value& mount : listOf(memberOf(device, "containerEdits"), "mounts"))
      if (textOf(mount, "containerPath") == controlInside()) return textOf(mount, "hostPath");
  return "";
}

}  // namespace divvy::agent
