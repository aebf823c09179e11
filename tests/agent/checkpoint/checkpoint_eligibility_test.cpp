// Who can be checkpointed, and what bringing one back takes.
#include "checkpoint/checkpoint_eligibility.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "ledger/pins.h"

namespace divvy::agent {
namespace {

CheckpointFacts able() {
  CheckpointFacts facts;
  facts.on = true;
  facts.driver = 580;
  facts.processes = 2;
  facts.host_available = gib(12);
  facts.sites = {{gib(10), gib(10), mib(500), {}, gib(20), gib(24)}};
  return facts;
}

Ineligibility barIf(const std::function<void(CheckpointFacts&)>& change) {
  CheckpointFacts facts = able();
  change(facts);
  return barOf(facts);
}

TEST(Ineligibility, EachObstacle_IsNamed) {
  using Bar = Ineligibility;
  using Facts = CheckpointFacts;
  EXPECT_EQ(barOf(able()), Bar::kNone);
  EXPECT_EQ(barIf([](Facts& f) { f.on = false; }), Bar::kOff);
  EXPECT_EQ(barIf([](Facts& f) { f.driver = 565; }), Bar::kDriver);
  EXPECT_EQ(barIf([](Facts& f) { f.driver = 0; }), Bar::kDriver);
  EXPECT_EQ(barIf([](Facts& f) { f.arbitrated = false; }), Bar::kBackend);
  EXPECT_EQ(barIf([](Facts& f) { f.sites[0].guarantee = mib(1); }), Bar::kGuaranteed);
  EXPECT_EQ(barIf([](Facts& f) { f.processes = 0; }), Bar::kNoProcess);
  EXPECT_EQ(barIf([](Facts& f) { f.foreign = true; }), Bar::kForeignProcess);
  EXPECT_EQ(barIf([](Facts& f) { f.sites[0].room = gib(11); }), Bar::kTooLarge);
  EXPECT_EQ(barIf([](Facts& f) { f.host_available = gib(11) - Bytes{1}; }), Bar::kHostMemory);
  EXPECT_EQ(barIf([](Facts& f) { f.host_available = gib(11); }), Bar::kNone);
  for (int bar = 1; bar <= static_cast<int>(Bar::kRefused); ++bar)
    EXPECT_NE(barWords(static_cast<Bar>(bar)), "") << bar;
  EXPECT_EQ(barWords(Bar::kNone), "");
}

TEST(Ineligibility, PinReasons_BarByDriverVersion) {
  using ledger::PinReason;
  const auto pinned = [](PinReason reason, unsigned driver) {
    return barIf([&](CheckpointFacts& facts) {
      facts.pins = ledger::bitOf(reason) | ledger::bitOf(PinReason::kContext);
      facts.driver = driver;
    });
  };
  const std::pair<PinReason, Ineligibility> at_any_driver[] = {
      {PinReason::kManaged, Ineligibility::kManaged},
      {PinReason::kForeignUse, Ineligibility::kRegistered},
      {PinReason::kCollectives, Ineligibility::kCollectives},
      {PinReason::kMulticast, Ineligibility::kFabric},
      {PinReason::kArray, Ineligibility::kNone},
      {PinReason::kGraph, Ineligibility::kNone},
      {PinReason::kSparseArray, Ineligibility::kNone}};
  for (const auto& [reason, bar] : at_any_driver)
    for (const unsigned driver : {570u, 610u})
      EXPECT_EQ(pinned(reason, driver), bar) << ledger::pinWords(reason);
  for (const PinReason shared :
       {PinReason::kPool, PinReason::kImported, PinReason::kExported, PinReason::kLegacyIpc}) {
    EXPECT_EQ(pinned(shared, 609), Ineligibility::kShared) << ledger::pinWords(shared);
    EXPECT_EQ(pinned(shared, 610), Ineligibility::kNone) << ledger::pinWords(shared);
  }
}

TEST(DriverBranch, Version_BranchIsLeadingNumber) {
  EXPECT_EQ(driverBranch("570.86.15"), 570u);
  EXPECT_EQ(driverBranch("610"), 610u);
  EXPECT_EQ(driverBranch(""), 0u);
  EXPECT_EQ(driverBranch("v570"), 0u);
  EXPECT_EQ(driverBranch("570x"), 0u);
}

TEST(RestoreNeeds, UsedMemory_AddsContextAndMargin) {
  // A context, and 1 GiB on a large card,
  EXPECT_EQ(restoreNeeds({gib(10), {}, mib(500), {}, {}, gib(80)}), gib(11) + mib(500));
  // a twentieth of what is much,
  EXPECT_EQ(restoreNeeds({gib(60), {}, mib(500), {}, {}, gib(80)}), gib(63) + mib(500));
  // 1/32 of a small card.
  EXPECT_EQ(restoreNeeds({mib(100), {}, mib(8), {}, {}, mib(512)}), mib(124));
  EXPECT_EQ(restoreNeeds({{}, {}, mib(500), {}, {}, gib(24)}), mib(500 + 768));
}

}  // namespace
}  // namespace divvy::agent
