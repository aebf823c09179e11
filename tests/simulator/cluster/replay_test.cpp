// Snapshots, decided again.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "simulator/replay.h"
#include "some.h"
#include "some_snapshot.h"

namespace divvy::simulator {
namespace {

using engine::some::node;
using engine::some::request;

TEST(Replay, SameEngine_DecidesTheSame) {
  std::size_t asks = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng(seed);
    const snapshot::Snapshot snapshot = snapshot::some::snapshot(rng, 24);
    const Result<Replay> again = replay(snapshot, {});
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->decisions.differ, 0u) << "seed " << seed << json(snapshot, *again);
    asks += again->decisions.same;
    EXPECT_EQ(again->anew.same + again->anew.differ + again->anew.kept,
              snapshot.allocations.size());
    EXPECT_EQ(again->pending.size(), snapshot.pending.size());
    for (const ReplayedPending& one : again->pending) EXPECT_EQ(one.fits, one.why.empty());
    EXPECT_LE(again->before.fragmented_bytes, static_cast<double>(again->before.idle_bytes) + 0.5);
    EXPECT_LE(again->before.used_milli, again->before.compute_milli);
  }
  EXPECT_GT(asks, 500u);
}

// Whatever policy: each difference has two places and a reason.
TEST(Replay, OtherPolicy_DifferencesExplained) {
  std::size_t differences = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng(seed);
    const snapshot::Snapshot snapshot = snapshot::some::snapshot(rng, 24);
    ReplayOptions terms;
    terms.policy = engine::kPolicies[seed % engine::kPolicies.size()];
    terms.devices = engine::some::devicePolicy(rng);
    const Result<Replay> again = replay(snapshot, terms);
    ASSERT_TRUE(again) << again.error().message();
    for (const ReplayedDecisions* part : {&again->decisions, &again->anew}) {
      EXPECT_EQ(part->differences.size(), std::min(part->differ, kMaxExplained));
      for (const Difference& one : part->differences) {
        EXPECT_NE(one.was, one.is);
        EXPECT_FALSE(one.why.empty()) << one.was << " " << one.is;
        ++differences;
      }
    }
  }
  EXPECT_GT(differences, 50u);
}

// One card, taken; a second one that came later.
TEST(Replay, ForgedHistory_ReasonsOfTheInstant) {
  engine::Engine engine{engine::Config{}};
  const engine::Node small = node("a", 1);
  ASSERT_TRUE(engine.setNode(small));
  snapshot::Snapshot snapshot;
  snapshot.history.nodes = {small};
  const engine::Request first = request("first", 1, 600, gib(60));
  const auto placed = engine.place(first, {9});
  ASSERT_TRUE(placed);
  const auto enter = [&](decltype(snapshot::HistoryEntry::what) what) {
    snapshot.history.entries.push_back({{5}, std::move(what)});
  };
  enter(snapshot::RequestEvent{first, 0, snapshot::RequestOutcome::kPlaced, placed->placement, ""});
  enter(snapshot::AllocationUpdated{*placed});
  // Said to have been placed beside it: it never fitted there.
  const engine::Request second = request("second", 1, 600, gib(60));
  enter(
      snapshot::RequestEvent{second, 0, snapshot::RequestOutcome::kPlaced, placed->placement, ""});
  // Said to have been refused: it fits.
  const engine::Request third = request("third", 1, 100, gib(1));
  enter(snapshot::RequestEvent{third, 0, snapshot::RequestOutcome::kRefused, std::nullopt,
                               "no room at all"});
  snapshot.nodes = {small};
  snapshot.allocations.push_back({*placed, "web", 0, {4}, first.shape, {}});
  snapshot.pending.push_back({second, "", 0, {5}, ""});
  snapshot.pending.push_back({third, "", 0, {5}, ""});
  const Result<Replay> again = replay(snapshot, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->decisions.same, 1u);
  ASSERT_EQ(again->decisions.differ, 2u);
  const Difference& lost = again->decisions.differences[0];
  EXPECT_EQ(lost.was, "a: a/0");
  EXPECT_EQ(lost.is, "nowhere");
  EXPECT_NE(lost.why.find("a/0: needs 60 GiB, 20 GiB free"), std::string::npos) << lost.why;
  EXPECT_EQ(again->decisions.differences[1].why, "it fits; the old answer was: no room at all");
  EXPECT_EQ(again->anew.same, 1u);
  ASSERT_EQ(again->pending.size(), 2u);
  EXPECT_FALSE(again->pending[0].fits);
  EXPECT_FALSE(again->pending[0].changes.empty());
  EXPECT_TRUE(again->pending[1].fits);
  EXPECT_FALSE(again->pending[1].differs) << "it is not first";
  EXPECT_FALSE(again->asWritten());
  // 20 GiB are idle; of three, two want 60.
  EXPECT_EQ(again->before.idle_bytes, gib(20).count);
  EXPECT_NEAR(again->before.fragmented_bytes, static_cast<double>(gib(20).count) * 2 / 3, 1e6);
  snapshot.history.entries.resize(2);
  EXPECT_TRUE(replay(snapshot, {})->asWritten());
  snapshot.pending.erase(snapshot.pending.begin());
  EXPECT_FALSE(replay(snapshot, {})->asWritten()) << "it is first, and fits";
}

}  // namespace
}  // namespace divvy::simulator
