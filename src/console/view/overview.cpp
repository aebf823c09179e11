#include <algorithm>
#include <utility>

#include <boost/json.hpp>

#include "view/agent_view.h"
#include "view/overview_parts.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr unsigned kThrottledPermille = 100;

bool isIdle(const agent::TenantView& tenant) {
  return tenant.idle_known && tenant.idle_s * 1000 >= kIdleMs;
}

std::string labelOf(const agent::TenantView& tenant) {
  return tenant.name.empty() ? tenant.id : tenant.name;
}

struct Funnel {
  std::size_t devices = 0, healthy = 0;
  std::uint64_t total = 0, allocated = 0, used = 0, idle = 0;
  unsigned cores = 0;       // percent of one device that shares request
  unsigned idle_cores = 0;  // of idle shares
  int used_percent = -1;    // unknown until one driver knows it
};

struct ShareCounts {
  std::size_t running = 0, reserved = 0, idle = 0, throttled = 0, swapped = 0;
};

void countDevices(const agent::Snapshot& node, Funnel& funnel) {
  for (const agent::DeviceView& device : node.devices) {
    ++funnel.devices;
    funnel.healthy += device.fault.empty() && !device.excluded ? 1 : 0;
    funnel.total += device.physical;
    funnel.allocated += device.promised;
    funnel.used += device.used;
    funnel.cores += device.cores;
    if (device.utilisation >= 0)
      funnel.used_percent = std::max(funnel.used_percent, 0) + device.utilisation;
  }
}

void countShares(const agent::Snapshot& node, Funnel& funnel, ShareCounts& counts) {
  for (const agent::TenantView& tenant : node.tenants) {
    const bool idle = isIdle(tenant);
    std::uint64_t swapped = 0;
    for (const agent::ShareView& share : tenant.shares) {
      swapped += share.swapped;
      funnel.idle += idle ? share.limit : 0;
      funnel.idle_cores += idle ? share.cores : 0;
    }
    counts.running += tenant.state == "running" ? 1 : 0;
    counts.reserved += tenant.state == "reserved" ? 1 : 0;
    counts.idle += idle ? 1 : 0;
    counts.throttled += tenant.throttled_permille >= kThrottledPermille ? 1 : 0;
    counts.swapped += swapped > 0 ? 1 : 0;
  }
}

void findDevices(const agent::Snapshot& node, Attention& attention) {
  for (const agent::DeviceView& device : node.devices) {
    const std::string name = "device " + std::to_string(device.index) + " of " + node.node;
    const std::string link = "devices/" + device.uuid;
    if (!device.fault.empty())
      attention.add("critical", "device-faulty",
                    name + " gets no new shares: " + device.fault +
                        "; reset or replace it, then restart the agent",
                    link);
    if (device.thrash_risk)
      attention.add("warning", "thrash-risk",
                    name +
                        " swaps too often for the work that its tenants do; lower the memory "
                        "limits or move a tenant",
                    link);
  }
}

void findShares(const agent::Snapshot& node, Attention& attention) {
  for (const agent::TenantView& tenant : node.tenants) {
    const std::string link = "shares/" + shareId(node.node, tenant.id);
    const std::string name = "share " + labelOf(tenant) + " of " + node.node;
    if (!tenant.bypass.empty())
      attention.add("critical", "limit-bypass",
                    name + " uses the device without its limits: " + tenant.bypass, link);
    if (tenant.distrusted)
      attention.add("warning", "usage-mismatch",
                    name + " reports less use than the driver; it is charged for its grants", link);
    if (tenant.state == "broken")
      attention.add("warning", "share-broken", name + " cannot be read: " + tenant.note, link);
    if (isIdle(tenant))
      attention.add("info", "idle-share",
                    name + " has computed nothing for " + std::to_string(tenant.idle_s / 60) +
                        " minutes; shrink or stop it",
                    link);
  }
}

void findSources(const ConsoleView& view, Attention& attention) {
  for (const SourceState& source : view.sources) {
    if (!source.failure.empty())
      attention.add("critical", "agent-unreachable",
                    "the agent of " + source.node + " does not answer: " + source.failure +
                        "; its figures are old",
                    "nodes/" + source.node);
  }
}

bj::object funnelOf(const Funnel& funnel) {
  const auto devices = static_cast<unsigned>(funnel.devices);
  return {{"devices", funnel.devices},
          {"healthy_devices", funnel.healthy},
          {"memory", bj::object{{"total_bytes", funnel.total},
                                {"allocated_bytes", funnel.allocated},
                                {"used_bytes", funnel.used},
                                {"idle_bytes", funnel.idle}}},
          {"compute",
           bj::object{{"total_percent", devices * 100},
                      {"allocated_percent", funnel.cores},
                      {"used_percent", funnel.used_percent < 0 ? bj::value(nullptr)
                                                               : bj::value(funnel.used_percent)},
                      {"idle_percent", funnel.idle_cores}}}};
}

}  // namespace

Row overviewRow(const std::vector<const agent::Snapshot*>& nodes, const ConsoleView& view) {
  Funnel funnel;
  ShareCounts counts;
  Attention attention;
  findSources(view, attention);
  for (const agent::Snapshot* node : nodes) {
    countDevices(*node, funnel);
    countShares(*node, funnel, counts);
    findDevices(*node, attention);
    findShares(*node, attention);
  }
  return Row{{"id", "overview"},
             {"funnel", funnelOf(funnel)},
             {"overcommit",
              bj::object{{"limits_bytes", funnel.allocated}, {"physical_bytes", funnel.total}}},
             {"shares", bj::object{{"running", counts.running},
                                   {"reserved", counts.reserved},
                                   {"idle", counts.idle},
                                   {"throttled", counts.throttled},
                                   {"swapped", counts.swapped}}},
             {"waiting", view.waiting.size()},
             // The agent refuses such requests; a fault can make one of a waiting request.
             {"never_fit", nullptr},
             {"attention", attention.take()}};
}

}  // namespace divvy::console
