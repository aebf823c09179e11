// What is foretold of pods: as it then happens, and of nothing that was only asked something stays.
#include "scheduler/dry_run.h"

#include <gtest/gtest.h>

#include <random>

#include "annotations/reservation_annotation.h"
#include "engine/engine.h"
#include "gate_world.h"

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kNow = 1'000'000;

kube::Pod running(const std::string& name, std::int64_t priority, const std::string& budget = "") {
  kube::Pod made = gatedPod(name);
  made.gates.clear();
  made.priority = priority;
  made.phase = kube::PodPhase::kRunning;
  made.placed_at = kNow - 100;
  if (!budget.empty()) made.meta.labels["guard"] = budget;
  return made;
}

kube::DisruptionBudget budgetFor(const std::string& guard, std::int64_t allowed) {
  kube::DisruptionBudget budget;
  budget.meta.name = budget.meta.uid = guard;
  budget.meta.namespace_name = "lab";
  budget.selects = true;
  budget.labels = {{"guard", kube::SelectorWord::kIn, {guard}}};
  budget.allowed = allowed;
  return budget;
}

// A cluster as somebody reads it who may only look.
class DryRunTest : public ::testing::Test {
 protected:
  void node(const kube::Node& one) {
    ASSERT_TRUE(cache.setNode(one));
    names_.push_back(one.meta.name);
  }
  void told(const kube::Pod& pod) {
    ASSERT_TRUE(cache.setPod(pod));
    ASSERT_TRUE(forecast.setPod(pod, ""));
  }
  // On a node, as it is written once it is there.
  void bound(kube::Pod pod) {
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    const Result<FilterResult> choice = cache.filterAndReserve(pod, names, kMuchLater);
    ASSERT_TRUE(choice && choice->node) << pod.meta.name;
    const Result<BindPlan> assigned = cache.assume(pod.meta.uid, *choice->node, 1);
    ASSERT_TRUE(assigned);
    pod.node = *choice->node;
    for (const auto& [key, value] : assigned->annotations) pod.meta.annotations[key] = value;
    cache.finishBinding(pod.meta.uid, BindOutcome::kBound);
    told(pod);
  }
  // The node, or "" and `why`.
  std::string comes(const std::vector<kube::Pod>& together, std::size_t which = 0) {
    forecast.arrive(together, [this](const MinMemberRef& in) { return leastIn(in); });
    const kube::Pod& pod = together[which];
    why = forecast.gated(pod.meta.uid);
    if (!why.empty()) {
      forecast.leave(pod.meta.uid);
      return "";
    }
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    const Result<FilterResult> choice = forecast.filter(pod, names);
    EXPECT_TRUE(choice) << choice.error().message();
    if (!choice || !choice->node) return "";
    forecast.place(pod, *choice->node);
    return *choice->node;
  }
  Victims ends(const kube::Pod& pod) {
    const Result<Victims> found = forecast.whoEnds(pod, names_);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : Victims{};
  }
  Result<std::uint32_t> leastIn(const MinMemberRef& in) {
    asked_of = in.path;
    if (!least) return Error{ErrorCode::kNotFound, "no such group"};
    return *least;
  }

  SchedulerCache cache{allVendors(), {}};
  SchedulingDryRun forecast{allVendors(), cache, {0, kNow}};
  std::string why, asked_of;
  std::optional<std::uint32_t> least;

 private:
  std::vector<std::string> names_;
};

TEST_F(DryRunTest, QueueFull_PodGatedWithReason) {
  node(cardsOn("n", 4));
  forecast.setQueue(queueOf("q", {}, 2000));
  // Who waits there himself, and does not come now, is in nobody's way.
  told(gatedPod("else", {{kQueueKey, "q"}}));
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "n");
  EXPECT_EQ(comes({gatedPod("b", {{kQueueKey, "q"}})}), "n");
  EXPECT_EQ(comes({gatedPod("c", {{kQueueKey, "q"}})}), "");
  EXPECT_EQ(why, "needs 1000 gpuMilli, 0 left of the limit of queue q");
  // Of no queue, and past no gate: there are cards still.
  EXPECT_EQ(comes({running("d", 0)}), "n");
  EXPECT_EQ(comes({gatedPod("e", {{kQueueKey, "other"}})}), "");
  EXPECT_NE(why.find("no queue \"other\""), std::string::npos) << why;
}

TEST_F(DryRunTest, QueueRemoved_PodsOfItGated) {
  node(cardsOn("n", 4));
  forecast.setQueue(queueOf("q", {}, 1000));
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "n");
  forecast.removeQueue("q");
  EXPECT_EQ(comes({gatedPod("b", {{kQueueKey, "q"}})}), "");
  EXPECT_NE(why.find("no queue \"q\""), std::string::npos) << why;
  forecast.removeQueue("q");
  forecast.setQueue(queueOf("q", {}, 2000));
  EXPECT_EQ(comes({gatedPod("c", {{kQueueKey, "q"}})}), "n") << why;
  EXPECT_EQ(comes({gatedPod("d", {{kQueueKey, "q"}})}), "") << "a has its share still";
}

TEST_F(DryRunTest, ParentRemoved_ItsLimitGone) {
  node(cardsOn("n", 4));
  forecast.setQueue(queueOf("all", {}, 1000));
  forecast.setQueue(queueOf("q", {}, {}, "all"));
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "n") << why;
  EXPECT_EQ(comes({gatedPod("b", {{kQueueKey, "q"}})}), "");
  EXPECT_NE(why.find("limit of queue all"), std::string::npos) << why;
  forecast.setQueue(queueOf("q", {}, {}));
  forecast.removeQueue("all");
  EXPECT_EQ(comes({gatedPod("b", {{kQueueKey, "q"}})}), "n") << why;
}

TEST_F(DryRunTest, NamespaceRemoved_NoDefaultQueue) {
  node(cardsOn("n", 4));
  kube::Queue queue = queueOf("q", {}, 1000);
  forecast.setQueue(queue);
  kube::Meta lab;
  lab.name = lab.uid = "lab";
  lab.labels[kNamespaceQueueKey] = "q";
  forecast.setNamespace(lab);
  EXPECT_EQ(comes({gatedPod("a")}), "n") << why;
  EXPECT_EQ(comes({gatedPod("b")}), "");
  EXPECT_NE(why.find("limit of queue q"), std::string::npos) << why;
  forecast.removeNamespace("lab");
  EXPECT_EQ(comes({gatedPod("b")}), "n") << why;
  forecast.setNamespace(lab);
  EXPECT_EQ(comes({gatedPod("c")}), "");
}

TEST_F(DryRunTest, BudgetRemoved_ProtectsNoMore) {
  node(cardsOn("n", 1));
  bound(running("a", 1, "g"));
  forecast.setBudget(budgetFor("g", 0));
  EXPECT_TRUE(ends(running("high", 9)).node.empty());
  forecast.removeBudget("other");
  EXPECT_TRUE(ends(running("high", 9)).node.empty());
  forecast.removeBudget("g");
  EXPECT_EQ(ends(running("high", 9)).who.size(), 1u);
  EXPECT_EQ(ends(running("high", 9)).budgeted, 0u);
}

TEST_F(DryRunTest, RunningPods_CountForTheirQueue) {
  node(cardsOn("n", 4));
  kube::Pod there = running("there", 0);
  there.meta.annotations[kQueueKey] = "q";
  bound(there);
  forecast.setQueue(queueOf("q", {}, 1000));
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "");
  EXPECT_NE(why.find("limit of queue q"), std::string::npos) << why;
  forecast.evicted("there");
  cache.removePod("there");
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "n");
}

TEST_F(DryRunTest, QueuesUnreadable_NoLimits) {
  node(cardsOn("n", 1));
  forecast.withoutQueues();
  EXPECT_EQ(comes({gatedPod("a", {{kQueueKey, "q"}})}), "n") << why;
}

TEST_F(DryRunTest, Gang_AllOrNoneArrive) {
  node(cardsOn("n", 2));
  const std::vector<kube::Pod> two{memberOf("g", 2, "g-0"), memberOf("g", 2, "g-1")};
  const std::vector<kube::Pod> three{memberOf("h", 3, "h-0"), memberOf("h", 3, "h-1"),
                                     memberOf("h", 3, "h-2")};
  EXPECT_EQ(comes(three), "");
  EXPECT_NE(why.find("all start together or none"), std::string::npos) << why;
  EXPECT_TRUE(cache.pods().engine().allocations().empty());
  EXPECT_EQ(comes({two[0]}), "");
  EXPECT_EQ(why, "1 of 2 members of the gang are there");
  EXPECT_EQ(comes(two, 0), "n") << why;
  EXPECT_EQ(comes(two, 1), "n") << why;
  EXPECT_EQ(comes({gatedPod("late", {{kQueueKey, "none"}})}), "");
}

TEST_F(DryRunTest, GangMembersPresent_ArriveAndLeaveTogether) {
  node(cardsOn("n", 2));
  const kube::Pod first = memberOf("g", 2, "g-0"), second = memberOf("g", 2, "g-1");
  told(first);
  told(second);
  EXPECT_EQ(comes({first}), "n") << why;
  EXPECT_EQ(cache.pods().engine().allocations().size(), 2u);
  forecast.leave("g-0");
  EXPECT_TRUE(cache.pods().engine().allocations().empty());
  EXPECT_EQ(comes({second}), "n") << why;
}

TEST_F(DryRunTest, PodGroup_MinMemberFromApi) {
  node(cardsOn("n", 2));
  kube::Pod pod = gatedPod("a");
  pod.meta.labels["scheduling.x-k8s.io/pod-group"] = "ring";
  EXPECT_EQ(comes({pod}), "");
  EXPECT_NE(why.find("no such group"), std::string::npos) << why;
  EXPECT_EQ(asked_of, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/lab/podgroups/ring");
  least = 1;
  EXPECT_EQ(comes({pod}), "n") << why;
}

// What was promised to a pod that is not bound yet is its own.
TEST_F(DryRunTest, PromisedRoom_IsKept) {
  Store store;
  store.nodes.push_back(cardsOn("n", 1));
  store.queues.push_back(queueOf("q", {}, {}));
  store.add(gatedPod("first", {{kQueueKey, "q"}}));
  Life life(store);
  ASSERT_TRUE(life.openOne());
  node(store.nodes[0]);
  forecast.setQueue(store.queues[0]);
  told(store.pods.at("first"));
  EXPECT_EQ(comes({gatedPod("second", {{kQueueKey, "q"}})}), "");
  EXPECT_EQ(comes({store.pods.at("first")}), "n") << why;
}

TEST_F(DryRunTest, Budget_ProtectsAndIsUsedUp) {
  node(cardsOn("n", 2));
  bound(running("a", 1, "g"));
  bound(running("b", 1, "g"));
  const kube::Pod high = running("high", 9);
  EXPECT_EQ(ends(high).who.size(), 1u);
  forecast.setBudget(budgetFor("g", 0));
  EXPECT_TRUE(ends(high).node.empty());
  EXPECT_EQ(ends(high).budgeted, 2u);
  forecast.setBudget(budgetFor("g", 1));
  const Victims first = ends(high);
  ASSERT_EQ(first.who.size(), 1u);
  EXPECT_EQ(first.node, "n");
  forecast.evicted(first.who[0].uid);
  cache.removePod(first.who[0].uid);
  EXPECT_EQ(comes({high}), "n");
  EXPECT_TRUE(ends(running("another", 9)).node.empty());
  EXPECT_EQ(ends(running("another", 9)).budgeted, 1u);
}

TEST_F(DryRunTest, NonPreemptingPod_NoVictims) {
  node(cardsOn("n", 1));
  bound(running("a", 1));
  kube::Pod polite = running("polite", 9);
  polite.preempts = false;
  EXPECT_TRUE(ends(polite).node.empty());
  EXPECT_TRUE(ends(running("equal", 1)).node.empty());
  EXPECT_EQ(ends(running("high", 9)).who.size(), 1u);
}

TEST_F(DryRunTest, VictimAlreadyEnding_NoFurtherVictims) {
  node(cardsOn("n", 1));
  bound(running("a", 1));
  ASSERT_EQ(ends(running("high", 9)).who.size(), 1u);
  kube::Pod a = running("a", 1);
  a.node = "n";
  a.meta.deleting = true;
  ASSERT_TRUE(forecast.setPod(a, ""));
  const Victims found = ends(running("high", 9));
  EXPECT_EQ(found.node, "n");
  EXPECT_TRUE(found.who.empty());
  ASSERT_EQ(found.going.size(), 1u);
  EXPECT_EQ(found.going[0].uid, "a");
}

// One after the other, as a scheduler that writes would have it.
TEST(SchedulingDryRun, RandomPods_ForecastEqualsOutcome) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto upTo = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
    Store store;
    for (unsigned i = 0; i < 3; ++i)
      store.nodes.push_back(
          cardsOn("n" + std::to_string(i), 1 + upTo(2), i == 2 ? "NVIDIA A100" : "NVIDIA H100"));
    store.queues.push_back(queueOf("p", 2000, 2000 + 1000 * upTo(2)));
    store.queues.push_back(queueOf("q", {}, 1000 * (1 + upTo(3))));
    std::vector<kube::Pod> pods;
    for (unsigned i = 0; i < 8; ++i)
      pods.push_back(gatedPod("pod-" + std::to_string(i), {{kQueueKey, upTo(1) == 0 ? "p" : "q"}}));
    SchedulerCache cache(allVendors(), {});
    SchedulingDryRun forecast(allVendors(), cache, {0, kNow});
    std::vector<std::string_view> names;
    for (const kube::Node& node : store.nodes) {
      ASSERT_TRUE(cache.setNode(node));
      names.push_back(node.meta.name);
    }
    // Whom others have end while they stay at the gate is not foretold.
    for (kube::Queue& queue : store.queues) queue.reclaims = false;
    for (const kube::Queue& queue : store.queues) forecast.setQueue(queue);
    std::size_t started = 0;
    for (const kube::Pod& pod : pods) {
      const std::vector<kube::Pod> one{pod};
      forecast.arrive(one, nullptr);
      std::string foretold;
      if (forecast.gated(pod.meta.uid).empty()) {
        const Result<FilterResult> choice = forecast.filter(pod, names);
        ASSERT_TRUE(choice) << choice.error().message();
        if (choice->node) foretold = *choice->node;
      } else {
        forecast.leave(pod.meta.uid);
      }
      Store next = store;
      next.add(pod);
      Life life(next);
      life.run();
      EXPECT_EQ(next.pods.at(pod.meta.uid).node, foretold)
          << "seed " << seed << ' ' << pod.meta.uid;
      // Who waits does not come again.
      if (!foretold.empty()) {
        store = next;
        ++started;
      }
    }
    EXPECT_GT(started, 0u);
  }
}

}  // namespace
}  // namespace divvy::scheduler
