// Who may pass our gate, and that a gang is started whole whoever is killed when.
#include <gtest/gtest.h>

#include "gate_world.h"

namespace divvy::scheduler {
namespace {

Store twoNodes() {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  return store;
}

// ---- queues -------------------------------------------------------------------------------------

TEST(GatedPodQueue, QueueLimit_HeldAndRoomReused) {
  Store store = twoNodes();
  store.queues = {queueOf("small", {}, 2000)};
  for (const char* name : {"p1", "p2", "p3"}) store.add(gatedPod(name, {{kQueueKey, "small"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_EQ(life.why("p3"), "needs 1000 gpuMilli, 0 left of the limit of queue small");
  life.forget("p1");
  life.run();
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_FALSE(store.pods.at("p3").node.empty());
}

TEST(GatedPodQueue, UnusedGuarantee_LentToBorrowersOnly) {
  Store store = twoNodes();
  store.queues = {queueOf("one", 1000, {}), queueOf("two", 1000, {})};
  store.queues[0].borrows = false;
  for (const char* name : {"p1", "p2"}) store.add(gatedPod(name, {{kQueueKey, "one"}}));
  for (const char* name : {"q1", "q2"}) store.add(gatedPod(name, {{kQueueKey, "two"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(life.why("p2"),
            "needs 1000 gpuMilli, 0 left of the guarantee of queue one, which does not borrow");
  EXPECT_EQ(store.bound("q"), 2u) << "one of them of what one does not use";
}

TEST(GatedPodQueue, ParentLimit_HoldsForChildren) {
  Store store = twoNodes();
  store.queues = {queueOf("left", {}, {}, "top"), queueOf("right", {}, {}, "top"),
                  queueOf("top", {}, 3000)};
  for (const char* name : {"p1", "p2"}) store.add(gatedPod(name, {{kQueueKey, "left"}}));
  for (const char* name : {"q1", "q2"}) store.add(gatedPod(name, {{kQueueKey, "right"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p") + store.bound("q"), 3u);
}

TEST(GatedPodQueue, ModelUsedUp_OtherModelIsTaken) {
  Store store;
  store.nodes = {cardsOn("a", 2, "NVIDIA H100"), cardsOn("b", 2, "NVIDIA A100")};
  kube::Queue queue = queueOf("lab", {}, {});
  queue.limit = {{"h100", 1000, {}}, {"A100", 1000, {}}};
  store.queues = {queue};
  for (const char* name : {"p1", "p2", "p3"}) store.add(gatedPod(name, {{kQueueKey, "lab"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_NE(store.pods.at("p1").node, store.pods.at("p2").node);
  EXPECT_NE(life.why("p3").find("of other models"), std::string::npos) << life.why("p3");
}

TEST(GatedPodQueue, CyclicOrMissingQueue_PodsGatedWithReason) {
  Store store = twoNodes();
  store.queues = {queueOf("a", {}, {}, "b"), queueOf("b", {}, {}, "a")};
  store.add(gatedPod("p", {{kQueueKey, "a"}}));
  store.add(gatedPod("q", {{kQueueKey, "none"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound(""), 0u);
  EXPECT_EQ(life.why("p"), "queue a is not in force: it is its own ancestor");
  EXPECT_EQ(life.why("q"), "no queue \"none\"");
}

TEST(GatedPodQueue, PodWithoutQueue_OnlyLosesGate) {
  Store store = twoNodes();
  store.add(gatedPod("p"));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
}

// A webhook's gate comes after those that the pod was made with.
TEST(GatedPodQueue, ForeignGateFirst_ReasonNamesIt) {
  Store store = twoNodes();
  kube::Pod pod = gatedPod("p");
  pod.gates.insert(pod.gates.begin(), "kueue.x-k8s.io/admission");
  store.add(pod);
  Life life(store);
  life.run();
  EXPECT_EQ(life.why("p"),
            "waiting for scheduling gates of other controllers: kueue.x-k8s.io/admission");
}

TEST(GatedPodQueue, ForeignGate_IsAwaited) {
  Store store = twoNodes();
  kube::Pod pod = gatedPod("p");
  pod.gates.push_back("kueue.x-k8s.io/admission");
  store.add(pod);
  Life life(store);
  life.run();
  EXPECT_EQ(store.gated("p"), 1u);
  EXPECT_EQ(life.why("p"),
            "waiting for scheduling gates of other controllers: kueue.x-k8s.io/admission");
  store.pods.at("p").gates.pop_back();
  life.hear("p");
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
}

// Kueue adds annotations to pods that exist.
TEST(GatedPodQueue, PodChangesItsGangAndIsDeleted_OthersGoOn) {
  Store store = twoNodes();
  store.add(memberOf("first", 2, "g0"));
  store.add(memberOf("first", 2, "g1"));
  Life life(store);
  store.add(memberOf("second", 1, "g0"));
  life.hear("g0");
  store.pods.at("g1").meta.annotations.clear();
  life.hear("g1");
  life.forget("g0");
  store.add(gatedPod("p"));
  life.hear("p");
  life.run();
  EXPECT_TRUE(life.gated_pods.pods().gangs().empty());
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.bound("g1"), 1u);
}

TEST(GatedPodQueue, Restart_QueueUseIsKnownAgain) {
  Store store = twoNodes();
  store.queues = {queueOf("small", {}, 2000)};
  for (const char* name : {"p1", "p2", "p3"}) store.add(gatedPod(name, {{kQueueKey, "small"}}));
  Life first(store);
  // One bound, one on its way.
  ASSERT_TRUE(first.openOne() && first.bindOne() && first.openOne());
  Life second(store);
  EXPECT_EQ(second.queues.running("small"), 2u);
  second.run();
  EXPECT_EQ(store.bound("p"), 2u);
  EXPECT_EQ(store.gated("p"), 1u);
}

// ---- gangs --------------------------------------------------------------------------------------

void addGang(Store* store, unsigned members, unsigned least = 4) {
  for (unsigned i = 0; i < members; ++i) store->add(memberOf("g", least, "g" + std::to_string(i)));
}

TEST(GatedPodQueue, Gang_WaitsForMembersAndRoom) {
  Store store = twoNodes();
  addGang(&store, 3);
  Life life(store);
  life.run();
  EXPECT_EQ(store.gated("g"), 3u);
  EXPECT_EQ(life.why("g0"), "3 of 4 members of the gang are there");
  store.add(memberOf("g", 4, "g3"));
  store.add(gatedPod("p"));
  life.hear("p");
  life.run();
  ASSERT_EQ(store.bound("p"), 1u);
  life.hear("g3");
  life.run();
  EXPECT_EQ(store.gated("g"), 4u) << "there is room for three";
  EXPECT_NE(life.why("g0").find("3 of 4 members fit"), std::string::npos) << life.why("g0");
  life.forget("p");
  life.run();
  EXPECT_EQ(store.bound("g"), 4u);
}

TEST(GatedPodQueue, GateStillPresent_NoMemberIsBound) {
  Store store = twoNodes();
  addGang(&store, 4);
  Life life(store);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(life.bindOne());
    EXPECT_TRUE(life.openOne());
  }
  EXPECT_EQ(life.gated_pods.released().size(), 3u) << "those who asked before";
  life.run();
  EXPECT_EQ(store.bound("g"), 4u);
}

TEST(GatedPodQueue, GangOverQueueLimit_StaysGated) {
  Store store = twoNodes();
  store.queues = {queueOf("small", {}, 3000)};
  addGang(&store, 4);
  for (auto& [uid, pod] : store.pods) pod.meta.annotations[kQueueKey] = "small";
  Life life(store);
  life.run();
  EXPECT_EQ(store.gated("g"), 4u);
  EXPECT_EQ(life.queues.running("small"), 0u);
  EXPECT_EQ(life.why("g2"), "needs 4000 gpuMilli, 3000 left of the limit of queue small");
}

TEST(GatedPodQueue, PromiseExpired_RoomGoesToNextPod) {
  Store store = twoNodes();
  addGang(&store, 4);
  store.add(gatedPod("p"));
  Life life(store);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(life.openOne());
  ASSERT_EQ(store.gated("g"), 0u);
  life.cache.expire(kMuchLater);
  // Now p goes first: it did not keep anybody waiting.
  life.run();
  EXPECT_EQ(store.bound("p"), 1u);
  EXPECT_EQ(store.bound("g"), 0u);
  life.forget("p");
  life.run();
  EXPECT_EQ(store.bound("g"), 4u);
}

TEST(GatedPodQueue, LateMember_JoinsStartedGang) {
  Store store = twoNodes();
  addGang(&store, 3, 3);
  Life life(store);
  life.run();
  ASSERT_EQ(store.bound("g"), 3u);
  life.forget("g1");
  store.add(memberOf("g", 3, "g9"));
  life.hear("g9");
  life.run();
  EXPECT_EQ(store.bound("g"), 3u);
}

// Devices for four and processors for two on each: two on each.
TEST(GatedPodQueue, CpuScarce_GangIsSpread) {
  for (const char* cpu : {"8", "7"}) {
    Store store;
    store.nodes = {cardsOn("a", 4), cardsOn("b", 4)};
    for (kube::Node& node : store.nodes)
      node.allocatable = {{"cpu", "9"}, {"memory", "64Gi"}, {"pods", "110"}};
    store.nodes[0].allocatable["cpu"] = cpu;
    addGang(&store, 4);
    for (auto& [uid, pod] : store.pods)
      pod.containers[0].requests = {{"cpu", "4"}, {"memory", "1Gi"}};
    Life life(store);
    life.run();
    const bool enough = std::string(cpu) == "8";
    EXPECT_EQ(store.bound("g"), enough ? 4u : 0u);
    EXPECT_EQ(store.gated("g"), enough ? 0u : 4u) << "no gate is taken away for a part";
    std::map<std::string, int> on;
    for (const auto& [uid, pod] : store.pods) ++on[pod.node];
    if (enough) {
      EXPECT_EQ(on["a"], 2);
      EXPECT_EQ(on["b"], 2);
    } else {
      EXPECT_NE(life.why("g0").find("find too little CPU or memory"), std::string::npos)
          << life.why("g0");
    }
  }
}

TEST(GatedPodQueue, PromisedCpu_IsKeptForGang) {
  Store store;
  store.nodes = {cardsOn("a", 4)};
  store.nodes[0].allocatable = {{"cpu", "8"}};
  addGang(&store, 2, 2);
  for (const char* name : {"h0", "h1"}) store.add(memberOf("h", 2, name));
  for (auto& [uid, pod] : store.pods) pod.containers[0].requests = {{"cpu", "3"}};
  Life life(store);
  ASSERT_TRUE(life.openOne() && life.openOne());
  EXPECT_FALSE(life.openOne());
  life.run();
  EXPECT_EQ(store.bound("g"), 2u);
  EXPECT_EQ(store.gated("h"), 2u);
  life.forget("g0");
  life.forget("g1");
  life.run();
  EXPECT_EQ(store.bound("h"), 2u);
}

// ---- killed between any two writes --------------------------------------------------------------

enum class Meanwhile { kNothing, kTaken, kNodeLost, kMemberGone };

// Somebody else's pod on a card of that node, as its annotations say it.
kube::Pod stranger(const std::string& node) {
  kube::Pod pod = gatedPod("stranger");
  pod.gates.clear();
  pod.node = node;
  pod.meta.annotations["hami.io/vgpu-devices-allocated"] = "GPU-" + node + "-0,NVIDIA,81920,100:;";
  return pod;
}

void happen(Meanwhile what, Store* store) {
  if (what == Meanwhile::kTaken) store->add(stranger("a"));
  if (what == Meanwhile::kNodeLost) store->nodes.pop_back();
  if (what != Meanwhile::kMemberGone) return;
  for (auto at = store->pods.begin(); at != store->pods.end(); ++at) {
    if (!isGated(at->second)) continue;
    store->pods.erase(at);
    return;
  }
}

// What has gone wrong is put right.
void recover(Meanwhile what, Store* store) {
  if (what == Meanwhile::kTaken) store->pods.erase("stranger");
  if (what == Meanwhile::kNodeLost) store->nodes = twoNodes().nodes;
  if (what != Meanwhile::kMemberGone) return;
  for (int i = 0; i < 4; ++i)
    if (!store->pods.contains("g" + std::to_string(i)))
      store->add(memberOf("g", 4, "g" + std::to_string(i)));
}

// Until it is killed after so many writes; what it did not hear of was written all the same.
void liveFor(unsigned writes, Store* store) {
  Life life(*store);
  for (unsigned i = 0; i < writes; ++i) {
    if (!life.openOne() && !life.bindOne()) return;
    // A member is bound: then nobody has a gate any more.
    EXPECT_TRUE(store->bound("g") == 0 || store->gated("g") == 0);
  }
}

TEST(GatedPodQueue, KilledBetweenWrites_GangAllOrNone) {
  for (const Meanwhile what :
       {Meanwhile::kNothing, Meanwhile::kTaken, Meanwhile::kNodeLost, Meanwhile::kMemberGone}) {
    for (unsigned first = 0; first <= 8; ++first) {
      for (const unsigned second : {0u, 1u, 3u, 6u}) {
        SCOPED_TRACE(testing::Message() << "killed after " << first << " and " << second
                                        << " writes, meanwhile " << static_cast<int>(what));
        Store store = twoNodes();
        addGang(&store, 4);
        liveFor(first, &store);
        const bool begun = store.bound("g") > 0;
        // Who is bound keeps what it has, whatever happens.
        if (!begun) happen(what, &store);
        liveFor(second, &store);
        Life last(store);
        last.run();
        const std::size_t bound = store.bound("g");
        EXPECT_TRUE(bound == 0 || bound == 4) << bound;
        EXPECT_TRUE(bound == 4 || !(begun || what == Meanwhile::kNothing)) << bound;
        recover(what, &store);
        Life after(store);
        after.run();
        EXPECT_EQ(store.bound("g"), 4u);
        EXPECT_EQ(store.gated("g"), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace divvy::scheduler
