#include "tenant_registration/process_registrar.h"

#include <chrono>

#include "tenant_registration/register_packet.h"

namespace divvy::agent {
using ledger::RegisterStatus;

RegisterStatus Registrar::answerTo(const Registration& registration) {
  const ledger::RegisterPacket& packet = registration.packet;
  const int pid = registration.peer.pid;
  const TenantPtr tenant = tenants_.find(tenantOf(packet));
  if (tenant == nullptr || !tenant->pages) return RegisterStatus::kUnknownTenant;
  // Containers share one socket, and each has a process 1, so the kernel must identify the
  // container.
  const bool containers = hears_ == AcceptFrom::kAll;
  const bool contained = tenant->record.inContainer();
  if (containers != contained || (contained && !isIn(*tenant, pid)))
    return RegisterStatus::kUnknownTenant;
  if (packet.slot >= ledger::kMaxSlots) {
    // A container's request must not cause the work of a sweep.
    if (!containers) LivenessMonitor::makeSlots(*tenant);
    return RegisterStatus::kBusy;
  }
  // A registration that is not answered now is found by the next sweep.
  if (!of_tenant_.take(tenant->record.id, std::chrono::steady_clock::now()))
    return RegisterStatus::kBusy;
  const Result<bool> owns = tenant->pages->claimedBy(packet.slot, packet.generation, packet.pid);
  if (!owns || !*owns) return RegisterStatus::kBadSlot;
  // The process is taken from the kernel, not from the packet.
  const bool watched = tenants_.liveness().watchProcess(tenant, {packet.slot, packet.generation},
                                                        {pid, startTimeOf(pid)});
  return watched ? RegisterStatus::kOk : RegisterStatus::kBusy;
}

}  // namespace divvy::agent
