// Device health over time: polls the driver for faults, restores the faults that an earlier agent
// recorded, and finds those that occurred while no agent ran. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "agent/node.h"
#include "agent/protocol.h"
#include "device/device_health.h"
#include "device/ecc_error_tracker.h"
#include "device/fault_store.h"
#include "device/inventory.h"

namespace divvy::agent {

// Only on the agent's one thread. The inventory must outlive the monitor.
class DeviceHealthMonitor {
 public:
  struct Listeners {
    std::function<void(EventView)> event;  // receives an event for each fault
    // Runs after a device became available for new allocations, or unavailable.
    std::function<void()> changed;
  };
  // `quiet_ms`: see DeviceHealth. `paths`: where faults are stored for the next agent.
  DeviceHealthMonitor(const Inventory& inventory, NodePaths paths, std::uint64_t quiet_ms,
                      Listeners listeners);

  // Reads device health without blocking. Returns true if a device became available for new
  // allocations, or unavailable.
  bool pollHealth();
  // Restores the faults that an earlier agent recorded, and finds those that occurred since. Call
  // once, when the devices are known and were queried once. Blocks for the driver, kDriverPatience
  // at most.
  void restoreFaults();
  // See DeviceHealth::held().
  bool holdDevices(std::map<unsigned, std::string> holders);
  // See DeviceHealth::used().
  bool setUnmanagedUse(std::map<unsigned, std::string> unmanaged);
  const DeviceHealth& health() const { return health_; }

 private:
  void reportHealth();
  void reportFaults(const DriverHealth& said) const;
  bool noteErrors(const DriverHealth& said);
  void keepFaults();

  const Inventory& inventory_;
  const NodePaths paths_;
  const Listeners listeners_;
  DeviceHealth health_;
  EccErrorTracker errors_;
  std::int64_t last_look_s_ = 0;  // last look of the agent before, seconds since 1970; 0: unknown
  PersistedDeviceState kept_;     // as last saved for the next agent
};

}  // namespace divvy::agent
