#include "assigned_pod.h"

#include <filesystem>

#include "ledger/pages.h"

namespace divvy::test {
namespace {

namespace json = boost::json;

json::object stateOf(const AssignedPod& pod, std::size_t at) {
  const std::string id = pod.ask.containers[at].name + "-" + std::to_string(pod.ends[at]);
  const auto ended = [&](int exit) {
    return json::object{
        {"terminated", {{"exitCode", exit}, {"containerID", "containerd://" + id}}}};
  };
  switch (pod.phases[at]) {
    case Phase::kRunning:
      return {{"running", {{"startedAt", "2026-11-26T00:00:00Z"}}}};
    case Phase::kEnded:
      return ended(0);
    case Phase::kCrashed:
      return ended(1);
    case Phase::kWaiting:
      break;
  }
  return {{"waiting", {{"reason", "PodInitializing"}}}};
}

json::object specOf(const ContainerAsk& one) {
  json::object limits;
  if (one.devices > 0) limits[kResource] = std::to_string(one.devices);
  return {{"name", one.name}, {"image", "none"}, {"resources", {{"limits", std::move(limits)}}}};
}

// "GPU-a,NVIDIA,3000,30:;;". Source: facts on the incumbent's control plane, 2.2.
std::string assignmentOf(const AssignedPod& pod) {
  std::string text;
  for (const ExpectedShare& portion : pod.portions) {
    for (const std::string& uuid : portion.uuids)
      text += uuid + ",NVIDIA," + std::to_string(portion.mebibytes) + "," +
              std::to_string(portion.cores) + ":";
    text += ";";
  }
  return text;
}

}  // namespace

json::object AssignedPod::object() const {
  json::array init, app, init_states, app_states;
  for (std::size_t at = 0; at < ask.containers.size(); ++at) {
    const ContainerAsk& one = ask.containers[at];
    (one.init ? init : app).push_back(specOf(one));
    (one.init ? init_states : app_states)
        .push_back(json::object{{"name", one.name}, {"state", stateOf(*this, at)}});
  }
  return {
      {"kind", "Pod"},
      {"apiVersion", "v1"},
      {"metadata",
       {{"name", ask.name},
        {"namespace", ask.namespace_name},
        {"uid", ask.uid},
        {"annotations",
         {{"hami.io/vgpu-node", kNode}, {"hami.io/vgpu-devices-allocated", assignmentOf(*this)}}}}},
      {"spec",
       {{"nodeName", kNode}, {"initContainers", std::move(init)}, {"containers", std::move(app)}}},
      {"status",
       {{"phase", "Pending"},
        {"initContainerStatuses", std::move(init_states)},
        {"containerStatuses", std::move(app_states)}}}};
}

Found foundBy(const Allocated& given) {
  Found found;
  const std::string control = given.mounted("/run/divvy/tenant/control");
  if (control.empty()) return {{}, "no pages are mounted"};
  const std::string dir = std::filesystem::path(control).parent_path();
  ledger::TenantPages pages;
  const ledger::OpenStatus status = ledger::TenantPages::open(dir.c_str(), &pages);
  if (status != ledger::OpenStatus::kOk)
    return {{}, dir + " has no pages: " + std::to_string(static_cast<int>(status))};
  for (unsigned at = 0; at < pages.deviceCount(); ++at) {
    const ledger::DeviceControl& device = pages.control().devices[at];
    found.limits[device.uuid] = device.mem_ceiling;
  }
  pages.close();
  return found;
}

std::string amiss(const Found& found, const ExpectedShare& portion) {
  if (!found.fault.empty()) return found.fault;
  std::string wrong;
  for (const std::string& uuid : portion.uuids) {
    const auto has = found.limits.find(uuid);
    if (has == found.limits.end()) {
      wrong += "not " + uuid + "; ";
    } else if (has->second != portion.mebibytes << 20) {
      wrong += std::to_string(has->second >> 20) + " MiB of " + uuid + " and not " +
               std::to_string(portion.mebibytes) + "; ";
    }
  }
  if (found.limits.size() != portion.uuids.size())
    wrong += std::to_string(found.limits.size()) + " cards and not " +
             std::to_string(portion.uuids.size());
  return wrong;
}

}  // namespace divvy::test
