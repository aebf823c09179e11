#include "cluster_console/agent_snapshot.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "view/slowness_diagnosis.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kMsPerSecond = 1000;
constexpr double kPermilleOfPercent = 10;

bool ofPod(const agent::TenantView& tenant) {
  return !tenant.pod.empty();
}

std::string shareIdOf(const agent::TenantView& tenant) {
  return tenant.namespace_name + '/' + tenant.pod + '/' + tenant.container;
}

// The names that reasons use for tenants.
agent::Snapshot namedByPods(agent::Snapshot node) {
  for (agent::TenantView& tenant : node.tenants) {
    if (ofPod(tenant)) tenant.name = shareIdOf(tenant);
    tenant.command.clear();
  }
  return node;
}

// The same without the names of others. A tenant without its own name would be named by its
// identifier.
agent::Snapshot unnamed(agent::Snapshot node) {
  for (agent::TenantView& tenant : node.tenants) tenant.name = "another tenant";
  return node;
}

console::ShareUse useOn(const agent::ShareView& share) {
  console::ShareUse use;
  use.memory_used = share.used;
  use.memory_resident = share.resident;
  use.memory_swapped = share.swapped;
  // Of a share that is not charged, as the only one of its device, the driver's figure counts.
  if (share.got_permille >= 0) {
    use.usage_permille = share.got_permille;
  } else if (share.utilisation >= 0) {
    use.usage_permille = share.utilisation * kPermilleOfPercent;
  }
  return use;
}

void addDevices(const agent::Snapshot& node, AgentUsage* use) {
  for (const agent::DeviceView& device : node.devices) {
    console::DeviceUse& known = use->devices[device.uuid];
    known.memory_used = device.used;
    if (device.utilisation >= 0) known.utilisation_percent = device.utilisation;
    known.memory_swapped = 0;
  }
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares) {
      const auto device = use->devices.find(share.uuid);
      if (device == use->devices.end()) continue;
      *device->second.memory_swapped += share.swapped;
      if (tenant.turn_left_ms > 0 && ofPod(tenant)) device->second.turn = shareIdOf(tenant);
    }
  }
}

}  // namespace

AgentUsage usageOf(const agent::Snapshot& given) {
  AgentUsage use;
  const agent::Snapshot node = namedByPods(given);
  const agent::Snapshot others = unnamed(node);
  addDevices(node, &use);
  for (std::size_t at = 0; at < node.tenants.size(); ++at) {
    const agent::TenantView& tenant = node.tenants[at];
    if (!ofPod(tenant)) continue;
    for (const agent::ShareView& share : tenant.shares)
      use.shares[{tenant.namespace_name, tenant.pod, tenant.container, share.uuid}] = useOn(share);
    console::ShareUse& whole =
        use.shares[{tenant.namespace_name, tenant.pod, tenant.container, ""}];
    if (tenant.idle_known) whole.idle_ms = tenant.idle_s * kMsPerSecond;
    whole.slow = whySlow(tenant, node);
    whole.slow_unnamed = whySlow(others.tenants[at], others);
  }
  return use;
}

Result<AgentUsage> agentUsageOfSnapshot(std::string_view text) {
  Result<agent::Reply> reply = agent::decodeReply(text);
  if (!reply) return reply.error();
  const auto* snapshot = std::get_if<agent::SnapshotReply>(&*reply);
  if (snapshot == nullptr) return Error{ErrorCode::kCorrupt, "the agent's answer is not its state"};
  return usageOf(snapshot->snapshot);
}

}  // namespace divvy::cli
