// What a node says to schedulers in their words, and what it makes of theirs.
#include "node_object/scheduler_dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/volcano.h"

namespace divvy::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

std::vector<kube::RegisteredDevice> devices(bool healthy = true) {
  kube::RegisteredDevice device;
  device.id = "GPU-a";
  device.count = 10;
  device.mebibytes = 1000;
  device.cores = 100;
  device.type = "NVIDIA X";
  device.healthy = healthy;
  kube::RegisteredDevice other = device;
  other.id = "GPU-b";
  other.healthy = true;
  return {device, other};
}

TEST(Dialect, Hami_VolcanoKeysAbsent) {
  const auto said = registrationIn(Dialect::kHami, devices(), "[]", {});
  EXPECT_EQ(said.size(), 2u);
  EXPECT_EQ(said.at("hami.io/node-nvidia-score"), "[]");
  EXPECT_TRUE(said.contains(registrationKey(Dialect::kHami)));
}

// A device that two schedulers place on is promised twice.
TEST(Dialect, Volcano_HamiKeysCleared) {
  const auto said = registrationIn(Dialect::kVolcano, devices(), "[]", {});
  EXPECT_EQ(said.at(registrationKey(Dialect::kHami)), "");
  EXPECT_EQ(said.at("hami.io/node-nvidia-score"), "");
  EXPECT_EQ(said.at(kube::kVolcanoLock), "");
  EXPECT_THAT(said.at(registrationKey(Dialect::kVolcano)), HasSubstr("GPU-a,10,1000,NVIDIA X"));
  // Its scheduler answers anything but a question by writing into the node.
  EXPECT_THAT(said.at(kube::kVolcanoHandshake), HasSubstr("Requesting_"));
}

TEST(Dialect, VolcanoWithoutDevices_KeysCleared) {
  const auto said = registrationIn(Dialect::kVolcano, {}, "", {"u"});
  for (const auto& [key, value] : said) EXPECT_EQ(value, "") << key;
}

TEST(Dialect, DialectChange_OnlyOwnKeysLeftBehind) {
  const auto said = registrationIn(Dialect::kVolcano, devices(), "[]", {});
  EXPECT_THAT(leftBehind(Dialect::kHami, said),
              ElementsAre(kube::kVolcanoHandshake, kube::kVolcanoRegister));
  EXPECT_THAT(leftBehind(Dialect::kVolcano, said), IsEmpty());
  EXPECT_THAT(leftBehind(Dialect::kHami, {{kube::kVolcanoHandshake, "Reported_2026.11.26 01:00:00"},
                                          {kube::kVolcanoRegister, "GPU-a,1,1,NVIDIA,true:"}}),
              IsEmpty());
}

// Regression: Volcano took a card for full on which it had placed one pod, and did not see pods go,
// for the five minutes in which nothing was written into the node.
TEST(Dialect, VolcanoTenants_HandshakeChanges) {
  const auto said = [](const std::set<std::string>& lodgers) {
    return registrationIn(Dialect::kVolcano, devices(), "", lodgers).at(kube::kVolcanoHandshake);
  };
  const std::set<std::string> several{said({}), said({"a"}), said({"b"}), said({"a", "b"})};
  EXPECT_EQ(several.size(), 4u);
  EXPECT_EQ(said({"a", "b"}), said({"b", "a"}));
  // As its time layout (2006.01.02 15:04:05) takes it: a fraction of nine digits at most.
  for (const std::string& one : several)
    EXPECT_THAT(one, MatchesRegex("Requesting_2999.12.31 23:59:59(\\.[0-9]{9})?"));
  EXPECT_THAT(leftBehind(Dialect::kHami, {{kube::kVolcanoHandshake, said({"a"})}}),
              ElementsAre(kube::kVolcanoHandshake, kube::kVolcanoRegister));
}

TEST(Dialect, NodeLock_OnlyVolcanoTakesTurns) {
  const std::map<std::string, std::string> locked{{kube::kVolcanoLock, "2026-11-26T01:00:00Z"}};
  EXPECT_TRUE(takesTurns(Dialect::kVolcano, locked));
  EXPECT_FALSE(takesTurns(Dialect::kHami, locked));
  EXPECT_FALSE(takesTurns(Dialect::kVolcano, {{kube::kVolcanoHandshake, "x"}}));
}

TEST(Dialect, VolcanoPod_AssignmentIsTranslated) {
  kube::Pod pod;
  pod.meta.namespace_name = "team";
  pod.meta.name = "p";
  pod.containers.resize(1);
  pod.containers[0].limits[kube::kVolcanoCount] = "1";

  const Result<void> none = understand(Dialect::kVolcano, devices(), &pod);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(none.error().message(), HasSubstr("team/p has no volcano.sh/vgpu-ids-new"));

  // Placed by ours, before the node changed its dialect.
  pod.meta.annotations[kAllocated] = "GPU-b,NVIDIA,5,0:;";
  ASSERT_TRUE(understand(Dialect::kVolcano, devices(), &pod));
  EXPECT_EQ(pod.meta.annotations.at(kAllocated), "GPU-b,NVIDIA,5,0:;");

  pod.meta.annotations[kube::kVolcanoAssigned] = "GPU-a,NVIDIA,300,20:";
  ASSERT_TRUE(understand(Dialect::kVolcano, devices(), &pod));
  EXPECT_EQ(pod.meta.annotations.at(kAllocated), "GPU-a,NVIDIA,300,20:;");

  pod.meta.annotations[kube::kVolcanoAssigned] = "GPU-a";
  const Result<void> wrong = understand(Dialect::kVolcano, devices(), &pod);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::kCorrupt);
  EXPECT_THAT(wrong.error().message(), HasSubstr("pod team/p: volcano.sh/vgpu-ids-new"));
}

TEST(Dialect, HamiDialect_VolcanoAnnotationIgnored) {
  kube::Pod pod;
  pod.meta.annotations[kube::kVolcanoAssigned] = "GPU-a,NVIDIA,300,20:";
  ASSERT_TRUE(understand(Dialect::kHami, devices(), &pod));
  EXPECT_THAT(pod.meta.annotations, Not(testing::Contains(Pair(kAllocated, testing::_))));
}

TEST(Dialect, Announced_VolcanoCountsHealthyOnly) {
  ClusterNode cluster;
  EXPECT_THAT(announcedOf(cluster, devices()), IsEmpty());
  cluster.memory_resources = {"nvidia.com/gpumem", "divvy.dev/gpumem"};
  cluster.cores_resources = {"nvidia.com/gpucores"};
  const auto all = ElementsAre(Pair("divvy.dev/gpumem", 2000), Pair("nvidia.com/gpucores", 200),
                               Pair("nvidia.com/gpumem", 2000));
  EXPECT_THAT(announcedOf(cluster, devices()), all);
  EXPECT_THAT(announcedOf(cluster, devices(false)), all);
  cluster.dialect = Dialect::kVolcano;
  EXPECT_THAT(announcedOf(cluster, devices(false)),
              ElementsAre(Pair("divvy.dev/gpumem", 1000), Pair("nvidia.com/gpucores", 100),
                          Pair("nvidia.com/gpumem", 1000)));
}

}  // namespace
}  // namespace divvy::agent
