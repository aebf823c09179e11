#include <algorithm>

#include "api/protocol_json.h"
#include "container/cdi_spec.h"
#include "container/tenant_edits.h"
#include "json/path.h"

namespace divvy::agent {
namespace {

namespace bj = boost::json;

const std::string& controlInside() {
  static const std::string path = std::string(kTenantInside) + "/control";
  return path;
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
  const std::string kind = textAt(*value, {"kind"});
  if (kind != kCdiKind && kind != kPodCdiKind) return "";
  for (const bj::value& device : listAt(*value, {"devices"}))
    for (const bj::value& mount : listAt(device, {"containerEdits", "mounts"}))
      if (textAt(mount, {"containerPath"}) == controlInside()) return textAt(mount, {"hostPath"});
  return "";
}

}  // namespace divvy::agent
