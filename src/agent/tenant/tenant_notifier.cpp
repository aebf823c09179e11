#include "tenant/tenant_notifier.h"

namespace divvy::agent {

void TenantNotifier::emit(EventView event) const {
  if (sink_) sink_(std::move(event));
}

void TenantNotifier::emitFor(const TenantRecord& record, EventView event) const {
  if (const int device = deviceOf(record); device >= 0) event.device = device;
  emit(std::move(event));
}

int TenantNotifier::deviceOf(const TenantRecord& record) const {
  const bool one = record.shares.size() == 1;
  const Device* device = one ? inventory_.deviceOf(record.shares.front().uuid) : nullptr;
  return device == nullptr ? -1 : static_cast<int>(device->info.index);
}

}  // namespace divvy::agent
