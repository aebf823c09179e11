// Whether a tenant uses its devices, as its processes report it. Private.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ledger/grants.h"

namespace divvy::agent {

struct ActivitySummary {
  bool at_work = false;           // a process uses its devices, or waits to
  std::uint64_t last_launch = 0;  // CLOCK_MONOTONIC; 0: none
};

// Only on the agent's main thread. For tenants with a gate that is never open: behind an open gate,
// processes report nothing.
class ActivityReader {
 public:
  using Slots = std::vector<std::pair<unsigned, std::uint64_t>>;  // slot and generation

  static Result<ActivityReader> open(const std::filesystem::path& tenant_dir);
  ActivitySummary read(const Slots& slots) const;

 private:
  explicit ActivityReader(ledger::GrantPages pages) : pages_(std::move(pages)) {}
  mutable ledger::GrantPages pages_;  // mutable: reads record truncated files
};

}  // namespace divvy::agent
