// Which cards are available for new allocations, according to the driver. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "device/driver_worker.h"
#include "device/fault_store.h"

namespace divvy::agent {

// A card with a fault of its own is good again when it answers and had no fault for this long.
inline constexpr std::uint64_t kQuietMs = 5 * 60 * 1000;

class DeviceHealth {
 public:
  DeviceHealth() = default;
  explicit DeviceHealth(std::uint64_t quiet_ms) : quiet_ms_(quiet_ms) {}
  // Takes the driver's answer. `now_ms`: of a monotonic clock. Returns true if a card became good
  // or bad.
  bool observe(const DriverHealth& said, std::uint64_t now_ms);
  // Sets the holders of cards from another plugin: a held card is not available. Returns true if
  // the set of held cards changed.
  bool held(std::map<unsigned, std::string> holders);
  // Does the same for unmanaged processes: "process 12 (python3)".
  bool used(std::map<unsigned, std::string> strangers);
  // Records an error that the driver counted without an event, as the fault it would have been. The
  // quiet time starts at its discovery. Returns true if the card was good before and is bad now.
  bool found(unsigned index, const KnownFault& fault);
  // Restores a fault that an earlier agent recorded; `now_ms` as in observe().
  void recall(unsigned index, const KnownFault& fault, std::uint64_t now_ms);
  // By index: the faults that the next agent has to restore.
  std::map<unsigned, KnownFault> pending() const;
  bool good(unsigned index) const { return why(index).empty(); }
  // Whether the driver reports a fault; a foreign holder or process is none.
  bool faulty(unsigned index) const;
  // "Xid 79", "Xid 48 while no agent was there, between ... and ...", "it does not answer", "pod
  // a/b has it from another plugin", "process 12 (python3), an unmanaged process, uses it"; empty:
  // the device is good.
  std::string why(unsigned index) const;
  // "pod a/b"; empty: no pod holds it from another plugin.
  std::string heldBy(unsigned index) const;
  // Number of faults so far, by Xid; includes programs' own.
  const std::map<std::uint64_t, std::uint64_t>& faults(unsigned index) const;

 private:
  struct Card {
    bool answers = true;
    KnownFault fault;  // the card's last fault; xid 0: none, or long ago
    std::map<std::uint64_t, std::uint64_t> faults;
  };
  const std::uint64_t quiet_ms_ = kQuietMs;
  std::map<unsigned, Card> cards_;
  std::map<unsigned, std::string> holders_, strangers_;
};

// Xids of errors of the program, not of the card. Source: NVIDIA's device plugin ignores them.
bool isProgramsOwn(std::uint64_t xid);

}  // namespace divvy::agent
