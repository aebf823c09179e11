// Notifies the rest of the agent about tenants: events for users, and that capacity may have become
// free. Private.
#pragma once

#include <functional>
#include <utility>

#include "agent/protocol.h"
#include "device/inventory.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

struct Tenant;

// Only on the agent's one thread. The inventory must outlive the notifier.
class TenantNotifier {
 public:
  // `changed` runs after a tenant ended or a share changed: queued requests may fit then.
  TenantNotifier(const Inventory& inventory, std::function<void()> changed)
      : inventory_(inventory), changed_(std::move(changed)) {}

  // Sets the receiver of events. Events before this call are dropped.
  using EventSink = std::function<void(EventView)>;
  void onEvent(EventSink sink) { sink_ = std::move(sink); }
  // Sets what runs before a tenant is removed, while its pages can be read.
  using EndSink = std::function<void(const Tenant&)>;
  void onEnd(EndSink sink) { end_sink_ = std::move(sink); }
  void ending(const Tenant& tenant) const {
    if (end_sink_) end_sink_(tenant);
  }
  // Emits an event that belongs to no tenant, as of a request that was refused.
  void emit(EventView event) const;
  // Emits the tenant's event. Sets its device if the tenant has exactly one.
  void emitFor(const TenantRecord& record, EventView event) const;
  // Index of the tenant's device if it has exactly one; -1: it has not, or the device is gone.
  int deviceOf(const TenantRecord& record) const;
  void changed() const { changed_(); }

 private:
  const Inventory& inventory_;
  std::function<void()> changed_;
  EventSink sink_;
  EndSink end_sink_;
};

}  // namespace divvy::agent
