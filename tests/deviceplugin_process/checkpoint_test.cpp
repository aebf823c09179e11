// The kubelet's checkpoint as a full disk or a lost machine leaves it: who is known without it
// starts, the others are told why they do not, and start when it is whole again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "log/log.h"
#include "plugin_process.h"

namespace divvy::test {
namespace {

using testing::HasSubstr;

struct Damage {
  const char* name;
  bool harmless;
  FakeDeviceManager::Spoil spoil;
};

FakeDeviceManager::Spoil with(const std::function<std::string(const std::string&)>& made) {
  return [made](const std::string& path, const std::string& whole) {
    std::ofstream(path, std::ios::binary) << made(whole);
  };
}

FakeDeviceManager::Spoil wrongSum() {
  return with([](const std::string& whole) {
    const std::size_t at = whole.find(R"("Checksum":)");
    return whole.substr(0, at) + R"("Checksum":123456789})";
  });
}

// The last ones are the controls: nothing is wrong with them that keeps anybody from starting.
std::vector<Damage> damages() {
  using Text = std::string;
  return {
      {"half", false, with([](const Text& whole) { return whole.substr(0, whole.size() / 2); })},
      {"all but the last byte", false,
       with([](const Text& whole) { return whole.substr(0, whole.size() - 1); })},
      {"nothing", false, with([](const Text&) { return Text(); })},
      {"zeros", false, with([](const Text& whole) { return Text(whole.size(), '\0'); })},
      {"garbage", false, with([](const Text&) { return Text("\x8f\x01{]\"GPU-"); })},
      {"another form", false, with([](const Text&) { return Text(R"({"Data":{"v":2}})"); })},
      {"an entry of nobody's", false, with([](const Text&) {
         return Text(R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1"}]},"Checksum":1})");
       })},
      {"a pipe", false,
       [](const Text& path, const Text&) { EXPECT_EQ(mkfifo(path.c_str(), 0600), 0); }},
      {"a folder", false,
       [](const Text& path, const Text&) { std::filesystem::create_directory(path); }},
      {"as it should be", true, with([](const Text& whole) { return whole; })},
      // What a kubelet sums may change: that is said, and what can be read is believed.
      {"a wrong checksum", true, wrongSum()},
      {"with what a later kubelet says, too", true, with([](const Text& whole) {
         return whole.substr(0, whole.size() - 1) + R"(,"BootID":"b"})";
       })},
  };
}

AssignedPod podOf(const std::string& uid, const std::vector<ContainerAsk>& containers,
                  const std::vector<std::string>& cards) {
  AssignedPod pod;
  pod.ask = {"team", uid, uid, containers};
  for (const ContainerAsk& one : containers)
    pod.portions.push_back({{cards.begin(), cards.begin() + one.devices}, 1000, 10});
  pod.phases.assign(containers.size(), Phase::kWaiting);
  pod.ends.assign(containers.size(), 0);
  return pod;
}

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(desk_.ready()); }

  void comes(const AssignedPod& pod) {
    desk_.api.setPod(pod.object());
    ASSERT_TRUE(desk_.kubelet.admit(pod.ask, true, &rng_));
  }

  void goes(const AssignedPod& pod) {
    desk_.api.removePod(pod.ask.uid);
    desk_.kubelet.end(pod.ask.uid);
  }

  void starts(const AssignedPod& pod, std::size_t at) {
    const std::string& uid = pod.ask.uid;
    const std::string& name = pod.ask.containers[at].name;
    const grpc::Status status = desk_.kubelet.prepare(uid, name);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(amiss(foundBy(desk_.kubelet.of(uid, name)), pod.portions[at]), "");
  }

  void waits(const AssignedPod& pod) {
    const grpc::Status refused =
        desk_.kubelet.prepare(pod.ask.uid, pod.ask.containers.front().name);
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(refused.error_message(), HasSubstr("the kubelet's checkpoint"));
    EXPECT_TRUE(
        desk_.says(log::line("cannot start a container", {{"error", refused.error_message()}})));
  }

  PluginProcess desk_;
  Rng rng_{1};
};

TEST_F(Checkpoint, DamagedFile_OnlyDependentPodsWait) {
  const std::vector<std::string>& cards = desk_.cards();
  unsigned number = 0;
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.name);
    const std::string uid = std::to_string(++number);
    const AssignedPod plain = podOf("plain-" + uid, {{"main", false, 1}}, {cards[0]});
    // Its first container has the units of the one behind it, which pod resources tell of; or
    // others.
    const AssignedPod alike =
        podOf("alike-" + uid, {{"init", true, 1}, {"main", false, 1}}, {cards[1]});
    const AssignedPod more =
        podOf("more-" + uid, {{"init", true, 2}, {"main", false, 1}}, {cards[2], cards[3]});
    desk_.kubelet.spoilCheckpoint(damage.spoil);
    for (const AssignedPod& pod : {plain, alike, more}) comes(pod);
    starts(plain, 0);
    for (const AssignedPod& pod : {alike, more}) {
      if (damage.harmless) {
        starts(pod, 0);
      } else {
        waits(pod);
      }
    }
    EXPECT_TRUE(desk_.sandbox.tenantCount(damage.harmless ? 3 : 1));
    desk_.kubelet.spoilCheckpoint(nullptr);
    if (!damage.harmless)
      for (const AssignedPod& pod : {alike, more}) starts(pod, 0);
    for (const AssignedPod& pod : {plain, alike, more}) goes(pod);
    EXPECT_TRUE(desk_.sandbox.tenantCount(0));
  }
}

TEST_F(Checkpoint, DamagedAndRepaired_LoggedOnceEach) {
  const auto said = [&](const std::string& words) {
    const std::string log = desk_.sandbox.agentLog();
    unsigned count = 0;
    for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1))
      ++count;
    return count;
  };
  constexpr const char* kDamaged = "devices are known for running containers only";
  constexpr const char* kWhole = "checkpoint is readable again";
  constexpr const char* kDoubted = "may be damaged; it is used unless pod resources";
  constexpr const char* kBelieved = "the kubelet's checkpoint is valid again";
  std::vector<AssignedPod> pods;
  const auto another = [&] {
    pods.push_back(
        podOf("uid-" + std::to_string(pods.size()), {{"main", false, 1}}, {desk_.cards()[0]}));
    comes(pods.back());
    starts(pods.back(), 0);
  };
  another();
  EXPECT_EQ(said(kDamaged), 0u) << "control: it is as it should be";
  desk_.kubelet.spoilCheckpoint(damages().front().spoil);
  another();
  another();
  EXPECT_EQ(said(kDamaged), 1u) << desk_.sandbox.agentLog();
  EXPECT_EQ(said(kWhole), 0u);
  desk_.kubelet.spoilCheckpoint(nullptr);
  another();
  another();
  EXPECT_EQ(said(kDamaged), 1u);
  EXPECT_EQ(said(kWhole), 1u);
  EXPECT_EQ(said(kDoubted), 0u) << "control: nothing is wrong with its checksum";
  desk_.kubelet.spoilCheckpoint(wrongSum());
  another();
  another();
  EXPECT_EQ(said(kDoubted), 1u) << desk_.sandbox.agentLog();
  desk_.kubelet.spoilCheckpoint(nullptr);
  another();
  another();
  EXPECT_EQ(said(kDoubted), 1u);
  EXPECT_EQ(said(kBelieved), 1u);
}

// Those that it knows it knows by what it wrote itself.
TEST_F(Checkpoint, AgentRestartsWithDamage_TenantsKnown) {
  AssignedPod pod = podOf("uid-1", {{"main", false, 1}}, {desk_.cards()[0]});
  comes(pod);
  starts(pod, 0);
  pod.phases = {Phase::kRunning};
  desk_.api.setPod(pod.object());
  desk_.kubelet.spoilCheckpoint(damages().front().spoil);
  desk_.replaceAgent();
  EXPECT_TRUE(desk_.sandbox.tenantCount(1));
  const AssignedPod next = podOf("uid-2", {{"main", false, 1}}, {desk_.cards()[1]});
  comes(next);
  starts(next, 0);
}

}  // namespace
}  // namespace divvy::test
