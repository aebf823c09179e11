// The memory of one tenant on its devices, as its processes report it, and the rate of swaps.
// Private.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ledger/residency_pages.h"
#include "reports/activity_reader.h"

namespace divvy::agent {

// On one device, the sum over all processes.
struct SwapState {
  Bytes swappable;  // allocated swappable memory
  Bytes mapped;     // part of `swappable` on the device, or about to be
  Bytes pinned;     // stays on the device
  Bytes out() const { return swappable - mapped; }
};

// Whether processes can use host memory in place of a device's.
enum class HostMapping : std::uint8_t {
  kUnknown,  // no process has reported
  kCan,
  kInUse,
  kCannot,  // not with the driver of a process
};

struct ResidencySummary {
  std::vector<SwapState> devices;  // in the tenant's order
  std::uint64_t pin_reasons = 0;
  ledger::SwapRefusal refusal = ledger::SwapRefusal::kNone;  // of a process, if any refused
  unsigned pressed = 0;              // processes in which an allocation waits for memory
  std::uint64_t pressure_waits = 0;  // allocations that waited, in living processes
  std::uint64_t pressure_refusals = 0;
  HostMapping host = HostMapping::kUnknown;
  bool at_work = false;           // a process uses its devices, or waits to
  std::uint64_t last_launch = 0;  // CLOCK_MONOTONIC; 0: none
};

// Bytes per second.
struct SwapRate {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
};

// Only on the agent's main thread; the arbiter has its own mappings.
class ResidencyReader {
 public:
  using Slots = std::vector<std::pair<unsigned, std::uint64_t>>;  // slot and generation

  // kNotFound: the tenant is not swapped.
  static Result<ResidencyReader> open(const std::filesystem::path& tenant_dir, unsigned devices);

  // No value exceeds the memory of a device.
  ResidencySummary read(const Slots& slots) const;
  // Ends one window of rates and begins the next.
  void sample(const Slots& slots, std::chrono::steady_clock::time_point now);
  // Rates of the last window, in the order of the devices.
  const std::vector<SwapRate>& rates() const { return rates_; }

 private:
  struct SwapCounters {
    std::uint64_t out = 0;
    std::uint64_t in = 0;
  };
  using Key = std::pair<std::pair<unsigned, std::uint64_t>, unsigned>;  // slot and device

  ResidencyReader(ledger::ResidencyPages pages, ActivityReader work, unsigned devices)
      : pages_(std::move(pages)), work_(std::move(work)), rates_(devices) {}

  mutable ledger::ResidencyPages pages_;  // mutable: reads record truncated files
  ActivityReader work_;
  std::vector<SwapRate> rates_;
  std::map<Key, SwapCounters> before_;
  std::chrono::steady_clock::time_point sampled_;
};

// "it captures a graph"; empty for kNone.
std::string refusalWords(ledger::SwapRefusal refusal);
// "managed memory", "arrays": the names of the bits of SwapLine::pin_reasons.
std::vector<std::string> pinNames(std::uint64_t reasons);

}  // namespace divvy::agent
