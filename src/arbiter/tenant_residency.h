// The memory of one tenant as its arbiter sees it: what its processes say, bounded, and what each
// is told of what the tenant may have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "arbiter/residency.h"
#include "ledger/residency_pages.h"
#include "policy/bandwidth_estimator.h"

namespace divvy::arbiter {

// Belongs to a Member, and with it to a thread. Devices are the tenant's own, in the order of its
// pages.
class TenantResidency {
 public:
  TenantResidency(ledger::ResidencyPages pages, unsigned devices);

  void arrive(unsigned slot, std::uint64_t generation);
  void leave(unsigned slot, std::uint64_t generation);
  // Whether the process uses the devices, or waits to, and
  // when it last launched, as it says.
  void noteWork(unsigned slot, std::uint64_t generation, bool wants, std::uint64_t last_launch);

  // Reads the lines of all processes, and tells them again what follows from that.
  ResidencyReport look(Nanos now);
  // What the tenant may have now.
  void tell(const ResidencyTarget& order);
  // What swaps on a device did since the last call.
  SwapWork takeWork(unsigned device);

  // The tenant truncated its file: nothing that it says is known from now on.
  bool broken() const { return pages_.broken(); }

 private:
  struct Process {
    bool wants = false;
    bool claimed = false;  // its line was read
    ledger::SwapSample said;
    bool told = false;
    ledger::ResidencyOrder order;  // the last one
    std::uint64_t seq = 0;         // of that
    // The most of all orders that stood since its line was last read: it may have taken as much.
    std::array<std::uint64_t, ledger::kMaxDevices> promised{};
  };
  using Name = std::pair<unsigned, std::uint64_t>;

  void absorb(Process* process, const ledger::SwapSample& sample);
  static std::uint64_t held(const Process& process, unsigned device);
  static bool ready(const Process& process, unsigned devices);
  bool mapsHost() const;
  void settle();
  std::vector<std::uint64_t> shares(unsigned device) const;
  std::vector<std::uint64_t> hostShares() const;
  using ByDevice = std::array<std::uint64_t, ledger::kMaxDevices>;
  static ByDevice heldBy(const Process& process, unsigned devices);
  // What it said that stays on the devices or is to come there; nothing where it has no line.
  static ByDevice saidBy(const Process& process, unsigned devices);
  // `said`: by all processes together.
  ledger::ResidencyOrder orderFor(const Process& process, const ByDevice& said) const;
  void write(const Name& name, Process* process, const ledger::ResidencyOrder& order);

  ledger::ResidencyPages pages_;
  const unsigned devices_;
  std::map<Name, Process> processes_;
  ResidencyTarget order_;
  bool told_ = false;
  bool wanted_ = false;
  Nanos idle_since_ = 0;
  bool ever_wanted_ = false;  // seen by us; else it is idle since it last launched
  Nanos last_launch_ = 0;
  std::array<SwapWork, ledger::kMaxDevices> work_{};
};

}  // namespace divvy::arbiter
