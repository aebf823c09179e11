// What was borrowed is taken back: from whom, how much, once, and whoever is killed when.
#include <gtest/gtest.h>

#include <algorithm>

#include "annotations/disruption_annotations.h"
#include "gate_world.h"

namespace divvy::scheduler {
namespace {

using Uids = std::vector<std::string>;

std::string youngest(const Store& store, const std::string& prefix) {
  std::string found;
  std::int64_t at = 0;
  for (const auto& [uid, pod] : store.pods)
    if (uid.starts_with(prefix) && pod.placed_at > at) {
      found = uid;
      at = pod.placed_at;
    }
  return found;
}

TEST(GatedPreemption, Reclaim_YoungestBorrowerFirst) {
  Store store = borrowed();
  ask(&store, 1);
  const std::string last = youngest(store, "t");
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted, Uids{last});
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(life.counts.reclaims.planned, 1u);
  EXPECT_EQ(life.counts.reclaims.started, 1u);
}

TEST(GatedPreemption, Reclaim_LowestPriorityFirst) {
  Store store = borrowed();
  for (auto& [uid, pod] : store.pods) pod.priority = uid == "t2" ? 1 : 5;
  ask(&store, 1);
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted, Uids{"t2"});
}

TEST(GatedPreemption, Reclaim_GuaranteeIsKept) {
  Store store = borrowed();
  ask(&store, 4);
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_EQ(store.bound("t"), 2u);
  EXPECT_EQ(store.gated("p"), 2u);
}

TEST(GatedPreemption, QueueWithoutReclaim_PodWaits) {
  Store store = borrowed();
  store.queues[0].reclaims = false;
  ask(&store, 1);
  Life life(store);
  life.run();
  EXPECT_TRUE(store.evicted.empty());
  EXPECT_EQ(store.gated("p"), 1u);
}

TEST(GatedPreemption, PodWithoutQueue_IsReclaimed) {
  Store store;
  store.nodes = {cardsOn("a", 1)};
  store.queues = {queueOf("ours", 1000, {})};
  store.add(gatedPod("n"));
  Life(store).run();
  ASSERT_EQ(store.bound("n"), 1u);
  ask(&store, 1);
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted, Uids{"n"});
  EXPECT_EQ(store.bound("p"), 1u);
}

TEST(GatedPreemption, ProtectedOrYoungPods_AreSpared) {
  Store store = borrowed();
  store.pods.at("t1").meta.annotations[kEvictable] = "false";
  store.pods.at("t2").meta.annotations[kMinRuntime] = "1h";
  ask(&store, 2);
  {
    Life life(store, 600);
    life.run();
    EXPECT_TRUE(store.evicted.empty());
    EXPECT_GT(life.counts.reclaims.none, 0u);
    store.clock += 700;
    life.now.ms += 1'000;
    life.run();
  }
  std::sort(store.evicted.begin(), store.evicted.end());
  EXPECT_EQ(store.evicted, (Uids{"t3", "t4"}));
  EXPECT_EQ(store.bound("p"), 2u);
}

TEST(GatedPreemption, DisruptionBudget_IsKept) {
  Store store = borrowed();
  for (auto& [uid, pod] : store.pods) pod.meta.labels["guard"] = "yes";
  ask(&store, 2);
  kube::DisruptionBudget budget;
  budget.meta.uid = budget.meta.name = "b";
  budget.meta.namespace_name = "lab";
  budget.selects = true;
  budget.labels = {{"guard", kube::SelectorWord::kIn, {"yes"}}};
  Life life(store);
  life.budgets.set(budget);
  life.run();
  EXPECT_TRUE(store.evicted.empty());
  budget.allowed = 2;
  life.budgets.set(budget);
  life.now.ms += 1'000;
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  EXPECT_EQ(store.bound("p"), 2u);
}

TEST(GatedPreemption, NothingEvictable_RetriesBackOff) {
  Store store = borrowed();
  for (auto& [uid, pod] : store.pods) pod.meta.annotations[kEvictable] = "false";
  ask(&store, 1);
  Life life(store);
  for (int i = 0; i < 100; ++i) {
    life.run();
    life.now.ms += 100;
  }
  // After 0, 1, 3 and 7 seconds.
  EXPECT_EQ(life.counts.reclaims.none, 4u);
}

// Others want to be answered meanwhile.
TEST(GatedPreemption, SlowPlanning_TakesATenthOfTime) {
  Store store = borrowed();
  for (auto& [uid, pod] : store.pods) pod.meta.annotations[kEvictable] = "false";
  ask(&store, 2);
  const Life life(store);
  QueueTree queues = life.queues;
  SchedulerCache cache(allVendors(), {});
  PreemptionCounts counts;
  std::int64_t ms = 0;
  GatedPreemption slow(cache, queues, life.running_pods, life.budgets, counts,
                       {0, [] { return true; }, [&] { return engine::Instant{ms += 100}; },
                        [] { return std::int64_t{0}; }});
  // Each reads the clock when it begins, when it is its turn, and when it has ended.
  EXPECT_FALSE(slow.want({"p1", {store.pods.at("p1")}, "ours"}));
  EXPECT_EQ(counts.reclaims.none, 1u);
  EXPECT_FALSE(slow.want({"p2", {store.pods.at("p2")}, "ours"}));
  EXPECT_EQ(counts.reclaims.none, 1u) << "not at once";
  ms += 9 * 200;
  EXPECT_FALSE(slow.want({"p2", {store.pods.at("p2")}, "ours"}));
  EXPECT_EQ(counts.reclaims.none, 2u);
}

// Of halves of cards that were borrowed those go that are on one card.
TEST(GatedPreemption, HalvesOfDevices_VictimsOnOneDevice) {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  store.queues = {queueOf("ours", 2000, {}), queueOf("theirs", 2000, {})};
  for (int i = 1; i <= 8; ++i)
    store.add(partOf("t" + std::to_string(i), 50, {{kQueueKey, "theirs"}}));
  Life(store).run();
  ASSERT_EQ(store.bound("t"), 8u);
  // Every other one is the youngest, on another card.
  std::map<std::string, int> seen;
  for (auto& [uid, pod] : store.pods) {
    const std::string& card = pod.meta.annotations["hami.io/vgpu-devices-allocated"];
    pod.placed_at = seen[card.substr(0, card.find(','))]++ == 0 ? 10 : 1'000;
  }
  ASSERT_EQ(seen.size(), 4u);
  ask(&store, 1);
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  EXPECT_EQ(store.bound("p"), 1u);
}

TEST(GatedPreemption, GangBelowGuarantee_StartsFully) {
  Store store = borrowed();
  for (const char* name : {"p1", "p2"}) {
    store.add(memberOf("g", 2, name));
    store.pods.at(name).meta.annotations[kQueueKey] = "ours";
  }
  Life life(store);
  ASSERT_FALSE(life.openOne());
  ASSERT_TRUE(life.evictOne());
  ASSERT_TRUE(life.endOne());
  ASSERT_FALSE(life.openOne()) << "there is room for one";
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  EXPECT_EQ(store.bound("p"), 2u);
}

// All of a gang go, or none; and not where only a part of it was borrowed.
TEST(GatedPreemption, BorrowingGang_EvictedFullyOrNotAtAll) {
  for (const unsigned of : {2u, 3u}) {
    Store store;
    store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
    store.queues = {queueOf("ours", 2000, {}), queueOf("theirs", 2000, {})};
    for (unsigned i = 0; i < of; ++i) {
      const std::string name = "t" + std::to_string(i);
      store.add(memberOf("g", of, name));
      store.pods.at(name).meta.annotations[kQueueKey] = "theirs";
    }
    store.add(gatedPod("s", {{kQueueKey, "theirs"}}));
    if (of == 2) store.add(gatedPod("u", {{kQueueKey, "theirs"}}));
    Life(store).run();
    ASSERT_EQ(store.bound(""), 4u);
    for (const char* name : {"s", "u"})
      if (store.pods.contains(name)) store.pods.at(name).meta.annotations[kEvictable] = "false";
    ask(&store, 1);
    Life life(store);
    life.run();
    EXPECT_EQ(store.evicted.size(), of == 2 ? 2u : 0u);
    EXPECT_EQ(store.bound("p"), of == 2 ? 1u : 0u);
  }
}

TEST(GatedPreemption, NominatedRoom_NotGivenToOthers) {
  Store store = borrowed();
  for (const char* name : {"p1", "p2"}) {
    store.add(memberOf("g", 2, name));
    store.pods.at(name).meta.annotations[kQueueKey] = "ours";
  }
  Life life(store);
  ASSERT_FALSE(life.openOne());
  ASSERT_TRUE(life.evictOne());
  ASSERT_TRUE(life.endOne());
  // Whoever was ended comes again, and so does one whom no queue holds up.
  store.add(gatedPod("t9", {{kQueueKey, "theirs"}}));
  life.hear("t9");
  kube::Pod free = gatedPod("n");
  free.gates.clear();
  store.add(free);
  life.hear("n");
  EXPECT_FALSE(life.openOne());
  EXPECT_FALSE(life.bindOne());
  ASSERT_TRUE(life.evictOne());
  ASSERT_TRUE(life.endOne());
  life.run();
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_EQ(store.bound("n") + store.bound("t9"), 0u);
  EXPECT_EQ(store.evicted.size(), 2u);
}

TEST(GatedPreemption, EvictionFailed_PlannedAgainAfterPause) {
  Store store = borrowed();
  ask(&store, 1);
  Life life(store);
  ASSERT_FALSE(life.openOne());
  const auto step = life.gated_preemption.next();
  ASSERT_TRUE(step);
  life.gated_preemption.answered(*step, false);
  EXPECT_FALSE(life.gated_preemption.stands(step->key));
  EXPECT_FALSE(life.openOne());
  EXPECT_FALSE(life.evictOne()) << "not at once";
  life.now.ms += 1'000;
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.evicted.size(), 1u);
}

TEST(GatedPreemption, PreemptorTooLate_NominationExpires) {
  Store store = borrowed();
  ask(&store, 1);
  Life life(store);
  ASSERT_FALSE(life.openOne());
  ASSERT_TRUE(life.evictOne());
  life.now.ms += 1'000'000;
  life.gated_preemption.advance();
  EXPECT_EQ(life.counts.reclaims.expired, 1u);
  EXPECT_EQ(life.gated_preemption.underWay(), 0u);
  // Who was told to end is counted as gone: nobody else is.
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.evicted.size(), 1u);
}

// Regression: a pod of a dead node was counted on for ever, and nobody who borrowed was asked.
TEST(GatedPreemption, VictimStuckEnding_OtherIsEvicted) {
  Store store = borrowed();
  store.pods.at("t1").meta.deleting = true;
  ask(&store, 1);
  Life life(store);
  for (int hour = 0; hour < 3; ++hour) {
    while (life.openOne() || life.bindOne() || life.evictOne()) continue;
    life.now.ms += 3'600'000;
    life.gated_preemption.advance();
  }
  EXPECT_EQ(store.evicted.size(), 1u);
  EXPECT_NE(store.evicted.at(0), "t1");
}

// Regression: they ended, and were made anew, for a gang of which its namespace may have a part.
TEST(GatedPreemption, NamespaceQuotaExceeded_NoVictims) {
  for (const char* most : {"100", "200"}) {
    Store store = borrowed();
    ask(&store, 0);
    for (const char* name : {"g1", "g2"}) {
      kube::Pod member = memberOf("g", 2, name);
      member.meta.annotations[kQueueKey] = "ours";
      member.meta.namespace_name = "ours";
      store.add(member);
    }
    Life life(store);
    kube::ResourceQuota quota;
    quota.meta.name = quota.meta.uid = "q";
    quota.meta.namespace_name = "ours";
    quota.hard = {{"limits.nvidia.com/gpucores", most}};
    ASSERT_TRUE(life.cache.setQuota(quota));
    life.run();
    const bool may = most == std::string("200");
    EXPECT_EQ(store.evicted.size(), may ? 2u : 0u) << most;
    EXPECT_EQ(store.bound("g"), may ? 2u : 0u) << most;
  }
}

// Regression: evictions went on for pods that a finalizer still holds.
TEST(GatedPreemption, PodBeingDeleted_PlanIsDropped) {
  Store store = borrowed();
  ask(&store, 1);
  Life life(store);
  ASSERT_FALSE(life.openOne());
  ASSERT_EQ(life.gated_preemption.underWay(), 1u);
  store.pods.at("p1").meta.deleting = true;
  life.hear("p1");
  EXPECT_EQ(life.gated_preemption.underWay(), 0u);
  EXPECT_FALSE(life.openOne());
  EXPECT_FALSE(life.evictOne());
}

// Regression: whoever is about to be asked for one was counted as gone for the next, who had others
// end and could not start when the first came to nothing.
TEST(GatedPreemption, VictimNotYetAsked_NextPlanHasOtherVictim) {
  Store store = borrowed();
  ask(&store, 2);
  Life life(store);
  while (life.openOne()) continue;
  ASSERT_EQ(life.gated_preemption.underWay(), 2u);
  const std::optional<GatedPreemption::Eviction> first = life.gated_preemption.next();
  const std::optional<GatedPreemption::Eviction> second = life.gated_preemption.next();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->key, second->key);
  EXPECT_NE(first->victim.uid, second->victim.uid);
  life.gated_preemption.answered(*first, false);
  EXPECT_FALSE(life.gated_preemption.stands(*first));
  EXPECT_TRUE(life.gated_preemption.stands(*second));
}

TEST(GatedPreemption, PodIsGone_NoVictims) {
  Store store = borrowed();
  ask(&store, 1);
  Life life(store);
  ASSERT_FALSE(life.openOne());
  life.forget("p1");
  EXPECT_FALSE(life.evictOne());
  life.run();
  EXPECT_EQ(store.bound("t"), 4u);
}

// A limit of the parent is in the way, no device: who borrowed below it ends all the same.
TEST(GatedPreemption, SiblingBorrowedFromParent_IsReclaimed) {
  Store store;
  store.nodes = {cardsOn("a", 4)};
  kube::Queue top = queueOf("top", 2000, 2000);
  store.queues = {queueOf("ours", 1000, {}, "top"), queueOf("theirs", 1000, {}, "top"), top};
  for (const char* name : {"t1", "t2"}) store.add(gatedPod(name, {{kQueueKey, "theirs"}}));
  Life(store).run();
  ASSERT_EQ(store.bound("t"), 2u);
  ask(&store, 2);
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted.size(), 1u);
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.bound("t"), 1u);
}

// ---- by priority --------------------------------------------------------------------------------

TEST(GatedPreemption, HigherGang_FewestVictims) {
  Store store = taken();
  addHigherGang(&store, 3, 10);
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("g"), 3u);
  std::sort(store.evicted.begin(), store.evicted.end());
  EXPECT_EQ(store.evicted, (Uids{"t1", "t2", "t3"})) << "the lowest";
  EXPECT_EQ(life.counts.gated.started, 1u);
  EXPECT_EQ(life.counts.reclaims.planned, 0u);
}

TEST(GatedPreemption, GangDoesNotFit_NoVictims) {
  for (const bool fixed : {false, true}) {
    Store store = taken();
    addHigherGang(&store, fixed ? 4 : 5, 10);
    if (fixed) store.pods.at("t1").meta.annotations[kEvictable] = "false";
    Life life(store);
    life.run();
    EXPECT_TRUE(store.evicted.empty());
    EXPECT_EQ(store.bound("g"), 0u);
  }
}

TEST(GatedPreemption, EqualOrNonPreempting_NoVictims) {
  Store store = taken();
  addHigherGang(&store, 2, 2);
  store.add(gatedPod("p"));
  store.pods.at("p").priority = 10;
  store.pods.at("p").preempts = false;
  Life life(store);
  life.run();
  EXPECT_TRUE(store.evicted.empty());
}

TEST(GatedPreemption, ProcessorsMissing_NoVictims) {
  for (const char* wanted : {"3", "2"}) {
    Store store = taken();
    for (auto& [uid, pod] : store.pods) pod.containers[0].requests = {{"cpu", "2"}};
    for (kube::Node& node : store.nodes) node.allocatable = {{"cpu", "5"}};
    addHigherGang(&store, 4, 10);
    for (auto& [uid, pod] : store.pods)
      if (uid.starts_with("g")) pod.containers[0].requests = {{"cpu", wanted}};
    Life life(store);
    life.run();
    const bool enough = std::string(wanted) == "2";
    EXPECT_EQ(store.evicted.size(), enough ? 4u : 0u);
    EXPECT_EQ(store.bound("g"), enough ? 4u : 0u);
  }
}

TEST(GatedPreemption, QueueLimit_VictimsOfSameQueue) {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  store.queues = {queueOf("small", {}, 2000)};
  for (unsigned i = 1; i <= 4; ++i) {
    const std::string name = "t" + std::to_string(i);
    store.add(i > 2 ? gatedPod(name, {{kQueueKey, "small"}}) : gatedPod(name));
    store.pods.at(name).priority = i;
  }
  Life(store).run();
  ASSERT_EQ(store.bound("t"), 4u);
  store.add(gatedPod("p", {{kQueueKey, "small"}}));
  store.pods.at("p").priority = 10;
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.evicted, Uids{"t3"}) << "what t1 leaves would be beyond the limit";
}

TEST(GatedPreemption, HigherPriority_OthersGuaranteeKept) {
  Store store = borrowed();
  store.queues[0].guarantee.clear();
  ask(&store, 4);
  for (auto& [uid, pod] : store.pods)
    if (uid.starts_with("p")) pod.priority = 10;
  Life life(store);
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_EQ(store.bound("t"), 2u);
}

TEST(GatedPreemption, HigherGang_KeepsRoomWhileGated) {
  Store store = taken();
  addHigherGang(&store, 2, 10);
  Life life(store);
  ASSERT_FALSE(life.openOne());
  ASSERT_TRUE(life.evictOne() && life.endOne());
  // One of still higher priority, but not at the gate, does not get it.
  kube::Pod free = gatedPod("n");
  free.gates.clear();
  store.add(free);
  life.hear("n");
  EXPECT_FALSE(life.openOne() || life.bindOne());
  ASSERT_TRUE(life.evictOne() && life.endOne());
  life.run();
  EXPECT_EQ(store.bound("g"), 2u);
  EXPECT_EQ(store.bound("n"), 0u);
}

}  // namespace
}  // namespace divvy::scheduler
