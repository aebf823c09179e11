// Who has to end so that a pod of higher priority fits: devices, processors and memory together.
#include <gtest/gtest.h>

#include <algorithm>

#include "annotations/disruption_annotations.h"
#include "kube/registration.h"
#include "preemption/preemption_backoff.h"
#include "preemption/victim_selection.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr std::int64_t kNow = 1'000'000;

kube::Node node(const std::string& name, unsigned devices = 1) {
  kube::Node made;
  made.meta.name = name;
  made.meta.uid = name;
  made.allocatable = {{"cpu", "8"}, {"memory", "64Gi"}, {"pods", "10"}};
  std::vector<kube::RegisteredDevice> list;
  for (unsigned at = 0; at < devices; ++at) {
    kube::RegisteredDevice device;
    device.id = "GPU-" + name + '-' + std::to_string(at);
    device.index = at;
    device.count = 10;
    device.mebibytes = 80 << 10;
    device.cores = 100;
    device.type = "NVIDIA H100";
    device.healthy = true;
    list.push_back(std::move(device));
  }
  made.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(list);
  return made;
}

// No device memory: no devices.
kube::Pod pod(const std::string& uid, std::int64_t priority, const std::string& mebibytes,
              const std::string& cpu = "100m", const std::string& memory = "1Gi") {
  kube::Pod made;
  made.meta.name = made.meta.uid = uid;
  made.meta.namespace_name = "default";
  made.priority = priority;
  made.phase = kube::PodPhase::kRunning;
  made.placed_at = kNow - 100;
  kube::PodContainer container;
  container.name = "c";
  container.requests = {{"cpu", cpu}, {"memory", memory}};
  if (!mebibytes.empty())
    container.limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mebibytes}};
  made.containers.push_back(container);
  return made;
}

class VictimSelectionTest : public ::testing::Test {
 protected:
  void add(kube::Pod one, const std::string& where) {
    if (!one.containers.front().limits.empty()) {
      const std::vector<std::string_view> names{where};
      const Result<FilterResult> choice = cache.filterAndReserve(one, names, kLater);
      ASSERT_TRUE(choice && choice->node) << one.meta.name;
      Result<BindPlan> assigned = cache.assume(one.meta.uid, where, 1);
      ASSERT_TRUE(assigned);
      cache.finishBinding(one.meta.uid, BindOutcome::kBound);
      for (const auto& [key, value] : assigned->annotations) one.meta.annotations[key] = value;
    }
    one.node = where;
    told(one);
  }
  void told(const kube::Pod& one) {
    there[one.meta.uid] = one;
    ASSERT_TRUE(cache.setPod(one));
    ASSERT_TRUE(running_pods.set(one));
  }
  void going(const std::string& uid) {
    there[uid].meta.deleting = true;
    told(there[uid]);
  }
  void gone(const std::string& uid) {
    cache.removePod(uid);
    running_pods.remove(uid);
  }

  PreemptorPod preemptor(const kube::Pod& one) {
    return {one.meta.uid, one.priority, *podResources(one), **cache.pods().readRequest(one)};
  }
  PreemptionOptions terms() {
    return {cache.pods().config(), cache.nodes().pools(), min_runtime, kNow};
  }
  std::optional<PreemptionPlan> plan(const kube::Pod& one, const std::string& where = "a") {
    Result<std::optional<PreemptionPlan>> found =
        selectVictims(*cache.nodes().snapshotOf(where), preemptor(one), running_pods, budgets,
                      terms(), &ineligible);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : std::nullopt;
  }
  std::vector<std::string> victims(const kube::Pod& one) {
    const std::optional<PreemptionPlan> found = plan(one);
    return found ? found->victims : std::vector<std::string>{"none"};
  }
  std::optional<std::string> filterAndReserve(const kube::Pod& one) {
    const std::vector<std::string_view> names{"a"};
    const Result<FilterResult> choice = cache.filterAndReserve(one, names, kLater);
    return choice ? choice->node : std::nullopt;
  }

  using Uids = std::vector<std::string>;
  vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache cache{catalog, {}};
  RunningPods running_pods;
  DisruptionBudgets budgets;
  IneligibleCounts ineligible;
  std::int64_t min_runtime = 0;
  std::map<std::string, kube::Pod> there;
};

TEST_F(VictimSelectionTest, LowerPriorityOnly_FewestVictims) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("low-1", 1, "30000"), "a");
  add(pod("low-2", 1, "30000"), "a");
  add(pod("high", 9, "20000"), "a");
  EXPECT_EQ(victims(pod("p", 5, "30000")).size(), 1u);
  EXPECT_EQ(victims(pod("p", 5, "60000")), (Uids{"low-1", "low-2"}));
  EXPECT_EQ(victims(pod("p", 5, "62000")), Uids{"none"});
  EXPECT_EQ(victims(pod("p", 1, "30000")), Uids{"none"});
  // Somebody without devices may end, too, but here that would not help.
  add(pod("plain", 1, ""), "a");
  EXPECT_EQ(victims(pod("p", 5, "62000")), Uids{"none"});
}

TEST_F(VictimSelectionTest, DevicesCpuAndMemory_FreedTogether) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("device", 1, "70000", "1"), "a");
  add(pod("plain", 1, "", "5"), "a");
  add(pod("small", 1, "", "500m"), "a");
  // By devices alone one would be enough.
  EXPECT_EQ(victims(pod("p", 5, "40000", "1")), Uids{"device"});
  EXPECT_EQ(victims(pod("p", 5, "40000", "4")), (Uids{"device", "plain"}));
  EXPECT_EQ(victims(pod("p", 5, "5000", "4")), Uids{"plain"});
  EXPECT_EQ(victims(pod("p", 5, "5000", "100m", "64Gi")), (Uids{"device", "plain", "small"}));
  EXPECT_EQ(victims(pod("p", 5, "5000", "9")), Uids{"none"});
}

TEST_F(VictimSelectionTest, EqualPriority_ShortestRunEvicted) {
  ASSERT_TRUE(cache.setNode(node("a")));
  kube::Pod old = pod("old", 1, "40000");
  old.placed_at = kNow - 5000;
  add(old, "a");
  add(pod("young", 1, "40000"), "a");
  EXPECT_EQ(victims(pod("p", 5, "40000")), Uids{"young"});
  min_runtime = 200;
  EXPECT_EQ(victims(pod("p", 5, "40000")), Uids{"old"});
  EXPECT_EQ(ineligible.young, 1u);
  there["young"].meta.annotations[kMinRuntime] = "90s";
  told(there["young"]);
  EXPECT_EQ(victims(pod("p", 5, "40000")), Uids{"young"});
}

TEST_F(VictimSelectionTest, NotEvictable_PodStays) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("young", 1, "40000"), "a");
  there["young"].meta.annotations[kEvictable] = "false";
  told(there["young"]);
  EXPECT_EQ(victims(pod("p", 5, "50000")), Uids{"none"});
  EXPECT_EQ(ineligible.fixed, 1u);
  // What is not understood protects, and is named.
  there["young"].meta.annotations[kEvictable] = "perhaps";
  const Result<void> set = running_pods.set(there["young"]);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message().find("true and false are"), std::string::npos);
  EXPECT_EQ(victims(pod("p", 5, "50000")), Uids{"none"});
  there["young"].meta.annotations[kEvictable] = "true";
  there["young"].controller = "DaemonSet";
  told(there["young"]);
  EXPECT_EQ(victims(pod("p", 5, "50000")), Uids{"none"});
}

// Regression: words of a group that could not be read kept a pod from eviction.
TEST_F(VictimSelectionTest, UnreadableGroup_EvictedAlone) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("young", 1, "40000"), "a");
  there["young"].meta.annotations["use.divvy.dev/gang"] = "without-a-number";
  const Result<void> set = running_pods.set(there["young"]);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message().find("gang-min"), std::string::npos);
  EXPECT_EQ(victims(pod("p", 5, "50000")), Uids{"young"});
  EXPECT_EQ(ineligible.fixed, 0u);
}

kube::DisruptionBudget budget(const std::string& uid, const std::string& app,
                              std::int64_t allowed) {
  kube::DisruptionBudget made;
  made.meta.uid = uid;
  made.meta.namespace_name = "default";
  made.selects = true;
  made.labels = {{"app", kube::SelectorWord::kIn, {app}}};
  made.allowed = allowed;
  return made;
}

TEST_F(VictimSelectionTest, Budgets_AreNeverExceeded) {
  ASSERT_TRUE(cache.setNode(node("a")));
  for (const char* uid : {"x-1", "x-2"}) {
    kube::Pod one = pod(uid, 1, "30000");
    one.meta.labels["app"] = "x";
    add(one, "a");
  }
  budgets.set(budget("b", "x", 1));
  EXPECT_EQ(victims(pod("p", 5, "30000")).size(), 1u);
  EXPECT_EQ(victims(pod("p", 5, "60000")), Uids{"none"});
  budgets.set(budget("b", "x", 2));
  EXPECT_EQ(victims(pod("p", 5, "60000")), (Uids{"x-1", "x-2"}));
  budgets.set(budget("b", "x", 0));
  EXPECT_EQ(victims(pod("p", 5, "60000")), Uids{"none"});
  // The API server evicts nobody who is under two.
  budgets.set(budget("b", "x", 2));
  budgets.set(budget("c", "x", 2));
  EXPECT_EQ(victims(pod("p", 5, "60000")), Uids{"none"});
  // Who has not begun is not counted by them.
  there["x-1"].phase = kube::PodPhase::kPending;
  told(there["x-1"]);
  EXPECT_EQ(victims(pod("p", 5, "30000")), Uids{"x-1"});
}

TEST_F(VictimSelectionTest, Group_EvictedFullyOrNotAtAll) {
  ASSERT_TRUE(cache.setNode(node("a")));
  ASSERT_TRUE(cache.setNode(node("b")));
  kube::Pod here = pod("here", 1, "60000");
  here.meta.labels["scheduling.x-k8s.io/pod-group"] = "g";
  add(here, "a");
  kube::Pod far = pod("far", 1, "60000");
  far.meta.labels["scheduling.x-k8s.io/pod-group"] = "g";
  add(far, "b");
  EXPECT_EQ(victims(pod("p", 5, "60000")), (Uids{"far", "here"}));
  there["far"].priority = 7;
  told(there["far"]);
  EXPECT_EQ(victims(pod("p", 5, "60000")), Uids{"none"});
}

// What a predecessor has begun is not done again.
TEST_F(VictimSelectionTest, EndingPod_CountsAsGone) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("x", 1, "40000"), "a");
  add(pod("y", 1, "40000"), "a");
  going("x");
  EXPECT_EQ(victims(pod("p", 5, "40000")), Uids{});
  const Result<bool> early = fitsNow(*cache.nodes().snapshotOf("a"),
                                     preemptor(pod("p", 5, "40000")), running_pods, terms());
  EXPECT_FALSE(*early);
  EXPECT_EQ(victims(pod("p", 5, "80000")), Uids{"y"});
  gone("x");
  const Result<bool> then = fitsNow(*cache.nodes().snapshotOf("a"), preemptor(pod("p", 5, "40000")),
                                    running_pods, terms());
  EXPECT_TRUE(*then);
  // It fits: nobody has to end for it, and there is nobody to wait for.
  EXPECT_FALSE(plan(pod("p", 5, "40000")));
}

TEST_F(VictimSelectionTest, PodCountExhausted_OneVictim) {
  kube::Node small = node("a");
  small.allocatable["pods"] = "2";
  ASSERT_TRUE(cache.setNode(small));
  add(pod("x", 2, "1000"), "a");
  add(pod("y", 1, ""), "a");
  EXPECT_EQ(victims(pod("p", 5, "1000")), Uids{"y"});
}

TEST_F(VictimSelectionTest, FreedRoom_KeptForPreemptor) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("x", 1, "40000"), "a");
  add(pod("y", 1, "40000"), "a");
  const kube::Pod high = pod("p", 5, "81000");
  EXPECT_EQ(filterAndReserve(high), std::nullopt);
  const std::optional<PreemptionPlan> found = plan(high);
  ASSERT_TRUE(found);
  ASSERT_TRUE(cache.nominate(high, found->placement, kLater));
  gone("x");
  EXPECT_EQ(filterAndReserve(pod("small", 1, "1000")), std::nullopt);
  // Asking too early loses nothing.
  EXPECT_EQ(filterAndReserve(high), std::nullopt);
  gone("y");
  EXPECT_EQ(filterAndReserve(pod("small", 1, "1000")), std::nullopt);
  EXPECT_EQ(filterAndReserve(high), "a");
  // Bound and gone again: nothing is kept any more.
  ASSERT_TRUE(cache.assume("p", "a", 1));
  cache.finishBinding("p", BindOutcome::kBound);
  cache.removePod("p");
  EXPECT_EQ(filterAndReserve(pod("small", 1, "1000")), "a");
}

TEST_F(VictimSelectionTest, Nomination_ExpiresAtDeadline) {
  ASSERT_TRUE(cache.setNode(node("a")));
  add(pod("x", 1, "60000"), "a");
  const kube::Pod high = pod("p", 5, "60000");
  const std::optional<PreemptionPlan> found = plan(high);
  ASSERT_TRUE(found);
  ASSERT_TRUE(cache.nominate(high, found->placement, {5'000}));
  gone("x");
  EXPECT_EQ(filterAndReserve(pod("small", 1, "60000")), std::nullopt);
  cache.expire({5'000});
  EXPECT_EQ(filterAndReserve(pod("small", 1, "60000")), "a");
}

TEST(PodResources, InitAndSidecars_SummedAsKubeScheduler) {
  kube::Pod one;
  const auto container = [](const char* cpu, bool sidecar) {
    kube::PodContainer made;
    made.requests = {{"cpu", cpu}};
    made.sidecar = sidecar;
    return made;
  };
  one.init = {container("1", false), container("500m", true), container("3", false)};
  one.containers = {container("1", false), container("1", false)};
  // Beside the sidecar before it an init container has more than all containers.
  EXPECT_EQ(podResources(one)->cpu.milli, 3'500);
  one.overhead = {{"cpu", "100m"}, {"memory", "64Mi"}};
  EXPECT_EQ(podResources(one)->cpu.milli, 3'600);
  EXPECT_EQ(podResources(one)->memory, mib(64));
  one.requests = {{"cpu", "8"}};
  EXPECT_EQ(podResources(one)->cpu.milli, 8'100);
  one.requests = {{"cpu", "many"}};
  EXPECT_FALSE(podResources(one));
}

TEST(PodResources, HugeRequests_AreCapped) {
  kube::Pod one;
  for (const char* memory : {"9223372036854775806.5", "9223372036854775807", "7Ei"}) {
    one.containers.emplace_back();
    one.containers.back().requests = {{"cpu", "9223372036854775"}, {"memory", memory}};
  }
  one.overhead = {{"cpu", "9223372036854775"}, {"memory", "7Ei"}};
  const auto room = podResources(one);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->cpu, engine::kMaxCpu);
  EXPECT_EQ(room->memory.count, engine::kMaxBytes);
}

TEST(MinRuntime, Durations_AreParsed) {
  EXPECT_EQ(*secondsOf("90"), 90);
  EXPECT_EQ(*secondsOf("10m"), 600);
  EXPECT_EQ(*secondsOf("2h"), 7'200);
  for (const char* bad : {"", "-1s", "m", "10 m", "1w", "99999999999d"})
    EXPECT_FALSE(secondsOf(bad)) << bad;
}

TEST(PreemptionBackoff, SeveralCandidates_HighestFirstPausesGrow) {
  PreemptionBackoff all;
  const std::vector<std::string_view> names{"b", "a"};
  const std::vector<std::string_view> more{"c", "a"};
  all.refused(pod("low", 1, "1"), names, {1'000});
  all.refused(pod("high", 2, "1"), names, {1'000});
  all.offered(pod("high", 2, "1"), more, {1'010});
  EXPECT_FALSE(all.next({1'050}));  // more may be told
  const std::optional<PreemptionCandidate> first = all.next({1'200});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pod.meta.uid, "high");
  EXPECT_EQ(first->nodes, (std::vector<std::string>{"a", "b", "c"}));
  all.failed("high", {1'200});
  EXPECT_EQ(all.next({1'200})->pod.meta.uid, "low");
  all.drop("low");
  EXPECT_FALSE(all.next({2'199}));
  EXPECT_TRUE(all.next({2'200}));
  all.failed("high", {2'200});
  EXPECT_FALSE(all.next({4'199}));
  EXPECT_TRUE(all.next({4'200}));
  // What was said then may not be so any more.
  EXPECT_FALSE(all.next({20'000}));
  EXPECT_EQ(all.stale({20'000}).size(), 1u);
  EXPECT_EQ(all.stale({20'001}).size(), 0u);
  all.refused(pod("high", 2, "1"), names, {30'000});
  EXPECT_EQ(all.next({30'200})->nodes, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace divvy::scheduler
