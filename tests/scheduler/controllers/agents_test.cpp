// What is written for HAMi's agents and vendors', and where; and what is believed of theirs.
#include <gtest/gtest.h>

#include "codec/hami_agent_nodes.h"
#include "controllers/agent_handshake_controller.h"
#include "controllers/hami_label_controller.h"
#include "extender/node_lock.h"
#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

kube::Pod plugin(const std::string& uid, const std::string& node) {
  kube::Pod made;
  made.meta.uid = made.meta.name = uid;
  made.meta.labels = {{"app.kubernetes.io/component", "hami-device-plugin"}};
  made.node = node;
  return made;
}

kube::Pod holding(const std::string& uid, const std::string& node) {
  kube::Pod made;
  made.meta.uid = made.meta.name = uid;
  made.meta.annotations = {{"hami.io/vgpu-node", node}};
  made.node = node;
  return made;
}

TEST(HamiAgentNodes, PluginPod_MarksItsNode) {
  HamiAgentNodes agents;
  EXPECT_FALSE(agents.set(holding("p", "a")));
  EXPECT_TRUE(agents.set(plugin("x", "a")));
  EXPECT_FALSE(agents.set(plugin("y", "a")));
  agents.remove("x");
  EXPECT_TRUE(agents.on("a"));
  kube::Pod ended = plugin("y", "a");
  ended.phase = kube::PodPhase::kFailed;
  EXPECT_FALSE(agents.set(ended));
  EXPECT_FALSE(agents.on("a"));
}

TEST(UnlabelledPods, AgentOnNode_PodGetsLabel) {
  HamiAgentNodes agents;
  UnlabelledPods pods(WhereAgents::kAuto);
  pods.set(holding("p", "a"), agents);
  pods.set(holding("q", "b"), agents);
  EXPECT_TRUE(pods.wanted(9).empty());
  ASSERT_TRUE(agents.set(plugin("x", "a")));
  pods.agentCame("a");
  ASSERT_EQ(pods.wanted(9).size(), 1u);
  EXPECT_EQ(pods.wanted(9)[0].name, "p");
  kube::Pod labelled = holding("p", "a");
  labelled.meta.labels = {{"hami.io/vgpu-node", "a"}};
  pods.set(labelled, agents);
  EXPECT_TRUE(pods.wanted(9).empty());
  pods.set(holding("r", "a"), agents);
  EXPECT_EQ(pods.wanted(9).size(), 1u);
  pods.remove("r");
  EXPECT_TRUE(pods.wanted(9).empty());
}

TEST(UnlabelledPods, NeverAndAlways_AgentsIgnored) {
  HamiAgentNodes agents;
  agents.set(plugin("x", "a"));
  UnlabelledPods never(WhereAgents::kNever);
  never.set(holding("p", "a"), agents);
  EXPECT_TRUE(never.wanted(9).empty());
  UnlabelledPods always(WhereAgents::kAlways);
  always.set(holding("p", "b"), agents);
  EXPECT_EQ(always.wanted(9).size(), 1u);
  kube::Pod nothing = holding("n", "b");
  nothing.meta.annotations.clear();
  always.set(nothing, agents);
  EXPECT_EQ(always.wanted(9).size(), 1u);
}

TEST(NodeLock, LockText_WrittenAndReadAsAgentsDo) {
  const LockHolder holder{"lab", "p"};
  EXPECT_EQ(lockText("hami.io/mutex.lock", 1'787'306'400, holder), "2026-08-21T10:00:00Z,lab,p");
  EXPECT_EQ(lockText("cambricon.com/dsmlu.lock", 1'787'306'400, holder), "2026-08-21T10:00:00Z");
  for (const char* text : {"2026-08-21T10:00:00Z,lab,p", "2026-08-21T12:00:00+02:00,lab,p",
                           "2026-08-21T04:30:00.25-05:30,lab,p"}) {
    const LockValue said = parseLock(text);
    EXPECT_EQ(said.seconds, 1'787'306'400) << text;
    EXPECT_EQ(said.holder, holder) << text;
  }
  EXPECT_EQ(parseLock("2026-08-21T10:00:00Z").holder, LockHolder{});
  for (const char* text : {"", "now", "2026-08-21", "2026-08-21T10:00:00", "2026-08-21T10:00:00X"})
    EXPECT_EQ(parseLock(text).seconds, 0) << text;
}

// NVIDIA's devices only where HAMi's agent hands them out; of others the vendor's does.
TEST(NodeLock, Kinds_LockedWhereAgentReadsIt) {
  const auto of = [](const char* kind, bool hami) {
    return locksOf({allVendors().kind(kind)}, hami);
  };
  EXPECT_TRUE(of("NVIDIA", false).empty());
  EXPECT_EQ(of("NVIDIA", true), std::vector<std::string>{"hami.io/mutex.lock"});
  EXPECT_EQ(of("Ascend910B3", false), std::vector<std::string>{"hami.io/mutex.lock"});
  EXPECT_EQ(of("MLU", false), std::vector<std::string>{"cambricon.com/dsmlu.lock"});
  EXPECT_TRUE(of("MTT", true).empty());
}

bool placed(const kube::Node& node) {
  SchedulerCache cache(allVendors(), {});
  EXPECT_TRUE(cache.setNode(node));
  const kube::Pod pod = *kube::podOf(podObject({{{"hygon.com/dcunum", "1"}}}, {}));
  const std::vector<std::string_view> names{"n"};
  return cache.filterAndReserve(pod, names, {1000})->node.has_value();
}

TEST(Handshakes, AgentGone_NothingIsPlaced) {
  kube::Node node = nodeWith("hygon");
  EXPECT_TRUE(placed(node));  // nothing is said of it
  node.meta.annotations["hami.io/node-handshake-dcu"] = "Deleted_2026-08-21 10:00:00";
  EXPECT_FALSE(placed(node));
  for (const char* alive : {"Requesting_2020-01-01 10:00:00", "Reported 2020-01-01 10:00:00"}) {
    node.meta.annotations["hami.io/node-handshake-dcu"] = alive;
    EXPECT_TRUE(placed(node)) << alive;
  }
  node.capacity["hygon.com/dcunum"] = "8";
  node.allocatable["hygon.com/dcunum"] = "8";
  EXPECT_TRUE(placed(node));
  node.allocatable["hygon.com/dcunum"] = "0";
  EXPECT_FALSE(placed(node));
}

constexpr const char* kDcuHandshake = "hami.io/node-handshake-dcu";

kube::Node shaking(const std::string& text, const char* allocatable = nullptr) {
  kube::Node node = nodeWith("hygon");
  node.meta.uid = "uid-of-" + node.meta.name;
  node.meta.annotations[kDcuHandshake] = text;
  if (allocatable != nullptr) node.allocatable["hygon.com/dcunum"] = allocatable;
  return node;
}

TEST(Handshakes, AgentReported_IsAskedAgain) {
  Handshakes handshakes(allVendors());
  handshakes.observe(nodeWith("hygon"), {0});
  EXPECT_TRUE(handshakes.due().empty());  // an agent that shakes no hands
  handshakes.observe(shaking("Reported 2026-08-21 10:00:00"), {0});
  const std::vector<Handshakes::PendingHandshake> due = handshakes.due();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].node, "n");
  EXPECT_EQ(due[0].uid, "uid-of-n");
  EXPECT_EQ(due[0].said,
            (std::map<std::string, std::string>{{kDcuHandshake, "Reported 2026-08-21 10:00:00"}}));
  EXPECT_TRUE(handshakes.stands(due[0]));
  handshakes.observe(shaking(requestText(1'787'306'400)), {1});
  EXPECT_TRUE(handshakes.due().empty());
  EXPECT_FALSE(handshakes.stands(due[0]));
  handshakes.observe(shaking("Deleted_2026-08-21 10:00:00"), {2});
  EXPECT_TRUE(handshakes.due().empty());
  EXPECT_FALSE(handshakes.stands(due[0]));
  handshakes.remove("uid-of-n");
  EXPECT_TRUE(handshakes.fallenSilent({Handshakes::kPatienceMs * 9}).empty());
}

// Regression: agents were asked from a list that had grown old, over the "Deleted" of who had left.
TEST(Handshakes, RequestPatch_TestsReportedValue) {
  EXPECT_EQ(requestPatch("u", {{"a/b~c", "Reported x"}}, "Requesting_y"),
            R"([{"op":"test","path":"/metadata/uid","value":"u"},)"
            R"({"op":"test","path":"/metadata/annotations/a~1b~0c","value":"Reported x"},)"
            R"({"op":"replace","path":"/metadata/annotations/a~1b~0c","value":"Requesting_y"}])");
}

TEST(Handshakes, NoAnswerForAMinute_AllocatableDecides) {
  const std::string asked = requestText(1'787'306'400);
  EXPECT_EQ(asked.rfind("Requesting_2026-08-2", 0), 0u) << asked;
  EXPECT_EQ(asked.size(), std::string("Requesting_2026-08-21 10:00:00").size());
  for (const char* usable : {"8", "0", static_cast<const char*>(nullptr)}) {
    Handshakes handshakes(allVendors());
    const engine::Instant just{1000 + Handshakes::kPatienceMs - 1}, over{just.ms + 1};
    EXPECT_TRUE(placed(handshakes.observe(shaking(asked, usable), {1000})));
    // Heard again, with something else changed: it is as old as before.
    kube::Node other = shaking(asked, usable);
    other.meta.labels["x"] = "y";
    EXPECT_TRUE(placed(handshakes.observe(other, {30'000})));
    EXPECT_TRUE(handshakes.fallenSilent(just).empty());
    const std::vector<kube::Node> silent = handshakes.fallenSilent(over);
    const bool alive = usable != nullptr && usable[0] == '8';
    ASSERT_EQ(silent.size(), alive ? 0u : 1u);
    EXPECT_TRUE(handshakes.fallenSilent(over).empty());  // once
    EXPECT_EQ(placed(handshakes.observe(other, over)), alive);
    if (!alive) {
      EXPECT_FALSE(placed(silent[0]));
    }
    // It answers: it is back at once, and asked again.
    EXPECT_TRUE(placed(handshakes.observe(shaking("Reported 2026-08-21 10:02:00"), over)));
    EXPECT_EQ(handshakes.due().size(), 1u);
    EXPECT_TRUE(placed(handshakes.observe(shaking(requestText(1'787'306'520)), over)));
  }
}

}  // namespace
}  // namespace divvy::scheduler
