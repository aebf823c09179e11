// Whether a tenant uses its devices, by what its processes say. Private.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ledger/grants.h"

namespace divvy::agent {

struct ActivitySummary {
  bool at_work = false;           // one uses its devices, or waits to
  std::uint64_t last_launch = 0;  // CLOCK_MONOTONIC; 0: none
};

// Belongs to the agent's main thread. Of a tenant whose gate is never open: behind an open one
// nothing is said.
class ActivityReader {
 public:
  using Slots = std::vector<std::pair<unsigned, std::uint64_t>>;  // with their generations

  static Result<ActivityReader> open(const std::filesystem::path& tenant_dir);
  ActivitySummary read(const Slots& slots) const;

 private:
  explicit ActivityReader(ledger::GrantPages pages) : pages_(std::move(pages)) {}
  mutable ledger::GrantPages pages_;  // note that a file was truncated
};

}  // namespace divvy::agent
