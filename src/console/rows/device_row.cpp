#include <boost/json.hpp>

#include "rows/json_text.h"
#include "rows/rows.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

const agent::ShareView* shareOn(const agent::TenantView& tenant, unsigned device) {
  for (const agent::ShareView& share : tenant.shares) {
    if (share.device == device) return &share;
  }
  return nullptr;
}

// The shares of the device, in the order of the agent's list.
bj::array partsOf(const agent::Snapshot& node, unsigned device) {
  bj::array parts;
  for (const agent::TenantView& tenant : node.tenants) {
    const agent::ShareView* share = shareOn(tenant, device);
    if (share == nullptr) continue;
    parts.push_back(bj::object{{"share", shareId(node.node, tenant.id)},
                               {"name", tenant.name},
                               {"priority", tenant.priority},
                               {"limit_bytes", share->limit},
                               {"used_bytes", share->used},
                               {"resident_bytes", share->resident},
                               {"swapped_bytes", share->swapped},
                               {"cores_percent", share->cores},
                               {"usage_permille", knownOrNull(share->got_permille)}});
  }
  return parts;
}

// The tenant that other tenants of the device wait for; null: none.
bj::value turnTenant(const agent::Snapshot& node, unsigned device) {
  for (const agent::TenantView& tenant : node.tenants) {
    if (tenant.turn_left_ms > 0 && shareOn(tenant, device) != nullptr)
      return bj::value(shareId(node.node, tenant.id));
  }
  return nullptr;
}

std::uint64_t swappedOn(const agent::Snapshot& node, unsigned device) {
  std::uint64_t sum = 0;
  for (const agent::TenantView& tenant : node.tenants) {
    const agent::ShareView* share = shareOn(tenant, device);
    if (share != nullptr) sum += share->swapped;
  }
  return sum;
}

bj::array linksOf(const agent::DeviceView& device) {
  bj::array links;
  for (const agent::LinkView& link : device.links)
    links.push_back(
        bj::object{{"device", link.device}, {"score", link.score}, {"direct", link.direct}});
  return links;
}

bj::array nicsOf(const agent::DeviceView& device) {
  bj::array nics;
  for (const agent::NicView& nic : device.nics)
    nics.push_back(bj::object{{"name", nic.name}, {"distance", nic.distance}});
  return nics;
}

const char* stateOf(const agent::DeviceView& device) {
  if (!device.fault.empty()) return "faulty";
  return device.excluded ? "excluded" : "healthy";
}

}  // namespace

const std::vector<std::string_view>& deviceFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "node",
      "index",
      "uuid",
      "model",
      "pci",
      "numa",
      "pool",
      "state",
      "state_reason",
      "memory_total_bytes",
      "memory_used_bytes",
      "memory_limits_bytes",
      "memory_guaranteed_bytes",
      "memory_budget_bytes",
      "memory_booked_bytes",
      "memory_swapped_bytes",
      "context_bytes",
      "overcommit_permille",
      "memory_pressure_permille",
      "compute_requested_percent",
      "utilisation_percent",
      "tenants",
      "checkpointed_tenants",
      "turn_length_ms",
      "swap_predicted_ms",
      "swap_actual_ms",
      "thrash_risk",
      "turn_tenant",
      "links",
      "nics",
      "parts",
  };
  return fields;
}

Row deviceRow(const agent::Snapshot& node, const agent::DeviceView& device) {
  return Row{{"id", device.uuid},
             {"node", node.node},
             {"index", device.index},
             {"uuid", device.uuid},
             {"model", device.model},
             {"pci", device.pci},
             {"numa", knownOrNull(device.numa)},
             {"pool", device.pool},
             {"state", stateOf(device)},
             {"state_reason", device.excluded && device.fault.empty()
                                  ? std::string("excluded by an option of the agent")
                                  : device.fault},
             {"memory_total_bytes", device.physical},
             {"memory_used_bytes", device.used},
             {"memory_limits_bytes", device.promised},
             {"memory_guaranteed_bytes", device.guaranteed},
             {"memory_budget_bytes", device.budget},
             {"memory_booked_bytes", device.booked},
             {"memory_swapped_bytes", swappedOn(node, device.index)},
             {"context_bytes", device.context},
             {"overcommit_permille", device.overcommit_permille},
             {"memory_pressure_permille", device.ratio_permille},
             {"compute_requested_percent", device.cores},
             {"utilisation_percent", knownOrNull(device.utilisation)},
             {"tenants", device.tenants},
             {"checkpointed_tenants", device.checkpointed},
             {"turn_length_ms", device.quantum_ms},
             {"swap_predicted_ms", device.swap_predicted_ms},
             {"swap_actual_ms", device.swap_actual_ms},
             {"thrash_risk", device.thrash_risk},
             {"turn_tenant", turnTenant(node, device.index)},
             {"links", linksOf(device)},
             {"nics", nicsOf(device)},
             {"parts", partsOf(node, device.index)}};
}

}  // namespace divvy::console
