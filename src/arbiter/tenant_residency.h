// The memory of one tenant, as its arbiter uses it: bounded reports of its processes, and the
// orders to each process.
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

// Belongs to a TenantChannel, and is used by the same thread. Devices are the tenant's own, in the
// order of its pages.
class TenantResidency {
 public:
  TenantResidency(ledger::ResidencyPages pages, unsigned devices);

  void addProcess(unsigned slot, std::uint64_t generation);
  void removeProcess(unsigned slot, std::uint64_t generation);
  // Notes whether the process uses the devices or waits to, and when it last launched, as it
  // reports.
  void noteWork(unsigned slot, std::uint64_t generation, bool wants, std::uint64_t last_launch);

  // Reads the lines of all processes, and renews their orders accordingly.
  ResidencyReport observe(Nanos now);
  // Divides the tenant's allowed memory among its processes, and writes their orders.
  void apply(const ResidencyTarget& order);
  // Returns the growth of a device's swap counters since the last call.
  SwapWork takeSwapWork(unsigned device);

  // True if the tenant truncated its file: its reports are unknown from then on.
  bool broken() const { return pages_.broken(); }

 private:
  struct Process {
    bool wants = false;
    bool claimed = false;  // its line was read
    ledger::SwapSample reported;
    bool ordered = false;
    ledger::ResidencyOrder order;  // the last order
    std::uint64_t seq = 0;         // sequence of `order`
    // The largest orders in force since its line was last read: it may have taken as much.
    std::array<std::uint64_t, ledger::kMaxDevices> promised{};
  };
  using Name = std::pair<unsigned, std::uint64_t>;

  void absorb(Process* process, const ledger::SwapSample& sample);
  static std::uint64_t held(const Process& process, unsigned device);
  static bool ready(const Process& process, unsigned devices);
  bool mapsHost() const;
  void writeOrders();
  std::vector<std::uint64_t> shares(unsigned device) const;
  std::vector<std::uint64_t> hostShares() const;
  using ByDevice = std::array<std::uint64_t, ledger::kMaxDevices>;
  static ByDevice heldBy(const Process& process, unsigned devices);
  // Bytes that it reports as on the devices or requested; zeros without a line.
  static ByDevice reportedBy(const Process& process, unsigned devices);
  // `reported`: sum over all processes.
  ledger::ResidencyOrder orderFor(const Process& process, const ByDevice& reported) const;
  void write(const Name& name, Process* process, const ledger::ResidencyOrder& order);

  ledger::ResidencyPages pages_;
  const unsigned devices_;
  std::map<Name, Process> processes_;
  ResidencyTarget order_;
  bool ordered_ = false;
  bool wanted_ = false;
  Nanos idle_since_ = 0;
  bool ever_wanted_ = false;  // seen by this agent; else it is idle since its last launch
  Nanos last_launch_ = 0;
  std::array<SwapWork, ledger::kMaxDevices> work_{};
};

}  // namespace divvy::arbiter
