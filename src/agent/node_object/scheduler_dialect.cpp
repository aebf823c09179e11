#include "node_object/scheduler_dialect.h"

#include <cstdio>
#include <string_view>

#include "base/rng.h"
#include "kube/assignment.h"
#include "kube/volcano.h"

namespace divvy::agent {
namespace {

// Source: facts on the incumbent's control plane, 2.1 and 2.2.
constexpr const char* kRegister = "hami.io/node-nvidia-register";
constexpr const char* kScores = "hami.io/node-nvidia-score";
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

// Volcano replaces other values by the time, as a question, and takes off nodes with a question
// older than a minute: the agent would have to write as often. With a question that is never old it
// writes nothing. It knows from the kubelet's count of devices that the agent is alive.
constexpr std::string_view kNeverOld = "Requesting_2999.12.31 23:59:59";

// A hash of the pods here, as the fraction of the second, which Volcano reads and ignores.
// Its books of a node count a pod that it has just placed twice, and one that is gone still once,
// until the node changes; its own plugin's writes, every half a minute, hide that. Source:
// its 1.10, NodeInfo.CloneOthers, with devices that sessions and cache share, and setNode.
std::string handshakeFor(const std::set<std::string>& lodgers) {
  std::string all;
  for (const std::string& uid : lodgers) all += uid + "\n";
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09u",
                static_cast<unsigned>(stableHash(all) % 1'000'000'000));
  return std::string(kNeverOld) + (lodgers.empty() ? "" : fraction);
}

}  // namespace

Result<Dialect> parseDialect(std::string_view text) {
  if (text == "hami") return Dialect::kHami;
  if (text == "volcano") return Dialect::kVolcano;
  return Error{ErrorCode::kUsage,
               '"' + std::string(text) + "\" is not known; accepted: hami, volcano"};
}

const char* registrationKey(Dialect dialect) {
  return dialect == Dialect::kVolcano ? kube::kVolcanoRegister : kRegister;
}

const char* assignmentKey(Dialect dialect) {
  return dialect == Dialect::kVolcano ? kube::kVolcanoAssigned : kAllocated;
}

std::map<std::string, std::string> registrationIn(
    Dialect dialect, const std::vector<kube::RegisteredDevice>& devices, const std::string& scores,
    const std::set<std::string>& lodgers) {
  if (dialect == Dialect::kHami) return {{kRegister, kube::encode(devices)}, {kScores, scores}};
  std::string text = kube::encodeVolcano(devices);
  const std::string handshake = text.empty() ? "" : handshakeFor(lodgers);
  // Pods' devices are not published in turns here, so no pod has to wait for its turn.
  return {{kube::kVolcanoRegister, std::move(text)},
          {kube::kVolcanoHandshake, handshake},
          {kube::kVolcanoLock, ""},
          // No other scheduler may place pods on them.
          {kRegister, ""},
          {kScores, ""}};
}

std::set<std::string> leftBehind(Dialect dialect, const std::map<std::string, std::string>& notes) {
  const auto handshake = notes.find(kube::kVolcanoHandshake);
  const bool ours = handshake != notes.end() && handshake->second.starts_with(kNeverOld);
  if (dialect == Dialect::kVolcano || !ours) return {};
  return {kube::kVolcanoRegister, kube::kVolcanoHandshake};
}

bool takesTurns(Dialect dialect, const std::map<std::string, std::string>& notes) {
  return dialect == Dialect::kVolcano && notes.contains(kube::kVolcanoLock);
}

Result<void> understand(Dialect dialect, const std::vector<kube::RegisteredDevice>& devices,
                        kube::Pod* pod) {
  if (dialect == Dialect::kHami) return {};
  std::map<std::string, std::string>& notes = pod->meta.annotations;
  const auto given = notes.find(kube::kVolcanoAssigned);
  if (given == notes.end()) {
    if (notes.contains(kAllocated)) return {};
    return Error{ErrorCode::kUnavailable,
                 "pod " + pod->meta.namespace_name + "/" + pod->meta.name + " has no " +
                     kube::kVolcanoAssigned +
                     ": was it placed by Volcano, with deviceshare.VGPUEnable and without "
                     "NodeLockEnable?"};
  }
  Result<kube::Assignment> assignment = kube::volcanoAssignment(*pod, given->second, devices);
  if (!assignment)
    return std::move(assignment)
        .error()
        .context("pod " + pod->meta.namespace_name + "/" + pod->meta.name + ": " +
                 kube::kVolcanoAssigned);
  notes[kAllocated] = kube::encode(*assignment);
  return {};
}

std::map<std::string, std::uint64_t> announcedOf(
    const ClusterNode& cluster, const std::vector<kube::RegisteredDevice>& devices) {
  std::map<std::string, std::uint64_t> announced;
  // Volcano places by these sums. Where cards are placed by, they only have to be there, and large
  // enough: a kubelet refuses a pod beyond them, and pods on a failed card still count.
  const bool all = cluster.dialect != Dialect::kVolcano;
  for (const kube::RegisteredDevice& one : devices) {
    const bool counts = all || one.healthy;
    for (const std::string& name : cluster.memory_resources)
      announced[name] += counts ? one.mebibytes : 0;
    for (const std::string& name : cluster.percent_resources)
      announced[name] += std::uint64_t{100} * one.count;
    for (const std::string& name : cluster.cores_resources)
      announced[name] += counts ? one.cores : 0;
  }
  return announced;
}

}  // namespace divvy::agent
