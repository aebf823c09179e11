// What one tenant's processes say of their memory on its devices, and how fast it moves. Private.
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
#include "tenant/activity_reader.h"

namespace divvy::agent {

// On one device, the sum over all processes.
struct SwapState {
  Bytes swappable;  // allocated, of what can be swapped
  Bytes mapped;     // of these on the device, or about to be
  Bytes pinned;     // stays on the device
  Bytes out() const { return swappable - mapped; }
};

// Whether processes can use memory of the host in place of a device's.
enum class HostMapping : std::uint8_t {
  kUnknown,  // none has said anything
  kCan,
  kInUse,
  kCannot,  // the driver of one
};

struct ResidencySummary {
  std::vector<SwapState> devices;  // in the tenant's order
  std::uint64_t pin_reasons = 0;
  ledger::SwapRefusal refusal = ledger::SwapRefusal::kNone;  // one's, if any
  unsigned pressed = 0;              // processes in which an allocation waits for the device
  std::uint64_t pressure_waits = 0;  // how often one did, of those that live
  std::uint64_t pressure_refusals = 0;
  HostMapping host = HostMapping::kUnknown;
  bool at_work = false;           // one uses its devices, or waits to
  std::uint64_t last_launch = 0;  // CLOCK_MONOTONIC; 0: none
};

// Bytes in a second.
struct SwapRate {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
};

// Belongs to the agent's main thread; the arbiter has mappings of its own.
class ResidencyReader {
 public:
  using Slots = std::vector<std::pair<unsigned, std::uint64_t>>;  // with their generations

  // kNotFound: nothing of this tenant is swapped.
  static Result<ResidencyReader> open(const std::filesystem::path& tenant_dir, unsigned devices);

  // Nothing in it is more than any device has.
  ResidencySummary read(const Slots& slots) const;
  // Ends one window of rates and begins the next.
  void sample(const Slots& slots, std::chrono::steady_clock::time_point now);
  // Of the last window, in the order of the devices.
  const std::vector<SwapRate>& rates() const { return rates_; }

 private:
  struct SwapCounters {
    std::uint64_t out = 0;
    std::uint64_t in = 0;
  };
  using Key = std::pair<std::pair<unsigned, std::uint64_t>, unsigned>;  // slot and device

  ResidencyReader(ledger::ResidencyPages pages, ActivityReader work, unsigned devices)
      : pages_(std::move(pages)), work_(std::move(work)), rates_(devices) {}

  mutable ledger::ResidencyPages pages_;  // note that a file was truncated
  ActivityReader work_;
  std::vector<SwapRate> rates_;
  std::map<Key, SwapCounters> before_;
  std::chrono::steady_clock::time_point sampled_;
};

// "it captures a graph"; empty for none.
std::string refusalWords(ledger::SwapRefusal refusal);
// "managed memory", "arrays": the names of the bits of SwapLine::pin_reasons.
std::vector<std::string> pinNames(std::uint64_t reasons);

}  // namespace divvy::agent
