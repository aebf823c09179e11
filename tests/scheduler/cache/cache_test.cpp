// Who holds what, whatever the order in which it is told.
#include <gtest/gtest.h>

#include "kube/assignment_text.h"
#include "kube/registration.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};

kube::Node node(const std::string& name, unsigned devices = 1, const std::string& uid = "1") {
  kube::Node made;
  made.meta.name = name;
  made.meta.uid = uid;
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

kube::Pod pod(const std::string& uid, const std::string& mebibytes = "50000") {
  kube::Pod made;
  made.meta.name = made.meta.uid = uid;
  made.meta.namespace_name = "default";
  kube::PodContainer container;
  container.name = "c";
  container.limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", mebibytes}};
  made.containers.push_back(container);
  return made;
}

// As the watch tells of it once it is bound there.
kube::Pod bound(kube::Pod made, const std::string& node, const kube::Labels& annotations) {
  made.node = node;
  made.meta.annotations = annotations;
  return made;
}

class SchedulerCacheTest : public ::testing::Test {
 protected:
  std::optional<std::string> filterAndReserve(const kube::Pod& one,
                                              std::vector<std::string_view> nodes) {
    const Result<FilterResult> choice = cache.filterAndReserve(one, nodes, kLater);
    return choice ? choice->node : std::nullopt;
  }
  // Chosen and bound; its annotations.
  kube::Labels bind(const kube::Pod& one, const std::string& where) {
    EXPECT_EQ(filterAndReserve(one, {where}), where);
    Result<BindPlan> assigned = cache.assume(one.meta.uid, where, 1);
    EXPECT_TRUE(assigned.has_value());
    cache.finishBinding(one.meta.uid, BindOutcome::kBound);
    return assigned ? assigned->annotations : kube::Labels{};
  }

  vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache cache{catalog, {}};
};

// HAMi's agents write their devices in another order each time: by a place in the list somebody
// would have cordoned another card than the one that was meant.
TEST_F(SchedulerCacheTest, ShuffledDevices_KeepAgentsIndices) {
  kube::Node turned = node("a", 3);
  std::string& text = turned.meta.annotations["hami.io/node-nvidia-register"];
  Result<std::vector<kube::RegisteredDevice>> list = kube::decodeRegistration(text);
  ASSERT_TRUE(list);
  std::swap(list->front(), list->back());
  text = kube::encode(*list);
  ASSERT_TRUE(cache.setNode(turned));
  const std::vector<DeviceUsage> devices = cache.nodes().devicesOf("a");
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices.front().uuid, "GPU-a-2");
  for (const DeviceUsage& one : devices) EXPECT_EQ(one.uuid, "GPU-a-" + std::to_string(one.index));
}

// Where it numbers none, their places do.
TEST_F(SchedulerCacheTest, UnnumberedDevices_NumberedByPlace) {
  kube::Node plain = node("a", 2);
  std::string& text = plain.meta.annotations["hami.io/node-nvidia-register"];
  Result<std::vector<kube::RegisteredDevice>> list = kube::decodeRegistration(text);
  ASSERT_TRUE(list);
  for (kube::RegisteredDevice& one : *list) one.index = 0;
  text = kube::encode(*list);
  const Result<void> set = cache.setNode(plain);
  ASSERT_TRUE(set) << set.error().message();
  const std::vector<DeviceUsage> devices = cache.nodes().devicesOf("a");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].index, 0u);
  EXPECT_EQ(devices[1].index, 1u);
}

TEST_F(SchedulerCacheTest, Reservation_BlocksOthersUntilExpiry) {
  ASSERT_TRUE(cache.setNode(node("a")));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), std::nullopt);
  EXPECT_FALSE(cache.pods().mayRequeue({0}) && !cache.popSchedulable(9, {0}).empty());
  EXPECT_EQ(cache.expire(kLater), 1u);
  ASSERT_TRUE(cache.pods().mayRequeue(kLater));
  const std::vector<PodRef> waiting = cache.popSchedulable(9, kLater);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].name, "q");
  EXPECT_FALSE(cache.assume("p", "a", 1).has_value());
}

// Regression: sidecars were counted as init containers that end; then they were refused.
TEST_F(SchedulerCacheTest, Sidecar_HoldsDevicesBesideContainers) {
  ASSERT_TRUE(cache.setNode(node("a")));
  kube::Pod both = pod("p", "40000");
  kube::PodContainer sidecar = both.containers[0];
  sidecar.sidecar = true;
  both.init.push_back(sidecar);
  const kube::Labels annotations = bind(both, "a");
  EXPECT_EQ(annotations.at("hami.io/vgpu-devices-allocated"),
            "GPU-a-0,NVIDIA,40000,0:;GPU-a-0,NVIDIA,40000,0:;");
  EXPECT_EQ(filterAndReserve(pod("q", "2000"), {"a"}), std::nullopt);
  // So too when it is only known from what the bound pod says.
  SchedulerCache other(catalog, {});
  ASSERT_TRUE(other.setNode(node("a")));
  ASSERT_TRUE(other.setPod(bound(both, "a", annotations)));
  const std::vector<std::string_view> names{"a"};
  EXPECT_FALSE(other.filterAndReserve(pod("q", "2000"), names, kLater)->node);
  EXPECT_TRUE(other.filterAndReserve(pod("r", "1000"), names, kLater)->node);
}

// A filter for a pod that is asked again chooses anew, and holds one place only.
TEST_F(SchedulerCacheTest, FilterAgain_OneReservation) {
  ASSERT_TRUE(cache.setNode(node("a")));
  ASSERT_TRUE(cache.setNode(node("b")));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  EXPECT_EQ(filterAndReserve(pod("p"), {"b"}), "b");
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

// Lists of nodes and pods come at once, in any order.
TEST_F(SchedulerCacheTest, PodBeforeItsNode_HoldsDevices) {
  SchedulerCache other(catalog, {});
  ASSERT_TRUE(other.setNode(node("a")));
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(other.filterAndReserve(pod("p"), names, kLater)->node);
  const kube::Labels annotations = other.assume("p", "a", 1)->annotations;

  ASSERT_TRUE(cache.setPod(bound(pod("p"), "a", annotations)));
  ASSERT_TRUE(cache.setNode(node("a")));
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), std::nullopt);
  cache.removePod("p");
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

TEST_F(SchedulerCacheTest, NodeRemovedAndBack_PodsStillCounted) {
  ASSERT_TRUE(cache.setNode(node("a")));
  const kube::Labels annotations = bind(pod("p"), "a");
  ASSERT_TRUE(cache.setPod(bound(pod("p"), "a", annotations)));
  cache.removeNode("1", "a");
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), std::nullopt);
  ASSERT_TRUE(cache.setNode(node("a", 1, "2")));
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), std::nullopt);
  // Told late, of the node that was before.
  cache.removeNode("1", "a");
  EXPECT_EQ(filterAndReserve(pod("small", "1000"), {"a"}), "a");
}

TEST_F(SchedulerCacheTest, UnreadableRegistration_AllocationsKept) {
  ASSERT_TRUE(cache.setNode(node("a", 2)));
  const kube::Labels annotations = bind(pod("p"), "a");
  ASSERT_TRUE(cache.setPod(bound(pod("p"), "a", annotations)));
  kube::Node broken = node("a", 2);
  broken.meta.annotations["hami.io/node-nvidia-register"] = "[{";
  EXPECT_FALSE(cache.setNode(broken));
  const std::vector<std::string_view> names{"a"};
  const Result<FilterResult> choice = cache.filterAndReserve(pod("q"), names, kLater);
  ASSERT_TRUE(choice.has_value());
  EXPECT_FALSE(choice->node);
  const std::string& why = choice->why.find("a")->text();
  EXPECT_NE(why.find("not JSON"), std::string::npos) << why;
  ASSERT_TRUE(cache.setNode(node("a", 2)));
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
  EXPECT_EQ(filterAndReserve(pod("r"), {"a"}), std::nullopt);
}

// Regression: the scheduler was restarted, and the pod's 50,000 MiB were given a second time.
TEST_F(SchedulerCacheTest, UnreadableAssignment_ClosedUntilPodGone) {
  ASSERT_TRUE(cache.setNode(node("a")));
  ASSERT_TRUE(cache.setNode(node("b")));
  kube::Labels garbage{{"hami.io/vgpu-devices-allocated", "garbage"}, {"hami.io/vgpu-node", "a"}};
  EXPECT_FALSE(cache.setPod(bound(pod("p"), "a", garbage)));
  EXPECT_EQ(cache.nodes().closedNodes(), 1u);
  const std::vector<std::string_view> names{"a"};
  const Result<FilterResult> choice = cache.filterAndReserve(pod("small", "1000"), names, kLater);
  ASSERT_TRUE(choice.has_value());
  EXPECT_FALSE(choice->node);
  const std::string why(choice->why.find("a")->text());
  EXPECT_NE(why.find("default/p"), std::string::npos) << why;
  EXPECT_NE(why.find("closed for new shares"), std::string::npos) << why;
  EXPECT_EQ(filterAndReserve(pod("small", "1000"), {"a", "b"}), "b");
  // Told of again, and of its node.
  EXPECT_FALSE(cache.setPod(bound(pod("p"), "a", garbage)));
  kube::Node again = node("a");
  again.meta.labels["zone"] = "1";
  ASSERT_TRUE(cache.setNode(again));
  EXPECT_EQ(filterAndReserve(pod("q", "1000"), {"a"}), std::nullopt);
  cache.removePod("p");
  EXPECT_EQ(cache.nodes().closedNodes(), 0u);
  EXPECT_EQ(filterAndReserve(pod("q", "1000"), {"a"}), "a");
}

TEST_F(SchedulerCacheTest, AssignmentReadableAgain_NodeOpens) {
  ASSERT_TRUE(cache.setNode(node("a")));
  const kube::Labels good = bind(pod("p"), "a");
  kube::Labels bad = good;
  bad["hami.io/vgpu-devices-allocated"] = ";GPU-a-0,NVIDIA,many,30:;";
  SchedulerCache fresh{catalog, {}};
  // A pod may be told of before its node.
  EXPECT_FALSE(fresh.setPod(bound(pod("p"), "a", bad)));
  ASSERT_TRUE(fresh.setNode(node("a")));
  const std::vector<std::string_view> names{"a"};
  EXPECT_FALSE(fresh.filterAndReserve(pod("q", "30000"), names, kLater)->node);
  ASSERT_TRUE(fresh.setPod(bound(pod("p"), "a", good)));
  EXPECT_FALSE(fresh.filterAndReserve(pod("q", "50000"), names, kLater)->node) << "50,000 are held";
  EXPECT_EQ(fresh.filterAndReserve(pod("q", "30000"), names, kLater)->node, "a");
}

TEST_F(SchedulerCacheTest, UnreadableAssignmentEnded_NodeOpens) {
  ASSERT_TRUE(cache.setNode(node("a")));
  kube::Pod one = bound(pod("p"), "a", {{"hami.io/vgpu-devices-allocated", "garbage"}});
  EXPECT_FALSE(cache.setPod(one));
  one.phase = kube::PodPhase::kSucceeded;
  (void)cache.setPod(one);
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

TEST_F(SchedulerCacheTest, AgentOptions_WrittenAtBindAsDecided) {
  ASSERT_TRUE(cache.setNode(node("a")));
  kube::Pod one = pod("p");
  one.meta.annotations = {{"use.divvy.dev/priority", "low"},
                          {"c.use.divvy.dev/guaranteed", "1Gi"},
                          {"use.divvy.dev/node-policy", "spread"}};
  const auto words = kube::decidedIn(bind(one, "a"));
  ASSERT_TRUE(words && *words);
  EXPECT_EQ(**words, (kube::Labels{{"use.divvy.dev/priority", "low"},
                                   {"c.use.divvy.dev/guaranteed", "1Gi"}}));
}

TEST_F(SchedulerCacheTest, NoAgentOptions_DecidedIsEmpty) {
  ASSERT_TRUE(cache.setNode(node("a")));
  EXPECT_EQ(bind(pod("p"), "a").at(kube::kDecidedKey), "{}");
}

// A bind whose answer was lost: what the pod says counts, also where it says other devices.
TEST_F(SchedulerCacheTest, UncertainBind_BoundPodsAnnotationCounts) {
  ASSERT_TRUE(cache.setNode(node("a", 2)));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  Result<BindPlan> assigned = cache.assume("p", "a", 1);
  ASSERT_TRUE(assigned.has_value());
  // While it is under way nobody chooses for it, and it does not expire.
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), std::nullopt);
  EXPECT_EQ(cache.expire({kLater.ms * 10}), 0u);
  cache.finishBinding("p", BindOutcome::kUncertain);
  kube::Labels said = assigned->annotations;
  std::string& devices = said["hami.io/vgpu-devices-allocated"];
  const std::size_t at = devices.find("-a-") + 3;
  devices[at] = devices[at] == '0' ? '1' : '0';
  ASSERT_TRUE(cache.setPod(bound(pod("p"), "a", said)));
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
  EXPECT_EQ(filterAndReserve(pod("r"), {"a"}), std::nullopt);
}

// The watch reported the pod before the bind call ran into its time limit: another /filter of it,
// by a kube-scheduler that counts the bind as failed, must not free its devices.
TEST_F(SchedulerCacheTest, UncertainBindReportedBound_DevicesKept) {
  ASSERT_TRUE(cache.setNode(node("a")));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  const Result<BindPlan> assigned = cache.assume("p", "a", 1);
  ASSERT_TRUE(assigned.has_value());
  ASSERT_TRUE(cache.setPod(bound(pod("p"), "a", assigned->annotations)));
  cache.finishBinding("p", BindOutcome::kUncertain);
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), std::nullopt);
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), std::nullopt) << "the device of p is given twice";
}

TEST_F(SchedulerCacheTest, RefusedBind_ReservationIsReleased) {
  ASSERT_TRUE(cache.setNode(node("a")));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  ASSERT_TRUE(cache.assume("p", "a", 1).has_value());
  cache.finishBinding("p", BindOutcome::kRefused);
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

// Of a device that was full its kubelet offers nothing until its agent says that there is room: who
// is given some of it is not bound before.
TEST_F(SchedulerCacheTest, DeviceSaidFull_WithdrawnFromReportsIt) {
  kube::Node full = node("a", 2);
  full.meta.annotations["divvy.dev/full-devices"] = "GPU-a-0,GPU-b-1";
  ASSERT_TRUE(cache.setNode(full));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
  const std::string mine = cache.pods().withdrawnFrom("p"),
                    others = cache.pods().withdrawnFrom("q");
  EXPECT_EQ(mine + others, "GPU-a-0") << "one of them has that device, the other one the other";
  EXPECT_EQ(cache.pods().withdrawnFrom("r"), "") << "nothing is reserved for it";
  ASSERT_TRUE(cache.setNode(node("a", 2)));
  EXPECT_EQ(cache.pods().withdrawnFrom("p") + cache.pods().withdrawnFrom("q"), "");
}

TEST_F(SchedulerCacheTest, DeviceSaidFullByAgentOfBefore_IsReported) {
  kube::Node full = node("a");
  full.meta.annotations["divvy.dev/full"] = "GPU-a-0";
  ASSERT_TRUE(cache.setNode(full));
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), "a");
  EXPECT_EQ(cache.pods().withdrawnFrom("p"), "GPU-a-0");
}

// Regression: kube-scheduler asked for a pod that was gone, and its reservation stayed.
TEST_F(SchedulerCacheTest, PodIsGone_NothingIsReserved) {
  ASSERT_TRUE(cache.setNode(node("a")));
  cache.removePod("p");
  EXPECT_EQ(filterAndReserve(pod("p"), {"a"}), std::nullopt);
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

TEST_F(SchedulerCacheTest, ForgedAnnotations_HoldNothing) {
  ASSERT_TRUE(cache.setNode(node("a")));
  kube::Pod forged = pod("p");
  forged.meta.annotations = {{"hami.io/vgpu-node", "a"},
                             {"hami.io/vgpu-devices-allocated", "GPU-a-0,NVIDIA,81920,100:;"}};
  ASSERT_TRUE(cache.setPod(forged));  // not bound
  forged.node = "a";
  forged.containers[0].limits.clear();  // asks for nothing
  ASSERT_TRUE(cache.setPod(forged));
  EXPECT_EQ(filterAndReserve(pod("q"), {"a"}), "a");
}

// Which core of a device is nobody's is known again by whoever begins anew.
TEST_F(SchedulerCacheTest, NeuronCores_EachGivenOnce) {
  kube::Node trainium;
  trainium.meta.name = trainium.meta.uid = "t";
  trainium.capacity = {{"aws.amazon.com/neuron", "1"}, {"aws.amazon.com/neuroncore", "2"}};
  trainium.allocatable = trainium.capacity;
  const auto core = [](const std::string& uid) {
    kube::Pod made = pod(uid);
    made.containers[0].limits = {{"aws.amazon.com/neuroncore", "1"}};
    return made;
  };
  ASSERT_TRUE(cache.setNode(trainium));
  const kube::Labels first = bind(core("p"), "t");
  EXPECT_EQ(first.at("AWS_NEURON_IDS"), "0");
  const kube::Labels second = bind(core("q"), "t");
  EXPECT_EQ(second.at("AWS_NEURON_IDS"), "1");
  EXPECT_EQ(filterAndReserve(core("r"), {"t"}), std::nullopt);

  SchedulerCache again(catalog, {});
  ASSERT_TRUE(again.setPod(bound(core("q"), "t", second)));
  ASSERT_TRUE(again.setNode(trainium));
  const std::vector<std::string_view> names{"t"};
  ASSERT_TRUE(again.filterAndReserve(core("r"), names, kLater)->node);
  EXPECT_EQ(again.assume("r", "t", 1)->annotations.at("AWS_NEURON_IDS"), "0");
}

// The pod was bound by this scheduler, and the watch has not reported it yet.
TEST_F(SchedulerCacheTest, NodeRemovedAndBackBoundPod_KeepsItsCore) {
  kube::Node trainium;
  trainium.meta.name = trainium.meta.uid = "t";
  trainium.capacity = {{"aws.amazon.com/neuron", "1"}, {"aws.amazon.com/neuroncore", "2"}};
  trainium.allocatable = trainium.capacity;
  const auto core = [](const std::string& uid) {
    kube::Pod made = pod(uid);
    made.containers[0].limits = {{"aws.amazon.com/neuroncore", "1"}};
    return made;
  };
  ASSERT_TRUE(cache.setNode(trainium));
  EXPECT_EQ(bind(core("p"), "t").at("AWS_NEURON_IDS"), "0");
  cache.removeNode("t", "t");
  ASSERT_TRUE(cache.setNode(trainium));
  EXPECT_EQ(bind(core("q"), "t").at("AWS_NEURON_IDS"), "1");
}

// A card of a pool never has tenants from elsewhere, also when all is read anew.
TEST_F(SchedulerCacheTest, Pools_DevicesStayInPool) {
  engine::Pool training;
  training.name = engine::PoolName("training");
  training.members.nodes = {engine::NodeName("a")};
  training.default_of = {engine::UserName("lab")};
  ASSERT_TRUE(cache.setPools({training}));
  ASSERT_TRUE(cache.setNode(node("a")));
  ASSERT_TRUE(cache.setNode(node("b")));
  kube::Pod inside = pod("p");
  inside.meta.annotations["use.divvy.dev/pool"] = "training";
  kube::Pod labs = pod("l");
  labs.meta.namespace_name = "lab";
  const std::vector<std::string_view> both{"a", "b"};
  EXPECT_EQ(filterAndReserve(pod("q", "1000"), both), "b");
  EXPECT_EQ(filterAndReserve(labs, both), "a");
  cache.removePod("l");
  const kube::Labels annotations = bind(inside, "a");
  EXPECT_EQ(annotations.at("divvy.dev/assigned-pool"), "training");
  for (const bool known : {true, false}) {
    SchedulerCache other(catalog, {});
    ASSERT_TRUE(other.setPools({training}));
    ASSERT_TRUE(other.setNode(node("a")));
    kube::Labels said = annotations;
    if (!known) said.erase("divvy.dev/assigned-pool");
    ASSERT_TRUE(other.setPod(bound(inside, "a", said)));
    kube::Pod next = pod("n", "1000");
    next.meta.annotations["use.divvy.dev/pool"] = "training";
    // Whoever had a card from before the pool is not joined by anybody.
    EXPECT_EQ(other.filterAndReserve(next, both, kLater)->node.has_value(), known);
  }
  kube::Pod wrong = pod("w");
  wrong.meta.annotations["use.divvy.dev/pool"] = "trainig";
  const Result<FilterResult> choice = cache.filterAndReserve(wrong, both, kLater);
  ASSERT_FALSE(choice.has_value());
  EXPECT_NE(choice.error().message().find("trainig"), std::string::npos);
}

TEST_F(SchedulerCacheTest, ZeroDevicesAsked_BoundWithoutDevices) {
  kube::Pod none = pod("p");
  none.containers[0].limits = {{"nvidia.com/gpu", "0"}};
  const std::vector<std::string_view> names{"anywhere"};
  const Result<FilterResult> choice = cache.filterAndReserve(none, names, kLater);
  ASSERT_TRUE(choice.has_value());
  EXPECT_FALSE(choice->ours);
  const Result<BindPlan> assigned = cache.assume("p", "anywhere", 1);
  ASSERT_TRUE(assigned.has_value());
  EXPECT_TRUE(assigned->annotations.empty());
}

// For kube-scheduler to choose among all: nothing is held until it has, and who comes late asks
// again.
TEST_F(SchedulerCacheTest, SeveralFit_DevicesChosenAtReserve) {
  for (const char* name : {"a", "b"}) ASSERT_TRUE(cache.setNode(node(name)));
  const std::vector<std::string_view> names{"b", "nowhere", "a"};
  for (const char* uid : {"p", "q"}) {
    const Result<FilterResult> choice = cache.fitting(pod(uid), names);
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->fitting, (std::vector<std::string>{"b", "a"}));
    EXPECT_TRUE(choice->why.contains("nowhere"));
  }
  ASSERT_TRUE(cache.reserve("p", "a", kLater));
  EXPECT_TRUE(cache.assume("p", "a", 1).has_value());
  const Result<void> late = cache.reserve("q", "a", kLater);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), ErrorCode::kNoRoom);
  EXPECT_EQ(cache.fitting(pod("q"), names)->fitting, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(cache.reserve("q", "b", kLater));
  EXPECT_TRUE(cache.reserve("q", "b", kLater)) << "it has that";
  EXPECT_EQ(cache.reserve("q", "a", kLater).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(cache.reserve("unheard-of", "b", kLater).has_value());
  // Who was asked for and went away is not bound.
  ASSERT_TRUE(cache.setNode(node("c")));
  EXPECT_FALSE(cache.fitting(pod("r"), std::vector<std::string_view>{"c"})->fitting.empty());
  cache.removePod("r");
  EXPECT_FALSE(cache.reserve("r", "c", kLater).has_value());
}

TEST_F(SchedulerCacheTest, Scores_BestNodeHasHighest) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache.setNode(node(name, 2)));
  bind(pod("p", "80000"), "b");
  const std::vector<std::string_view> names{"a", "b", "c", "nowhere"};
  const Result<std::vector<unsigned>> scores = cache.pods().scores(pod("q"), names);
  ASSERT_TRUE(scores.has_value());
  ASSERT_EQ(scores->size(), 4u);
  EXPECT_EQ((*scores)[3], 0u);
  const std::optional<std::string> best = filterAndReserve(pod("q"), names);
  ASSERT_TRUE(best);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_GE((*scores)[at], 1u);
    EXPECT_LE((*scores)[at], 10u);
    if (names[at] == *best) {
      EXPECT_EQ((*scores)[at], 10u);
    }
  }
}

}  // namespace
}  // namespace divvy::scheduler
