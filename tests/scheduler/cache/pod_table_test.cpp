// States of pods in the scheduler cache: random events against a simple model.
#include "cache/pod_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "cache/pod_model.h"

namespace divvy::scheduler {
namespace {

std::vector<Event> drawn() {
  const auto one =
      rc::gen::tuple(rc::gen::inRange(0u, PodModel::kEvents),
                     rc::gen::inRange<std::size_t>(0, kPods), rc::gen::inRange<std::size_t>(0, 12));
  const auto list = *rc::gen::resize(
      200, rc::gen::container<std::vector<std::tuple<unsigned, std::size_t, std::size_t>>>(
               rc::gen::resize(rc::kNominalSize, one)));
  std::vector<Event> events;
  for (const auto& [what, slot, arg] : list) events.push_back({what, slot, arg});
  return events;
}

RC_GTEST_PROP(PodTable, AnyEvents_StatesAreTheModelsAndSumsAreRight, ()) {
  PodModel model;
  for (const Event& event : drawn()) {
    model.apply(event);
    const std::string fault = model.fault();
    if (!fault.empty()) RC_FAIL(fault);
  }
}

// Without this the property could hold because nothing happens.
TEST(PodTable, LongSequences_EveryStateOccurs) {
  std::set<PodState> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    PodModel model;
    Rng rng(seed);
    for (unsigned at = 0; at < 400; ++at) {
      model.apply(
          {static_cast<unsigned>(rng.below(PodModel::kEvents)), rng.below(kPods), rng.below(12)});
      ASSERT_EQ(model.fault(), "") << "event " << at << " of seed " << seed;
      model.look();
    }
    seen.insert(model.seen().begin(), model.seen().end());
  }
  EXPECT_EQ(seen.size(), kPodStates);
}

TEST(PodTable, TransitionNotInTheTable_RefusedAndNothingChanges) {
  CacheParts parts(allVendors(), {});
  PodTable& table = parts.state.pods;
  const Result<void> refused = table.transit("p", {.to = PodState::kAssumed});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInternal);
  EXPECT_EQ(refused.error().message(), "pod p is pending: it cannot become assumed");
  EXPECT_EQ(table.refused(), 1u);
  EXPECT_EQ(table.find("p"), nullptr);
}

TEST(PodTable, EngineLacksTheNode_NothingChanges) {
  CacheParts parts(allVendors(), {});
  engine::Allocation held{engine::RequestId("p"), {}, std::nullopt};
  held.placement.node = engine::NodeName("nowhere");
  const Result<void> bound = parts.state.pods.transit(
      "p",
      {.to = PodState::kBound, .allocation = &held, .charge = QuotaCharge{kQuotaNamespace, {}}});
  EXPECT_EQ(bound.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(parts.state.pods.find("p"), nullptr);
  EXPECT_EQ(parts.state.pods.refused(), 0u);
}

TEST(PodState, EveryState_MayEndAsPendingOnly) {
  for (std::size_t from = 1; from < kPodStates; ++from)
    EXPECT_TRUE(mayBecome(static_cast<PodState>(from), PodState::kPending)) << from;
  EXPECT_FALSE(mayBecome(PodState::kPending, PodState::kAssumed));
  EXPECT_FALSE(mayBecome(PodState::kBound, PodState::kReserved));
  EXPECT_FALSE(mayBecome(PodState::kBoundUnknownNode, PodState::kCounted));
}

}  // namespace
}  // namespace divvy::scheduler
