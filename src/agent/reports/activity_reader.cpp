#include "reports/activity_reader.h"

#include <algorithm>

#include "ledger/work.h"

namespace divvy::agent {

Result<ActivityReader> ActivityReader::open(const std::filesystem::path& tenant_dir) {
  Result<ledger::GrantPages> pages = ledger::GrantPages::open(tenant_dir);
  if (!pages) return pages.error();
  return ActivityReader(std::move(*pages));
}

ActivitySummary ActivityReader::read(const Slots& slots) const {
  constexpr std::uint32_t kAtWork =
      ledger::kWorkWaiting | ledger::kWorkInFlight | ledger::kWorkCapturing;
  ActivitySummary sums;
  for (const auto& [slot, generation] : slots) {
    ledger::WorkSample work;
    if (!pages_.read(slot, generation, &work)) continue;
    sums.last_launch = std::max(sums.last_launch, work.last_launch);
    sums.at_work = sums.at_work || (work.state & kAtWork) != 0;
  }
  return sums;
}

}  // namespace divvy::agent
