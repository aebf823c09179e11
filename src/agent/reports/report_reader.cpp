#include "reports/report_reader.h"

#include <time.h>

#include <utility>

namespace divvy::agent {
namespace {

std::chrono::nanoseconds threadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

ReportPtr ReportReader::read(const ledger::TenantLedger& pages) {
  if (last_ != nullptr && Clock::now() < until_) return last_;
  const std::chrono::nanoseconds begun = threadTime();
  Result<ledger::ReportSnapshot> report = pages.readReport();
  const std::chrono::nanoseconds took = threadTime() - begun;
  last_ = nullptr;
  if (!report) return nullptr;
  auto found = std::make_shared<const ledger::ReportSnapshot>(std::move(*report));
  if (took < kLong) return found;
  last_ = found;
  until_ = Clock::now() + took * kRests;
  return found;
}

}  // namespace divvy::agent
