#include "deviceplugin/foreign_allocation_monitor.h"

#include "container/tenant_edits.h"
#include "log/log.h"
#include "pods/pod_tenants.h"

namespace divvy::agent {
namespace {

constexpr unsigned kTicksPerLook = 5;

}  // namespace

void ForeignAllocationMonitor::tick() {
  if (ticks_++ % kTicksPerLook == 0) poll();
}

void ForeignAllocationMonitor::poll() {
  if (!inputs_.pods.synced() || listing_ || inputs_.shutdown.begun()) return;
  listing_ = true;
  inputs_.kubelet.list([this](const KubeletAllocations::List& held) {
    listing_ = false;
    listed(held);
  });
}

// A pod that is not known yet counts as ours until the next look.
ForeignAllocations ForeignAllocationMonitor::ours() const {
  const PodTracker& pods = inputs_.pods;
  const TenantManager& tenants = inputs_.tenants;
  return {[&pods](const std::string& namespace_name, const std::string& name) {
            const TrackedPod* pod = pods.findByName(namespace_name, name);
            return pod == nullptr || pod->assigned;
          },
          [&tenants](const kubelet::PodDevices& one) {
            return tenants.find(tenantIdFor(one.ids, one.resource)) != nullptr;
          },
          [&pods, &tenants](const std::string& namespace_name, const std::string& name) {
            const TrackedPod* pod = pods.findByName(namespace_name, name);
            return pod == nullptr ? std::set<std::string>() : devicesOfPod(tenants, pod->uid);
          },
          [&pods](const std::string& namespace_name, const std::string& name) {
            const TrackedPod* pod = pods.findByName(namespace_name, name);
            return pod == nullptr ? std::set<std::string>() : pod->devices;
          }};
}

void ForeignAllocationMonitor::listed(const KubeletAllocations::List& held) {
  const std::string fault = held ? "" : held.error().message();
  if (fault != std::exchange(fault_, fault) && !fault.empty())
    log::warn(known_ ? "cannot read the kubelet's pod resources; devices are not updated"
                     : "cannot read the kubelet's pod resources; devices are not registered",
              {{"error", fault}});
  if (!held) return;
  const bool first = !std::exchange(known_, true);
  Holders holders = holdersOf(*held, inputs_.inventory.devices(), inputs_.resources, ours());
  if (inputs_.tenants.healthMonitor().holdDevices(std::move(holders)) || first) inputs_.changed();
}

}  // namespace divvy::agent
