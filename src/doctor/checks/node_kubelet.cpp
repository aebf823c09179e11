// Checks of the kubelet: the plugin directory, and other plugins.
#include <algorithm>

#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

bool isOurs(const std::string& socket) {
  return socket.starts_with("divvy-");
}

// Recognised by the names of their sockets.
bool isRival(const std::string& socket) {
  for (const char* word : {"nvidia", "hami", "vgpu", "gpu"})
    if (socket.find(word) != std::string::npos) return true;
  return false;
}

std::string noneText(const NodeFacts& facts) {
  return "no kubelet found (" + facts.kubelet.dir + ")";
}

void checkSockets(const NodeFacts& facts, FindingBuilder& sink) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (!kubelet.there) return sink.skip(noneText(facts));
  if (kubelet.plugins_fault) return sink.skip(kubelet.plugins_fault->message());
  const auto check = [&](const std::optional<PathInfo>& place, const std::string& path,
                         const char* means) {
    if (place && place->kind == PathInfo::Kind::kSocket) return sink.ok("it exists", path);
    sink.fault({place ? "is not a socket" : "does not exist", means,
                "systemctl status kubelet (rke2-agent, k3s); agent.podResourcesDir if it has "
                "another --root-dir"},
               path);
  };
  check(kubelet.plugin_socket, kubelet.dir + "/device-plugins/kubelet.sock",
        "no device plugin can register: the node has no devices");
  check(kubelet.resources_socket, kubelet.dir + "/pod-resources/kubelet.sock",
        "the agent cannot read the pods of devices: no container with devices starts");
}

void checkPlugins(const NodeFacts& facts, FindingBuilder& sink) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (!kubelet.there) return sink.skip(noneText(facts));
  if (kubelet.plugins_fault) return sink.skip(kubelet.plugins_fault->message());
  std::vector<std::string> ours, foreign_installations, others;
  for (const std::string& one : kubelet.sockets)
    (isOurs(one) ? ours : isRival(one) ? foreign_installations : others).push_back(one);
  if (!foreign_installations.empty())
    return sink.warn({"in device-plugins: " + joined(foreign_installations) +
                          (ours.empty() ? "" : ", beside " + joined(ours)),
                      "another plugin serves GPUs here; for the same resource the kubelet uses the "
                      "plugin that registered last",
                      "remove the other plugin, or give Divvy another resource: "
                      "agent.resource=divvy.dev/gpu"});
  if (ours.empty())
    return sink.ok("none for GPUs, and Divvy's is missing too" +
                   (others.empty() ? "" : "; others: " + joined(others)));
  sink.ok(joined(ours) + (others.empty() ? "" : "; others: " + joined(others)));
}

void checkCheckpoint(const NodeFacts& facts, FindingBuilder& sink) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (!kubelet.there) return sink.skip(noneText(facts));
  if (kubelet.checkpoint && !kubelet.checkpoint_doubt.empty())
    return sink.warn({"it " + kubelet.checkpoint_doubt,
                      "a kubelet of 1.30 to 1.34 that starts with it treats all devices as free, "
                      "and the agent may misread init containers",
                      "with such a kubelet: drain the node, stop it, remove the file, start it"});
  if (kubelet.checkpoint)
    return sink.ok(counted(kubelet.checkpoint_entries, "container") + " with devices");
  const Error& why = kubelet.checkpoint.error();
  if (why.code() == ErrorCode::kNotFound) return sink.ok("none yet: no pod had devices");
  if (why.code() == ErrorCode::kIo) return sink.skip(why.message());
  sink.fault({why.message(),
              "the agent cannot read devices of init containers; a kubelet that starts with it "
              "treats all devices as free",
              "drain the node, stop the kubelet, remove the file, start it"});
}

}  // namespace

NodeEntries kubeletChecks() {
  return {{"kubelet-sockets", "can plugins reach the kubelet", checkSockets},
          {"other-plugins", "does no other device plugin serve GPUs here", checkPlugins},
          {"kubelet-checkpoint", "can the kubelet's device checkpoint be read", checkCheckpoint}};
}

}  // namespace divvy::doctor
