#include "tenant/tenant_events.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TenantRecord ofWeb() {
  TenantRecord record;
  record.id = "abc";
  record.name = "web";
  record.created_ms = 1000;
  record.shares = {{"GPU-a", {2ull << 30}, {2ull << 30}, 30, {2ull << 30}}};
  return record;
}

TEST(TenantEvents, Given_NamesShareAndRequester) {
  TenantRecord record = ofWeb();
  EventView given = givenEvent(record, processWord(7, "alice"));
  EXPECT_EQ(given.tenant, "abc");
  EXPECT_EQ(given.name, "web");
  EXPECT_EQ(given.kind, "given");
  EXPECT_EQ(given.reason, "2 GiB and 30 % of GPU-a, priority normal");
  EXPECT_EQ(given.by, "process 7 of alice");
  record.shares.push_back({"GPU-b", {1ull << 30}, {1ull << 30}, 0, {1ull << 30}});
  record.lodger = {"uid", "team", "trainer", "main"};
  EXPECT_EQ(givenEvent(record, {}).reason,
            "2 GiB and 30 % of GPU-a, 1 GiB of GPU-b, priority normal, container main of pod "
            "team/trainer");
}

TEST(TenantEvents, Changed_NamesDifferences) {
  const TenantRecord before = ofWeb();
  EXPECT_FALSE(changedEvent(before, before, "somebody"));
  TenantRecord now = before;
  now.shares[0].limit = now.shares[0].guarantee = {4ull << 30};
  now.shares[0].cores = 50;
  now.priority = Priority::kHigh;
  now.cores_policy = CoresPolicy::kCap;
  now.name = "batch";
  const std::optional<EventView> changed = changedEvent(before, now, "somebody");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->reason,
            "memory 2 GiB to 4 GiB, cores 30 % to 50 %, cores "
            "are a share to cap, priority normal to high, name \"web\" to \"batch\"");
  EXPECT_EQ(changed->by, "somebody");
}

TEST(TenantEvents, SeveralDevices_ChangeNamesDevice) {
  TenantRecord before = ofWeb();
  before.shares.push_back({"GPU-b", {2ull << 30}, {2ull << 30}, 0, {2ull << 30}});
  TenantRecord now = before;
  now.shares[1].cores = 20;
  now.shares[1].guarantee = {1ull << 30};
  EXPECT_EQ(changedEvent(before, now, {})->reason,
            "guaranteed of GPU-b 2 GiB to 1 GiB, cores of GPU-b 0 % to 20 %");
}

TEST(TenantEvents, Ended_NamesDuration) {
  EXPECT_EQ(endedEvent(ofWeb(), 91'000).reason, "after 90s");
  EXPECT_EQ(endedEvent(ofWeb(), 500).reason, "after 0s") << "a clock that went back";
  TenantRecord old = ofWeb();
  old.created_ms = 0;
  old.created = 1;
  EXPECT_EQ(endedEvent(old, 91'000).reason, "after 90s");
}

}  // namespace
}  // namespace divvy::agent
