#include "device/device_health_monitor.h"

#include <ctime>
#include <set>
#include <utility>

#include "log/log.h"
#include "os/clock.h"

namespace divvy::agent {
namespace {

EventView faultOn(unsigned index, std::string reason) {
  EventView event;
  event.device = static_cast<int>(index);
  event.kind = "device-fault";
  event.reason = std::move(reason);
  return event;
}

std::string xidWord(std::uint64_t xid) {
  return "Xid " + std::to_string(xid);
}

}  // namespace

DeviceHealthMonitor::DeviceHealthMonitor(const Inventory& inventory, NodePaths paths,
                                         std::uint64_t quiet_ms, Listeners listeners)
    : inventory_(inventory),
      paths_(std::move(paths)),
      listeners_(std::move(listeners)),
      health_(quiet_ms) {}

bool DeviceHealthMonitor::pollHealth() {
  std::vector<unsigned> indexes;
  for (const Device& device : inventory_.devices()) indexes.push_back(device.info.index);
  const std::optional<DriverHealth> said = inventory_.driver().takeHealth(indexes);
  bool changed = said && health_.observe(*said, nowMs());
  if (said) reportFaults(*said);
  if (said) changed = noteErrors(*said) || changed;
  if (changed) reportHealth();
  if (said) keepFaults();
  inventory_.driver().refreshHealth(indexes);
  return changed;
}

// Several events of one poll may report the same fault.
void DeviceHealthMonitor::reportFaults(const DriverHealth& said) const {
  std::set<std::pair<unsigned, std::uint64_t>> told;
  for (const driver::DeviceFault& fault : said.faults)
    if (!isProgramsOwn(fault.xid) && told.insert({fault.index, fault.xid}).second)
      listeners_.event(faultOn(fault.index, xidWord(fault.xid)));
}

bool DeviceHealthMonitor::noteErrors(const DriverHealth& said) {
  const EccErrorTracker::Seen seen = errors_.observe(said);
  for (const auto& [index, growth] : seen.old)
    log::info(
        "the driver reports errors from before the first check by an agent; they count as old",
        {{"device", std::to_string(index)}, {"errors", growth.words()}});
  bool changed = false;
  for (const MissedFault& fault : seen.faults) {
    KnownFault known{fault.growth.xid(), nowMs()};
    std::string when = " without an event of the driver";
    if (fault.away) {
      known.from_s = last_look_s_;
      known.until_s = std::time(nullptr);
      when = " while no agent ran, " + spanWords(known.from_s, known.until_s);
    }
    listeners_.event(
        faultOn(fault.index, fault.growth.words() + when + ": as " + xidWord(known.xid)));
    changed = health_.found(fault.index, known) || changed;
  }
  return changed;
}

void DeviceHealthMonitor::restoreFaults() {
  last_look_s_ = lastLook(paths_.faults(), paths_.watchMark());
  kept_ = loadKnown(paths_.faults());
  if (!kept_.damage.empty())
    log::warn(
        "the file of faults is damaged; faults of other devices while no agent ran are unknown",
        {{"file", paths_.faults()}, {"error", kept_.damage}});
  const bool other = !kept_.driver.empty() && kept_.driver != inventory_.driverVersion();
  if (!kept_.this_boot || other)
    for (auto& [uuid, errors] : kept_.errors) errors = reloaded(errors);
  for (const Device& device : inventory_.devices()) {
    const auto fault = kept_.faults.find(device.info.uuid);
    if (fault != kept_.faults.end()) health_.recall(device.info.index, fault->second, nowMs());
    const auto errors = kept_.errors.find(device.info.uuid);
    if (errors != kept_.errors.end()) errors_.recall(device.info.index, errors->second);
  }
  inventory_.driver().settle();
  if (!pollHealth() && !health_.pending().empty()) reportHealth();
}

void DeviceHealthMonitor::keepFaults() {
  PersistedDeviceState now;
  now.driver = inventory_.driverVersion();
  // A card that is not there now may come back.
  now.errors = kept_.errors;
  const std::map<unsigned, KnownFault> pending = health_.pending();
  const std::map<unsigned, driver::MemoryErrors> known = errors_.known();
  for (const Device& device : inventory_.devices()) {
    const auto fault = pending.find(device.info.index);
    if (fault != pending.end()) now.faults[device.info.uuid] = fault->second;
    const auto errors = known.find(device.info.index);
    if (errors != known.end()) now.errors[device.info.uuid] = errors->second;
  }
  if (!differ(kept_, now)) return;
  saveKnown(paths_.faults(), now);
  kept_ = std::move(now);
}

bool DeviceHealthMonitor::holdDevices(std::map<unsigned, std::string> holders) {
  const bool changed = health_.held(std::move(holders));
  if (changed) reportHealth();
  return changed;
}

bool DeviceHealthMonitor::setUnmanagedUse(std::map<unsigned, std::string> unmanaged) {
  const bool changed = health_.used(std::move(unmanaged));
  if (changed) reportHealth();
  return changed;
}

void DeviceHealthMonitor::reportHealth() {
  for (const Device& device : inventory_.devices()) {
    const unsigned index = device.info.index;
    if (!health_.good(index))
      log::warn("device is not allocatable",
                {{"device", std::to_string(index)}, {"reason", health_.why(index)}});
  }
  listeners_.changed();
}

}  // namespace divvy::agent
