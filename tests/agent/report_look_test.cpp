// How often the report of a tenant is read that makes reading it dear.
#include "report_look.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "ledger/pages.h"
#include "ledger/words.h"
#include "sandbox.h"

namespace divvy::agent {
namespace {

class ReportLookTest : public testing::Test {
 protected:
  ReportLookTest() {
    std::string pattern = "/tmp/dv-XXXXXX";
    root_ = mkdtemp(pattern.data());
    ledger::TenantSpec spec;
    spec.id = "t";
    ledger::DeviceSpec& device = spec.devices.emplace_back();
    device.uuid = "GPU-1";
    device.ceiling = gib(1);
    device.physical = gib(80);
    spec.slots = ledger::kMaxSlots;
    Result<ledger::TenantLedger> made = ledger::TenantLedger::create(root_ + "/t", spec);
    EXPECT_TRUE(made);
    ledger_.emplace(std::move(*made));
    EXPECT_EQ(ledger::TenantPages::open((root_ + "/t").c_str(), &pages_), ledger::OpenStatus::kOk);
  }
  ~ReportLookTest() override {
    ledger_.reset();
    std::filesystem::remove_all(root_);
  }
  void fill(unsigned slots) {
    for (unsigned slot = 0; slot < slots; ++slot)
      pages_.report().slots[slot].state.low = ledger::packState(1, ledger::Phase::kLive);
  }
  std::size_t seen() {
    const ReportPtr report = look_.look(*ledger_);
    return report == nullptr ? 0 : report->slots.size();
  }

  std::string root_;
  std::optional<ledger::TenantLedger> ledger_;
  ledger::TenantPages pages_;
  ReportLook look_;
};

TEST_F(ReportLookTest, AReportOfFewProcessesIsAlwaysFresh) {
  for (unsigned slots = 1; slots < 20; ++slots) {
    fill(slots);
    EXPECT_EQ(seen(), slots);
  }
}

// Regression: one tenant that claimed all slots cost the agent a tenth of its loop, and six all of
// it.
TEST_F(ReportLookTest, ADearReportIsKeptForManyTimesWhatItCost) {
  fill(ledger::kMaxSlots);
  const ReportPtr first = look_.look(*ledger_);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->slots.size(), std::size_t{ledger::kMaxSlots});
  const auto begun = ReportLook::Clock::now();
  unsigned fresh = 0;
  ReportPtr last = first;
  for (unsigned look = 0; look < 100'000; ++look) {
    const ReportPtr now = look_.look(*ledger_);
    fresh += now != last ? 1 : 0;
    last = now;
  }
  const std::chrono::duration<double> took = ReportLook::Clock::now() - begun;
  EXPECT_LE(fresh, 2u + static_cast<unsigned>(took.count() * 1000 / ReportLook::kRests))
      << "each read costs 1 ms or more, and stands for 50 times as long";
  // And not for ever.
  EXPECT_TRUE(test::eventually([&] { return look_.look(*ledger_) != first; }));
}

}  // namespace
}  // namespace divvy::agent
