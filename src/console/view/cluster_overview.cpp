#include <boost/json.hpp>

#include "rows/cluster_rows.h"
#include "view/cluster_view.h"
#include "view/overview_parts.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr std::uint32_t kMilliOfPercent = 10;

void findSources(const ConsoleView& view, Attention& attention) {
  for (const SourceState& source : view.sources) {
    if (source.failure.empty()) continue;
    if (source.node == "agents") {
      attention.add("warning", "agent-unreachable",
                    source.failure + "; the use of their devices is not known", "");
      continue;
    }
    const bool forbidden = source.failure.find("403 Forbidden") != std::string::npos;
    const std::string text =
        (forbidden ? "the user of the console may not list " : "the API server does not list ") +
        source.node + ": " + source.failure +
        (source.reached ? "; the figures are old" : "; they are not shown");
    attention.add(source.reached ? "critical" : "warning", "collection-unreadable", text, "");
  }
}

void findUnread(const ClusterReading& reading, Attention& attention) {
  for (const ClusterCollection& one : reading.collections)
    if (one.unread > 0)
      attention.add("warning", "object-unreadable",
                    std::to_string(one.unread) + " of " + one.name +
                        " cannot be read and are left out: " + one.example,
                    "");
}

void findNodes(const ClusterReading& reading, Attention& attention) {
  for (const ClusterNode& node : reading.nodes) {
    const std::string link = "nodes/" + node.name;
    if (node.state == ClusterNodeState::kNotReady)
      attention.add("critical", "node-not-ready",
                    "node " + node.name + " is not ready: " + node.reason, link);
    if (node.state == ClusterNodeState::kUnreadable)
      attention.add("critical", "node-unreadable",
                    "node " + node.name + " gets no new shares: " + node.reason, link);
  }
  for (const scheduler::DeviceUsage& device : reading.devices)
    if (!device.healthy)
      attention.add("critical", "device-faulty",
                    "device " + std::to_string(device.index) + " of " + device.node +
                        " gets no new shares: its node reports it as unhealthy",
                    "devices/" + deviceId(device));
}

void findPods(const ClusterReading& reading, Attention& attention) {
  for (const ClusterPodView& pod : reading.pods)
    if (pod.state == ClusterPodState::kWaiting && pod.waiting == WaitingKind::kNeverFits)
      attention.add("warning", "never-fits",
                    "pod " + podId(pod) + " can never be placed: " + pod.reason,
                    "waiting/" + podId(pod));
  for (const kube::Queue& queue : reading.queues)
    if (!queue.status.fault.empty())
      attention.add("warning", "queue-not-in-force",
                    "queue " + queue.meta.name + " is not in force: " + queue.status.fault,
                    "queues/" + queue.meta.name);
}

// Sums of the figures that agents report; null if none does, or not all have been asked yet.
struct UseSums {
  bj::value used_bytes, used_percent, idle_bytes, idle_percent;
};

UseSums useSums(const ClusterReading& reading, const ConsoleView& view) {
  UseSums sums;
  if (reading.agents.unasked > 0) return sums;
  std::uint64_t bytes = 0;
  double percent = 0;
  for (const auto& [id, use] : reading.device_use) {
    bytes += use.memory_used.value_or(0);
    percent += use.utilisation_percent.value_or(0);
    if (use.memory_used) sums.used_bytes = bytes;
    if (use.utilisation_percent) sums.used_percent = percent;
  }
  std::uint64_t idle = 0;
  double idle_percent = 0;
  for (const auto& [id, share] : view.shares) {
    const bj::value& ms = share->at("idle_ms");
    if (ms.is_null()) continue;
    if (ms.to_number<std::uint64_t>() >= kIdleMs) {
      idle += share->at("limit_bytes").to_number<std::uint64_t>();
      idle_percent += share->at("cores_percent").to_number<double>();
    }
    sums.idle_bytes = idle;
    sums.idle_percent = idle_percent;
  }
  return sums;
}

bj::object funnelOf(const ClusterReading& reading, const ConsoleView& view) {
  const UseSums use = useSums(reading, view);
  std::size_t healthy = 0;
  std::uint64_t total = 0, limits = 0, milli = 0;
  for (const scheduler::DeviceUsage& device : reading.devices) {
    healthy += device.healthy ? 1 : 0;
    total += device.memory.count;
    limits += device.promised.count;
    milli += device.promised_compute.milli;
  }
  return {
      {"devices", reading.devices.size()},
      {"healthy_devices", healthy},
      {"memory", bj::object{{"total_bytes", total},
                            {"allocated_bytes", limits},
                            {"used_bytes", use.used_bytes},
                            {"idle_bytes", use.idle_bytes}}},
      {"compute", bj::object{{"total_percent", reading.devices.size() * 100},
                             {"allocated_percent", static_cast<double>(milli) / kMilliOfPercent},
                             {"used_percent", use.used_percent},
                             {"idle_percent", use.idle_percent}}}};
}

bj::object waitingKinds(const ClusterReading& reading) {
  std::map<std::string, std::size_t> kinds;
  for (const WaitingKind kind : {WaitingKind::kRoom, WaitingKind::kQuota, WaitingKind::kNeverFits,
                                 WaitingKind::kHeld, WaitingKind::kUnscheduled})
    kinds[wordOf(kind)] = 0;
  for (const ClusterPodView& pod : reading.pods)
    if (pod.state == ClusterPodState::kWaiting) ++kinds[wordOf(pod.waiting)];
  bj::object object;
  for (const auto& [kind, count] : kinds) object[kind] = count;
  return object;
}

std::size_t count(const ClusterReading& reading, ClusterPodState state) {
  std::size_t pods = 0;
  for (const ClusterPodView& pod : reading.pods) pods += pod.state == state ? 1 : 0;
  return pods;
}

}  // namespace

Row clusterOverviewRow(const ClusterReading& reading, const ConsoleView& view) {
  Attention attention;
  findSources(view, attention);
  findUnread(reading, attention);
  findNodes(reading, attention);
  findPods(reading, attention);
  bj::object kinds = waitingKinds(reading);
  std::size_t waiting = 0;
  for (const auto& kind : kinds) waiting += kind.value().to_number<std::size_t>();
  const auto never = kinds.at(wordOf(WaitingKind::kNeverFits)).to_number<std::size_t>();
  bj::object funnel = funnelOf(reading, view);
  return Row{{"id", "overview"},
             {"nodes", reading.nodes.size()},
             {"overcommit", bj::object{{"limits_bytes", funnel["memory"].at("allocated_bytes")},
                                       {"physical_bytes", funnel["memory"].at("total_bytes")}}},
             {"funnel", std::move(funnel)},
             {"shares", bj::object{{"running", count(reading, ClusterPodState::kRunning)},
                                   {"pending", count(reading, ClusterPodState::kPending)},
                                   {"ending", count(reading, ClusterPodState::kEnding)},
                                   {"reserved", nullptr},
                                   {"idle", nullptr},
                                   {"throttled", nullptr},
                                   {"swapped", nullptr}}},
             {"waiting", waiting - never},
             {"never_fit", never},
             {"waiting_kinds", std::move(kinds)},
             {"attention", attention.take()}};
}

}  // namespace divvy::console
