#include "tenant/tenant_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace divvy::agent {
namespace {

class TenantProcessesTest : public testing::Test {
 protected:
  std::optional<SlotKey> claim(unsigned slot, std::uint64_t generation, int pid) {
    const ProcessId id{pid, 7};
    return processes_.claim({slot, generation}, id, [&] {
      ++watches_;
      return WatchedProcess{id, nullptr};
    });
  }

  TenantProcesses processes_;
  unsigned watches_ = 0;
};

// Regression: a tenant that counted the generation of one slot up had the agent open a descriptor
// for each.
TEST_F(TenantProcessesTest, SlotGenerations_OneEntryAndOneWatch) {
  for (std::uint64_t generation = 1; generation <= 100'000; ++generation) {
    const std::optional<SlotKey> before = claim(3, generation, 100);
    ASSERT_EQ(before.has_value(), generation > 1);
    ASSERT_EQ(before.value_or(SlotKey{}).generation, generation - 1);
  }
  EXPECT_EQ(watches_, 1u);
  EXPECT_EQ(processes_.slots().size(), 1u);
  EXPECT_EQ(processes_.watched().size(), 1u);
}

TEST_F(TenantProcessesTest, SlotsOfProcess_ShareWatchAndGoWithIt) {
  for (unsigned slot = 0; slot < 4096; ++slot) EXPECT_FALSE(claim(slot, 1, 100));
  EXPECT_FALSE(claim(9999, 1, 200));
  EXPECT_EQ(watches_, 2u);
  EXPECT_EQ(processes_.remove({100, 7}).size(), 4096u);
  EXPECT_EQ(processes_.slots().size(), 1u);
  EXPECT_EQ(processes_.find(100), nullptr);
  EXPECT_NE(processes_.find(200), nullptr);
}

TEST_F(TenantProcessesTest, LastSlotTaken_ProcessUnwatched) {
  claim(1, 1, 100), claim(2, 1, 100);
  EXPECT_EQ(claim(1, 2, 200)->generation, 1u);
  EXPECT_NE(processes_.find(100), nullptr) << "it has another";
  EXPECT_TRUE(claim(2, 2, 200));
  EXPECT_EQ(processes_.find(100), nullptr);
  EXPECT_EQ(processes_.watched().size(), 1u);
}

TEST_F(TenantProcessesTest, ReusedPid_IsOtherProcess) {
  claim(1, 1, 100);
  const ProcessId again{100, 8};
  processes_.claim({2, 1}, again, [&] { return WatchedProcess{again, nullptr}; });
  EXPECT_EQ(processes_.watched().size(), 2u);
  EXPECT_EQ(processes_.remove({100, 7}), (std::vector<SlotKey>{{1, 1}}));
  EXPECT_EQ(processes_.find(100)->id.start_time, 8u);
}

TEST_F(TenantProcessesTest, MaxProcesses_IsFull) {
  for (unsigned i = 0; i < TenantProcesses::kMax; ++i) {
    EXPECT_FALSE(processes_.full()) << i;
    claim(i, 1, static_cast<int>(i) + 10);
  }
  EXPECT_TRUE(processes_.full());
}

}  // namespace
}  // namespace divvy::agent
