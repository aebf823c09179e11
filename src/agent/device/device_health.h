// Which cards can be given to somebody new, by what the driver tells of them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "device/driver_worker.h"
#include "device/fault_store.h"

namespace divvy::agent {

// A card that had a fault of its own is good again when it answers and had none for so long.
inline constexpr std::uint64_t kQuietMs = 5 * 60 * 1000;

class DeviceHealth {
 public:
  DeviceHealth() = default;
  explicit DeviceHealth(std::uint64_t quiet_ms) : quiet_ms_(quiet_ms) {}
  // `now_ms`: of a clock that never goes back. Whether another card is good, or bad, than before.
  bool heard(const DriverHealth& said, std::uint64_t now_ms);
  // Who has which cards that we did not give: while one does, nobody else gets it. Whether another
  // card is good, or bad, than before.
  bool held(std::map<unsigned, std::string> holders);
  // Likewise of processes that are nobody's: "process 12 (python3)".
  bool used(std::map<unsigned, std::string> strangers);
  // The driver counted an error that nobody heard, and this is what it would have been; it began to
  // be quiet when it was found. Whether that card is bad now, and was good before.
  bool found(unsigned index, const KnownFault& fault);
  // An agent before us heard of it; `now_ms` as above.
  void recall(unsigned index, const KnownFault& fault, std::uint64_t now_ms);
  // By index: what the next agent has to recall.
  std::map<unsigned, KnownFault> pending() const;
  bool good(unsigned index) const { return why(index).empty(); }
  // The driver says so: not only does somebody else have it.
  bool faulty(unsigned index) const;
  // "Xid 79", "Xid 48 while no agent was there, between ... and ...", "it does not answer", "pod
  // a/b has it from another plugin", "process 12 (python3), which is nobody's, uses it"; empty: it
  // is good.
  std::string why(unsigned index) const;
  // "pod a/b"; empty: nobody has it from another plugin.
  std::string heldBy(unsigned index) const;
  // Faults so far, by Xid; programs' own, too.
  const std::map<std::uint64_t, std::uint64_t>& faults(unsigned index) const;

 private:
  struct Card {
    bool answers = true;
    KnownFault fault;  // the last of its own; xid 0: none, or long ago
    std::map<std::uint64_t, std::uint64_t> faults;
  };
  const std::uint64_t quiet_ms_ = kQuietMs;
  std::map<unsigned, Card> cards_;
  std::map<unsigned, std::string> holders_, strangers_;
};

// Errors of the program that ran, not of the card. Source: NVIDIA's device plugin ignores them.
bool isProgramsOwn(std::uint64_t xid);

}  // namespace divvy::agent
