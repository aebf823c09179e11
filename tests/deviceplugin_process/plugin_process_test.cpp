// The agent between a kubelet and an API server that tell different things, or nothing.
#include "plugin_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include "kube/resize_request.h"

namespace divvy::test {
namespace {

namespace json = boost::json;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kRegister = "hami.io/node-nvidia-register";
constexpr const char* kServed = "divvy.dev/served-resources";

AssignedPod podOf(const std::string& uid, const std::vector<ContainerAsk>& containers,
                  const std::string& card) {
  AssignedPod pod;
  pod.ask = {"team", "trainer", uid, containers};
  pod.portions.assign(containers.size(), {{card}, 1000, 10});
  pod.phases.assign(containers.size(), Phase::kWaiting);
  pod.ends.assign(containers.size(), 0);
  return pod;
}

const ContainerAsk kInit{"init", true, 1};
const ContainerAsk kMain{"main", false, 1};

// How often an agent of this process has registered its resource with the kubelet, so far.
std::size_t registrations(const PluginProcess& process) {
  const std::string log = process.sandbox.agentLog();
  const std::string words = "the kubelet knows the resource resource=" + std::string(kResource);
  std::size_t found = 0;
  for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1))
    ++found;
  return found;
}

TEST(NodePublisher, KubeletHidesPods_NotRegisteredWithReason) {
  PluginProcess process(false);
  process.kubelet.hidePods(true);
  process.beginAgent();
  ASSERT_TRUE(process.ready());
  EXPECT_TRUE(process.says("cannot read the kubelet's pod resources; devices are not registered"));
  EXPECT_FALSE(process.api.notes().contains(kRegister));
  Rng rng(1);
  const AssignedPod pod = podOf("uid-1", {kMain}, process.cards().front());
  process.api.setPod(pod.object());
  ASSERT_TRUE(process.kubelet.admit(pod.ask, true, &rng));
  EXPECT_FALSE(process.kubelet.prepare("uid-1", "main").ok()) << "nobody says whose these are";
  process.kubelet.hidePods(false);
  EXPECT_TRUE(eventually([&] { return process.api.notes().contains(kRegister); }));
  EXPECT_TRUE(process.kubelet.prepare("uid-1", "main").ok());
  EXPECT_EQ(amiss(foundBy(process.kubelet.of("uid-1", "main")), pod.portions[0]), "");
}

// Regression: the node said which names are served, and its cards, before the kubelet had heard of
// them; it turns away for good whom the scheduler sends there then.
TEST(NodePublisher, KubeletNotToldYet_NothingPublished) {
  PluginProcess process(false);
  process.beginAgent();
  // It registers again with a kubelet that does not watch: by then it has looked at everything.
  ASSERT_TRUE(eventually([&] { return registrations(process) >= 2; }));
  EXPECT_FALSE(process.api.notes().contains(kRegister));
  EXPECT_FALSE(process.api.notes().contains(kServed));
  ASSERT_TRUE(process.ready());
  EXPECT_TRUE(eventually([&] { return process.api.notes()[kServed] == kResource; }));
  EXPECT_TRUE(eventually([&] { return process.api.notes().contains(kRegister); }));
  // What is served still is said while the next one begins.
  process.killAgent();
  EXPECT_EQ(process.api.notes()[kServed], kResource);
  const std::vector<std::string> writes = process.api.writes();
  process.beginAgent();
  ASSERT_TRUE(process.kubelet.offered(4 * kUnits));
  ASSERT_TRUE(eventually([&] { return registrations(process) >= 3; }));
  EXPECT_EQ(process.api.writes(), writes);
}

// Regression: a pod was bound between a kubelet's reading of units and its counting of them, some
// milliseconds later on a busy machine: it was turned away for good ("no healthy devices present").
TEST(NodePublisher, KubeletNotCountingYet_NothingPublished) {
  PluginProcess process(false);
  process.kubelet.countLate(true);
  process.beginAgent();
  ASSERT_TRUE(process.ready());
  ASSERT_TRUE(process.says("the kubelet knows the resource resource=" + std::string(kResource)));
  ASSERT_TRUE(eventually([&] { return process.kubelet.countsAsked() >= 3; }));
  EXPECT_FALSE(process.api.notes().contains(kRegister));
  EXPECT_FALSE(process.api.notes().contains(kServed));
  process.kubelet.countLate(false);
  EXPECT_TRUE(eventually([&] { return process.api.notes()[kServed] == kResource; }));
  EXPECT_TRUE(eventually([&] { return process.api.notes().contains(kRegister); }));
}

// There is nothing to count of cards that are all out of service: nobody waits for that.
TEST(NodePublisher, AllDevicesFaulty_PublishedAtOnce) {
  PluginProcess process(false);
  process.beginAgent();
  ASSERT_TRUE(process.ready());
  ASSERT_TRUE(eventually([&] { return process.api.notes().contains(kRegister); }));
  EXPECT_THAT(process.api.notes()[kRegister], HasSubstr(R"("health":true)"));
  const std::vector<std::string> cards = process.cards();
  process.killAgent();
  std::ofstream faults(process.sandbox.dir() + "/faults");
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  faults << boot << '\n';
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
  for (const std::string& card : cards) faults << card << " 79 " << now.count() << '\n';
  faults.close();
  process.kubelet.countLate(true);
  const unsigned before = process.kubelet.countsAsked();
  process.beginAgent();
  EXPECT_TRUE(eventually([&] {
    return process.api.notes()[kRegister].find(R"("health":true)") == std::string::npos;
  }));
  // By the first answer, and not because it was waited for in vain.
  EXPECT_LE(process.kubelet.countsAsked(), before + 3);
  // That would stay for five minutes.
  process.killAgent();
  std::filesystem::remove(process.sandbox.dir() + "/faults");
  process.kubelet.countLate(false);
  process.beginAgent();
  EXPECT_TRUE(eventually([&] {
    return process.api.notes()[kRegister].find(R"("health":true)") != std::string::npos;
  }));
}

// On Kubernetes 1.36 and later a node that lacks one of the names that a pod asks by can be refused
// where a DeviceClass maps another one.
TEST(NodePublisher, Default_AllResourceNamesInCapacity) {
  PluginProcess process;
  ASSERT_TRUE(process.ready());
  const std::vector<std::string> wanted = {
      "divvy.dev/gpucores",  "divvy.dev/gpumem",  "divvy.dev/gpumem-percentage",
      "nvidia.com/gpucores", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage"};
  EXPECT_TRUE(eventually([&] {
    const auto capacity = process.api.capacity();
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const std::string& name) { return capacity.contains(name); });
  }));
}

// Regression: a node's status had for ever what an earlier agent was told to announce.
TEST(NodePublisher, NoLongerAnnounced_RemovedFromStatus) {
  PluginProcess process(false);
  process.beginAgent({"--announce-memory", "x.io/memory", "--announce-cores", "x.io/cores"});
  ASSERT_TRUE(process.ready());
  EXPECT_TRUE(eventually([&] { return process.api.capacity()["x.io/cores"] == "400"; }));
  EXPECT_EQ(process.api.notes()["divvy.dev/announced-resources"], "x.io/cores,x.io/memory");
  process.killAgent();
  process.beginAgent({"--announce-memory", "none", "--announce-cores", "x.io/cores"});
  EXPECT_TRUE(eventually([&] { return process.api.capacity().count("x.io/memory") == 0; }));
  EXPECT_TRUE(eventually(
      [&] { return process.api.notes()["divvy.dev/announced-resources"] == "x.io/cores"; }));
  process.killAgent();
  const std::size_t before = registrations(process);
  process.beginAgent({"--announce-memory", "none", "--announce-cores", "none"});
  EXPECT_TRUE(
      eventually([&] { return process.api.notes().count("divvy.dev/announced-resources") == 0; }));
  EXPECT_THAT(process.api.capacity(), ElementsAre(Pair("example.com/other", "3")))
      << "what is somebody else's stays";
  ASSERT_TRUE(process.kubelet.offered(4 * kUnits));
  ASSERT_TRUE(eventually([&] { return registrations(process) > before; }));
  EXPECT_TRUE(process.api.notes().contains(kRegister));
  const std::vector<std::string> writes = process.api.writes();
  Rng rng(1);
  const AssignedPod pod = podOf("uid-1", {kMain}, process.cards()[0]);
  process.api.setPod(pod.object());
  ASSERT_TRUE(process.kubelet.admit(pod.ask, true, &rng));
  ASSERT_TRUE(process.kubelet.prepare("uid-1", "main").ok());
  process.api.removePod("uid-1");
  EXPECT_TRUE(process.sandbox.tenantCount(0));
  EXPECT_EQ(process.api.writes(), writes) << "nothing of the node has changed";
}

// What is admitted for a container that has it already, with another amount of memory.
json::object admittedFor(const AssignedPod& pod, std::uint64_t mebibytes, const std::string& token,
                         const char* key = kube::kChangeStateKey) {
  AssignedPod then = pod;
  then.portions[0].mebibytes = mebibytes;
  kube::ResizeState state;
  state.id = state.token = token;
  state.change = {token, pod.ask.containers[0].name, mebibytes, std::nullopt, ""};
  const json::object changed = then.object();
  state.assignment =
      changed.at("metadata").at("annotations").at("hami.io/vgpu-devices-allocated").as_string();
  json::object object = pod.object();
  object["metadata"].as_object()["annotations"].as_object()[key] = kube::encode(state);
  return object;
}

// Regression: a container was given less than one context takes, and nothing could start in it.
TEST(DevicePluginController, ResizeBelowContext_IsRefused) {
  PluginProcess process;
  ASSERT_TRUE(process.ready());
  Rng rng(1);
  const AssignedPod pod = podOf("uid-1", {kMain}, process.cards()[0]);
  process.api.setPod(pod.object());
  ASSERT_TRUE(process.kubelet.admit(pod.ask, true, &rng));
  ASSERT_TRUE(process.kubelet.prepare("uid-1", "main").ok());
  const auto told = [&](const std::string& token) {
    kube::ChangeResults results;
    EXPECT_TRUE(eventually([&] {
      const auto read = kube::decodeChangeResults(process.api.notes()[kube::kChangesKey]);
      if (read) results = *read;
      return results.contains(token);
    }));
    return results[token];
  };
  process.api.setPod(admittedFor(pod, 100, "small"));
  const kube::ResizeResult small = told("small");
  EXPECT_FALSE(small.done);
  EXPECT_EQ(small.reason, "Invalid");
  EXPECT_THAT(small.message, HasSubstr("100 MiB is less than one context needs there"));
  EXPECT_EQ(amiss(foundBy(process.kubelet.of("uid-1", "main")), pod.portions[0]), "");
  process.api.setPod(admittedFor(pod, 800, "enough"));
  EXPECT_TRUE(told("enough").done);
  // As a scheduler of the next release writes it.
  process.api.setPod(admittedFor(pod, 900, "next", kube::kResizeStateKey));
  EXPECT_TRUE(told("next").done);
}

// Regression: a pod that was made anew under its old name (as a StatefulSet's are) was given what
// the scheduler had assigned to the other one of that name.
TEST(DevicePluginController, SameNameOtherPod_IsRefused) {
  PluginProcess process;
  ASSERT_TRUE(process.ready());
  Rng rng(1);
  const AssignedPod before = podOf("uid-1", {kMain}, process.cards()[0]);
  const AssignedPod now = podOf("uid-2", {kMain}, process.cards()[1]);
  process.api.setPod(before.object());
  ASSERT_TRUE(process.kubelet.admit(before.ask, true, &rng));
  process.api.removePod("uid-1");
  process.api.setPod(now.object());
  const grpc::Status refused = process.kubelet.prepare("uid-1", "main");
  EXPECT_THAT(
      refused.error_message(),
      HasSubstr("the kubelet allocated these devices to another pod team/trainer than uid-2"));
  EXPECT_TRUE(process.sandbox.tenantCount(0));
  process.kubelet.end("uid-1");
  ASSERT_TRUE(process.kubelet.admit(now.ask, true, &rng));
  ASSERT_TRUE(process.kubelet.prepare("uid-2", "main").ok());
  EXPECT_EQ(amiss(foundBy(process.kubelet.of("uid-2", "main")), now.portions[0]), "");
}

// Regression: an agent that was asked to end waited for a pod's status first, and was killed.
TEST(DevicePluginController, AgentEnds_WaitingContainerIsTold) {
  PluginProcess process;
  ASSERT_TRUE(process.ready());
  Rng rng(1);
  AssignedPod pod = podOf("uid-1", {kInit, kMain}, process.cards()[0]);
  pod.portions[1] = {{process.cards()[1]}, 2000, 10};
  process.api.setPod(pod.object());
  ASSERT_TRUE(process.kubelet.admit(pod.ask, true, &rng));
  ASSERT_TRUE(process.kubelet.prepare("uid-1", "init").ok());
  // The kubelet is ahead of what it has told: by the status the first one has not begun yet.
  auto waiting =
      std::async(std::launch::async, [&] { return process.kubelet.prepare("uid-1", "main"); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  process.endAgent();
  EXPECT_THAT(waiting.get().error_message(), HasSubstr("this agent stops"));
  EXPECT_EQ(amiss(foundBy(process.kubelet.of("uid-1", "init")), pod.portions[0]), "")
      << "the first one still has what is its own";
  process.beginAgent();
  EXPECT_TRUE(process.kubelet.offered(4 * kUnits));
  EXPECT_TRUE(process.sandbox.tenantCount(1)) << "and the next agent knows it";
}

// Regression: units of running pods were unwell as soon as somebody else had something of their
// card; a kubelet that begins anew turns pods away whose units are.
TEST(DevicePluginController, OtherPluginHasDevice_OwnIdsHealthy) {
  PluginProcess process;
  ASSERT_TRUE(process.ready());
  Rng rng(1);
  AssignedPod pod = podOf("uid-1", {kMain}, process.cards()[0]);
  process.api.setPod(pod.object());
  ASSERT_TRUE(process.kubelet.admit(pod.ask, true, &rng));
  const std::vector<std::string> units = process.kubelet.of("uid-1", "main").ids;
  ASSERT_THAT(units, ElementsAre(HasSubstr(process.cards()[0])));
  ASSERT_TRUE(process.kubelet.prepare("uid-1", "main").ok());
  pod.phases = {Phase::kRunning};
  process.api.setPod(pod.object());
  PodAsk other{"team", "old", "uid-2", {kMain}};
  process.kubelet.gaveBefore(other, {process.cards()[0]});
  EXPECT_TRUE(process.kubelet.offered(3 * kUnits + 1)) << "of that card the one that runs";
  process.kubelet.end("uid-2");
  EXPECT_TRUE(process.kubelet.offered(4 * kUnits)) << "its pod is over";
}

}  // namespace
}  // namespace divvy::test
