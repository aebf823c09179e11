#include "rows/cluster_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr std::uint32_t kMilliOfPercent = 10;

bj::value textOrNull(const std::string& text) {
  return text.empty() ? bj::value(nullptr) : bj::value(text);
}

bj::value instantOrNull(std::int64_t ms) {
  return ms == 0 ? bj::value(nullptr) : bj::value(ms);
}

template <typename T>
bj::value knownOrNull(const std::optional<T>& figure) {
  return figure ? bj::value(*figure) : bj::value(nullptr);
}

double percentOf(engine::Compute compute) {
  return static_cast<double>(compute.milli) / kMilliOfPercent;
}

const char* wordOf(ClusterPodState state) {
  switch (state) {
    case ClusterPodState::kWaiting:
      return "waiting";
    case ClusterPodState::kPending:
      return "pending";
    case ClusterPodState::kRunning:
      return "running";
    case ClusterPodState::kEnding:
      return "ending";
    case ClusterPodState::kUnknown:
      break;
  }
  return "unknown";
}

const char* wordOf(ClusterNodeState state) {
  switch (state) {
    case ClusterNodeState::kReady:
      return "ready";
    case ClusterNodeState::kNotReady:
      return "not-ready";
    case ClusterNodeState::kCordoned:
      return "cordoned";
    case ClusterNodeState::kUnreadable:
      break;
  }
  return "unreadable";
}

// Of all devices together; null: of one of them it is not known.
bj::value usageOf(const ContainerShare& share) {
  double sum = 0;
  for (const ContainerShare::Part& part : share.parts) {
    if (part.use == nullptr || !part.use->usage_permille) return nullptr;
    sum += *part.use->usage_permille;
  }
  return share.parts.empty() ? bj::value(nullptr) : bj::value(sum);
}

bj::object partRow(const ContainerShare::Part& part) {
  static const ShareUse unknown;
  const ShareUse& use = part.use == nullptr ? unknown : *part.use;
  const scheduler::AllocatedShare& share = *part.share;
  return bj::object{
      {"id", share.node + '/' + share.uuid},
      {"index", part.device == nullptr ? bj::value(nullptr) : bj::value(part.device->index)},
      {"model", part.device == nullptr ? bj::value(nullptr) : bj::value(part.device->model)},
      {"limit_bytes", share.memory.count},
      {"used_bytes", knownOrNull(use.memory_used)},
      {"resident_bytes", knownOrNull(use.memory_resident)},
      {"swapped_bytes", knownOrNull(use.memory_swapped)},
      {"cores_percent", percentOf(share.compute)},
      {"usage_permille", knownOrNull(use.usage_permille)}};
}

// "2 x NVIDIA H100 80GB HBM3, 1 x NVIDIA L4"
std::string modelsText(const std::vector<const scheduler::DeviceUsage*>& devices) {
  std::map<std::string, std::size_t> models;
  for (const scheduler::DeviceUsage* device : devices) ++models[device->model];
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " x " + model;
  return text;
}

const char* stateOf(const scheduler::DeviceUsage& device) {
  if (!device.healthy) return "faulty";
  return device.cordoned ? "cordoned" : "healthy";
}

std::string reasonOf(const scheduler::DeviceUsage& device) {
  if (!device.healthy) return "its node reports it as unhealthy";
  return device.cordoned ? "the device or its node accepts no new shares" : "";
}

}  // namespace

const char* wordOf(WaitingKind kind) {
  switch (kind) {
    case WaitingKind::kRoom:
      return "waits-for-room";
    case WaitingKind::kQuota:
      return "waits-for-quota";
    case WaitingKind::kNeverFits:
      return "never-fits";
    case WaitingKind::kHeld:
      return "held";
    case WaitingKind::kUnscheduled:
      break;
  }
  return "unscheduled";
}

std::string deviceId(const scheduler::DeviceUsage& device) {
  return device.node + '/' + device.uuid;
}

std::string podId(const ClusterPodView& pod) {
  return pod.namespace_name + '/' + pod.name;
}

std::string workloadOf(const ClusterPodView& pod) {
  return pod.owner.empty() ? "Pod/" + pod.name : pod.owner;
}

const std::vector<std::string_view>& clusterNodeFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "state",
      "state_reason",
      "devices",
      "healthy_devices",
      "models",
      "pool",
      "memory_total_bytes",
      "memory_limits_bytes",
      "memory_used_bytes",
      "compute_requested_percent",
      "shares",
  };
  return fields;
}

Row clusterNodeRow(const ClusterNode& node,
                   const std::vector<const scheduler::DeviceUsage*>& devices, std::size_t shares,
                   std::optional<std::uint64_t> used) {
  std::size_t healthy = 0;
  std::uint64_t total = 0, limits = 0;
  double compute = 0;
  std::set<std::string> names;
  for (const scheduler::DeviceUsage* device : devices) {
    healthy += device->healthy ? 1 : 0;
    total += device->memory.count;
    limits += device->promised.count;
    compute += percentOf(device->promised_compute);
    if (!device->pool.empty()) names.insert(device->pool);
  }
  std::string pools;
  for (const std::string& name : names) pools += (pools.empty() ? "" : ", ") + name;
  return Row{{"id", node.name},
             {"node", node.name},
             {"state", wordOf(node.state)},
             {"state_reason", node.reason},
             {"devices", devices.size()},
             {"healthy_devices", healthy},
             {"models", modelsText(devices)},
             {"pool", pools},
             {"memory_total_bytes", total},
             {"memory_limits_bytes", limits},
             {"memory_used_bytes", knownOrNull(used)},
             {"compute_requested_percent", compute},
             {"shares", shares}};
}

const std::vector<std::string_view>& clusterDeviceFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "index",
      "uuid",
      "kind",
      "model",
      "pool",
      "state",
      "state_reason",
      "memory_total_bytes",
      "memory_used_bytes",
      "memory_limits_bytes",
      "memory_swapped_bytes",
      "compute_requested_percent",
      "utilisation_percent",
      "tenants",
      "turn_tenant",
      "parts",
  };
  return fields;
}

bj::value sumOfUse(const ContainerShare& share, std::optional<std::uint64_t> ShareUse::*figure) {
  std::uint64_t sum = 0;
  for (const ContainerShare::Part& part : share.parts) {
    if (part.use == nullptr || !(part.use->*figure)) return nullptr;
    sum += *(part.use->*figure);
  }
  return share.parts.empty() ? bj::value(nullptr) : bj::value(sum);
}

bj::value slowReasons(const ShareUse* use) {
  if (use == nullptr || !use->slow) return nullptr;
  bj::array reasons;
  for (const std::string& reason : *use->slow) reasons.push_back(bj::value(reason));
  return reasons;
}

Row clusterDeviceRow(const scheduler::DeviceUsage& device,
                     const std::vector<const ContainerShare*>& shares, const DeviceUse* use) {
  static const DeviceUse unknown;
  const DeviceUse& known = use == nullptr ? unknown : *use;
  bj::array parts;
  for (const ContainerShare* share : shares) {
    for (const ContainerShare::Part& part : share->parts) {
      if (part.device != &device) continue;
      parts.push_back(
          bj::object{{"share", share->id},
                     {"name", podId(*share->pod)},
                     {"limit_bytes", part.share->memory.count},
                     {"used_bytes", part.use == nullptr ? bj::value(nullptr)
                                                        : knownOrNull(part.use->memory_used)},
                     {"cores_percent", percentOf(part.share->compute)}});
    }
  }
  return Row{{"id", deviceId(device)},
             {"node", device.node},
             {"index", device.index},
             {"uuid", device.uuid},
             {"kind", device.kind},
             {"model", device.model},
             {"pool", device.pool},
             {"state", stateOf(device)},
             {"state_reason", reasonOf(device)},
             {"memory_total_bytes", device.memory.count},
             {"memory_used_bytes", knownOrNull(known.memory_used)},
             {"memory_limits_bytes", device.promised.count},
             {"memory_swapped_bytes", knownOrNull(known.memory_swapped)},
             {"compute_requested_percent", percentOf(device.promised_compute)},
             {"utilisation_percent", knownOrNull(known.utilisation_percent)},
             {"tenants", device.tenants},
             {"turn_tenant", textOrNull(known.turn)},
             {"parts", std::move(parts)}};
}

const std::vector<std::string_view>& clusterShareFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "namespace",
      "pod",
      "container",
      "name",
      "state",
      "owner",
      "queue",
      "team",
      "priority_value",
      "created_ms",
      "limit_bytes",
      "used_bytes",
      "resident_bytes",
      "swapped_bytes",
      "cores_percent",
      "usage_permille",
      "idle_ms",
      "devices",
      "model_served",
      "image",
      "slow_reasons",
  };
  return fields;
}

Row clusterShareRow(const ContainerShare& share) {
  const ClusterPodView& pod = *share.pod;
  std::uint64_t limit = 0;
  double cores = 0;
  bj::array devices;
  for (const ContainerShare::Part& part : share.parts) {
    limit += part.share->memory.count;
    cores += percentOf(part.share->compute);
    devices.push_back(partRow(part));
  }
  return Row{
      {"id", share.id},
      {"node", pod.node},
      {"namespace", pod.namespace_name},
      {"pod", pod.name},
      {"container", share.container},
      {"name", podId(pod)},
      {"state", wordOf(pod.state)},
      {"owner", workloadOf(pod)},
      {"queue", textOrNull(pod.queue)},
      {"team", pod.team},
      {"priority_value", pod.priority},
      {"created_ms", instantOrNull(pod.created_ms)},
      {"limit_bytes", limit},
      {"used_bytes", sumOfUse(share, &ShareUse::memory_used)},
      {"resident_bytes", sumOfUse(share, &ShareUse::memory_resident)},
      {"swapped_bytes", sumOfUse(share, &ShareUse::memory_swapped)},
      {"cores_percent", cores},
      {"usage_permille", usageOf(share)},
      {"idle_ms", share.use == nullptr ? bj::value(nullptr) : knownOrNull(share.use->idle_ms)},
      {"devices", std::move(devices)},
      {"model_served", textOrNull(pod.served_model)},
      {"image", textOrNull(share.image)},
      {"slow_reasons", slowReasons(share.use)}};
}

const std::vector<std::string_view>& clusterWaitingFields() {
  static const std::vector<std::string_view> fields{
      "id",   "namespace",      "name",     "kind",   "reason", "owner",    "queue",
      "team", "priority_value", "position", "memory", "gpus",   "since_ms",
  };
  return fields;
}

Row clusterWaitingRow(const ClusterPodView& pod) {
  return Row{{"id", podId(pod)},
             {"namespace", pod.namespace_name},
             {"name", podId(pod)},
             {"kind", wordOf(pod.waiting)},
             {"reason", pod.reason},
             {"owner", workloadOf(pod)},
             {"queue", textOrNull(pod.queue)},
             {"team", pod.team},
             {"priority_value", pod.priority},
             {"position", pod.position == 0 ? bj::value(nullptr) : bj::value(pod.position)},
             {"memory", textOrNull(pod.memory)},
             {"gpus", pod.devices == 0 ? bj::value(nullptr) : bj::value(pod.devices)},
             {"since_ms", instantOrNull(pod.created_ms)}};
}

Row clusterEventRow(const ClusterEvent& event) {
  return Row{{"id", event.uid},     {"time_ms", event.time_ms},
             {"node", nullptr},     {"kind", event.reason},
             {"share", nullptr},    {"name", event.namespace_name + '/' + event.pod},
             {"device", nullptr},   {"text", event.text},
             {"actor", event.actor}};
}

}  // namespace divvy::console
