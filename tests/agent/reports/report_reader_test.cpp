// How often the report of a tenant is read that makes reading it dear.
#include "reports/report_reader.h"

#include <gtest/gtest.h>

#include <optional>

#include "ledger/packed_words.h"
#include "ledger/pages.h"
#include "sandbox.h"
#include "tenant_folder.h"

namespace divvy::agent {
namespace {

class ReportReaderTest : public testing::Test {
 protected:
  ReportReaderTest() {
    Result<ledger::TenantLedger> adopted = ledger::TenantLedger::adopt(folder_.path());
    EXPECT_TRUE(adopted);
    ledger_.emplace(std::move(*adopted));
    EXPECT_EQ(ledger::TenantPages::open(folder_.path().c_str(), &pages_), ledger::OpenStatus::kOk);
  }
  void fill(unsigned slots) {
    for (unsigned slot = 0; slot < slots; ++slot)
      pages_.report().slots[slot].state.low = ledger::packState(1, ledger::Phase::kLive);
  }
  std::size_t seen() {
    const ReportPtr report = look_.read(*ledger_);
    return report == nullptr ? 0 : report->slots.size();
  }

  const test::TenantFolder folder_{ledger::kMaxSlots};
  std::optional<ledger::TenantLedger> ledger_;
  ledger::TenantPages pages_;
  ReportReader look_;
};

TEST_F(ReportReaderTest, FewProcesses_ReportIsFresh) {
  for (unsigned slots = 1; slots < 20; ++slots) {
    fill(slots);
    EXPECT_EQ(seen(), slots);
  }
}

// Regression: one tenant that claimed all slots cost the agent a tenth of its loop, and six all of
// it.
TEST_F(ReportReaderTest, ExpensiveReport_CachedForAWhile) {
  fill(ledger::kMaxSlots);
  const ReportPtr first = look_.read(*ledger_);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->slots.size(), std::size_t{ledger::kMaxSlots});
  const auto begun = ReportReader::Clock::now();
  unsigned fresh = 0;
  ReportPtr last = first;
  for (unsigned read = 0; read < 100'000; ++read) {
    const ReportPtr now = look_.read(*ledger_);
    fresh += now != last ? 1 : 0;
    last = now;
  }
  const std::chrono::duration<double> took = ReportReader::Clock::now() - begun;
  EXPECT_LE(fresh, 2u + static_cast<unsigned>(took.count() * 1000 / ReportReader::kRests))
      << "each read costs 1 ms or more, and stands for 50 times as long";
  // And not for ever.
  EXPECT_TRUE(test::eventually([&] { return look_.read(*ledger_) != first; }));
}

}  // namespace
}  // namespace divvy::agent
