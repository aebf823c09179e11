#include "pods/pod_allocation.h"

#include <gtest/gtest.h>

#include "kube/assignment_text.h"
#include "pods/pod_annotations.h"
#include "share_options/share_options.h"

namespace divvy::agent {
namespace {

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

class PodShareTest : public ::testing::Test {
 protected:
  PodShareTest() {
    pod_.meta.name = "trainer";
    pod_.meta.namespace_name = "team-a";
    pod_.meta.uid = "0f-1";
    pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,3000,30:;;";
    pod_.node = "worker-1";
    pod_.phase = kube::PodPhase::kPending;
    pod_.init.resize(1);
    pod_.init[0].name = "prepare";
    pod_.containers.resize(2);
    pod_.containers[0].name = "main";
    pod_.containers[1].name = "log";
    for (unsigned index = 0; index < 2; ++index) {
      Device device;
      device.info.index = index;
      device.info.uuid = index == 0 ? "GPU-a" : "GPU-b";
      device.info.model = index == 0 ? "NVIDIA H100" : "Tesla T4";
      device.info.physical = gib(16) + Bytes{100};
      devices_.push_back(device);
      Card card;
      card.index = index;
      card.uuid = device.info.uuid;
      card.physical = device.info.physical;
      cards_.push_back(card);
    }
  }

  Result<PodAllocation> share() const {
    return podShare(pod_, held_, "worker-1", devices_, cards_);
  }

  kube::Pod pod_;
  kubelet::PodDevices held_{"team-a", "trainer", "main", "nvidia.com/gpu", {"GPU-a::4"}};
  std::vector<Device> devices_;
  std::vector<Card> cards_;
};

// A user may annotate a bound pod while its image is pulled: 8 GiB guaranteed of 3000 MiB, a
// context outside of the share, before all others.
TEST_F(PodShareTest, AnnotatedAfterBinding_DecidedOptionsApply) {
  auto& said = pod_.meta.annotations;
  said[kube::kDecidedKey] = kube::encodeDecided({{"main.use.divvy.dev/guaranteed", "1Gi"}});
  said["main.use.divvy.dev/guaranteed"] = "8Gi";
  said["use.divvy.dev/context-overhead"] = "outside";
  said["use.divvy.dev/priority"] = "high";
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->request.ask.guaranteed->bytes, gib(1));
  EXPECT_TRUE(found->request.ask.context_inside);
  EXPECT_EQ(found->request.priority, Priority::kNormal);
}

TEST_F(PodShareTest, NoDecidedOptions_AnnotationsApply) {
  pod_.meta.annotations["use.divvy.dev/priority"] = "high";
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->request.priority, Priority::kHigh);
}

TEST_F(PodShareTest, InvalidDecidedOptions_AreRefused) {
  for (const char* bad : {"", "{", "[]", R"({"use.divvy.dev/priority": 1})"}) {
    pod_.meta.annotations[kube::kDecidedKey] = bad;
    EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt) << bad;
  }
}

// Which card it is the scheduler says, and not the units that the kubelet has picked.
TEST_F(PodShareTest, SchedulerAssignment_OverridesKubeletIds) {
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->container, (PodContainer{"0f-1", "team-a", "trainer", "main"}));
  ASSERT_EQ(found->decision.shares.size(), 1u);
  EXPECT_EQ(found->decision.shares[0].index, 1u);
  EXPECT_EQ(found->decision.shares[0].limit, mib(3000));
  EXPECT_EQ(found->decision.shares[0].cores, 30u);
}

TEST_F(PodShareTest, AllMebibytes_LimitIsFullDevice) {
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,16384,100:;;";
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->decision.shares[0].limit, gib(16) + Bytes{100});
}

// Regression: both were all of the card, which the scheduler had counted as nothing, or as a part.
TEST_F(PodShareTest, ZeroOrTooMuchMemory_IsCorrupt) {
  for (const char* amount : {"0", "16385"}) {
    pod_.meta.annotations[kAllocated] = std::string(";GPU-b,NVIDIA,") + amount + ",100:;;";
    EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  }
}

TEST_F(PodShareTest, SameDeviceTwice_IsCorrupt) {
  held_.ids.emplace_back("GPU-a::5");
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;;";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,3000,30:GPU-a,NVIDIA,3000,30:;;";
  EXPECT_TRUE(share());
}

TEST_F(PodShareTest, InitContainer_OwnAssignmentIsUsed) {
  pod_.init[0].limits["nvidia.com/gpu"] = "1";
  pod_.meta.annotations[kAllocated] = "GPU-a,NVIDIA,1000,10:;GPU-b,NVIDIA,3000,30:;;";
  held_.container = "prepare";
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->container.container, "prepare");
  EXPECT_EQ(found->decision.shares[0].index, 0u);
  EXPECT_EQ(found->decision.shares[0].limit, mib(1000));
}

TEST_F(PodShareTest, NoAssignment_IsUnavailable) {
  pod_.meta.annotations.clear();
  const Result<PodAllocation> found = share();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUnavailable);
}

TEST_F(PodShareTest, OtherNodeOrEndedPod_IsRefused) {
  pod_.node = "worker-2";
  EXPECT_FALSE(share());
  pod_.node = "worker-1";
  pod_.phase = kube::PodPhase::kFailed;
  EXPECT_FALSE(share());
}

TEST_F(PodShareTest, CountMismatch_IsCorrupt) {
  held_.ids.emplace_back("GPU-a::5");
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  held_.ids.resize(1);
  held_.container = "log";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
}

TEST_F(PodShareTest, UnknownDevice_ErrorNamesIt) {
  pod_.meta.annotations[kAllocated] = ";GPU-c,NVIDIA,3000,30:;;";
  const Result<PodAllocation> found = share();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(found.error().message().find("GPU-c"), std::string::npos);
}

TEST_F(PodShareTest, InvalidAssignment_IsCorrupt) {
  pod_.meta.annotations[kAllocated] = "GPU-b";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
}

TEST_F(PodShareTest, ContainerAnnotation_OverridesPodAnnotation) {
  pod_.meta.annotations["use.divvy.dev/priority"] = "low";
  pod_.meta.annotations["main.use.divvy.dev/priority"] = "high";
  pod_.meta.annotations["log.use.divvy.dev/cores-policy"] = "cap";
  pod_.meta.annotations["use.divvy.dev/on-pressure"] = "wait";
  pod_.meta.annotations["use.divvy.dev/pressure-wait"] = "5s";
  pod_.meta.annotations["use.divvy.dev/idle-reclaim"] = "off";
  pod_.meta.annotations["use.divvy.dev/idle-stop"] = "2h";
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->request.priority, Priority::kHigh);
  EXPECT_EQ(found->request.ask.cores_policy, CoresPolicy::kShare) << "another container's";
  EXPECT_EQ(found->request.on_pressure, OnPressure::kWait);
  EXPECT_EQ(found->request.pressure_wait_ms, 5000u);
  EXPECT_EQ(found->request.idle.reclaim_ms, 0u);
  EXPECT_EQ(found->request.idle.stop_ms, 2u * 3600 * 1000);
}

// Whoever adds a word that agents read finds out here that agents do not.
TEST_F(PodShareTest, EachAgentOption_InvalidValueNamesKey) {
  std::size_t read = 0;
  for (const share_options::ShareOption& term : share_options::all()) {
    if (term.place != share_options::Place::kAnnotation ||
        term.reader == share_options::Reader::kScheduler)
      continue;
    const std::string key = "use.divvy.dev/" + std::string(term.word);
    pod_.meta.annotations[key] = "neither fish nor fowl";
    const Result<PodAllocation> found = share();
    ASSERT_FALSE(found) << key;
    EXPECT_EQ(found.error().code(), ErrorCode::kUsage) << key;
    EXPECT_NE(found.error().message().find(key), std::string::npos) << found.error().message();
    pod_.meta.annotations.erase(key);
    ++read;
  }
  EXPECT_GE(read, 9u);
}

TEST_F(PodShareTest, EnforceMps_IsUnsupported) {
  pod_.meta.annotations["use.divvy.dev/enforce"] = "mps";
  EXPECT_EQ(share().error().code(), ErrorCode::kUnsupported);
  pod_.meta.annotations["use.divvy.dev/enforce"] = "interposer";
  EXPECT_TRUE(share());
}

TEST_F(PodShareTest, Overcommit_GuaranteeIsAsAsked) {
  pod_.meta.annotations["use.divvy.dev/guaranteed"] = "1Gi";
  EXPECT_EQ(share()->decision.shares[0].guarantee, mib(3000)) << "a card that is promised once";
  cards_[1].overcommit_permille = 1500;
  EXPECT_EQ(share()->decision.shares[0].guarantee, gib(1));
  EXPECT_EQ(share()->decision.shares[0].limit, mib(3000));
  pod_.meta.annotations["use.divvy.dev/guaranteed"] = "0";
  EXPECT_EQ(share()->decision.shares[0].guarantee, Bytes{});
  pod_.meta.annotations.erase("use.divvy.dev/guaranteed");
  EXPECT_EQ(share()->decision.shares[0].guarantee, Bytes{});
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,24577,100:;;";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt) << "more than is promised";
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,24576,100:;;";
  EXPECT_TRUE(share());
}

TEST_F(PodShareTest, Overcommit_RegistersPromisedMemory) {
  std::vector<DeviceTerms> terms(2);
  terms[1].overcommit_permille = 1300;
  const std::vector<kube::RegisteredDevice> registered = registrationOf(devices_, terms, 7);
  EXPECT_EQ(registered[0].mebibytes, 16384u);
  EXPECT_EQ(registered[1].mebibytes, 21299u);
}

TEST_F(PodShareTest, ExcludedDevice_NotRegisteredIndicesKept) {
  devices_[0].excluded = true;
  std::vector<DeviceTerms> terms(2);
  terms[1].overcommit_permille = 2000;
  const std::vector<kube::RegisteredDevice> registered = registrationOf(devices_, terms, 7, {}, 80);
  ASSERT_EQ(registered.size(), 1u);
  EXPECT_EQ(registered[0].id, "GPU-b");
  EXPECT_EQ(registered[0].index, 1u);
  EXPECT_EQ(registered[0].mebibytes, 32768u) << "on the terms of another card";
  EXPECT_EQ(registered[0].cores, 80u);
}

TEST_F(PodShareTest, ExcludedDevice_OnlyPresentPodMayUse) {
  const Result<PodAllocation> found = share();
  ASSERT_TRUE(found);
  EXPECT_TRUE(openTo(found->decision, devices_, {}));
  devices_[1].excluded = true;
  const Result<void> closed = openTo(found->decision, devices_, {"GPU-a"});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(closed.error().message().find("GPU-b is excluded"), std::string::npos);
  EXPECT_TRUE(openTo(found->decision, devices_, {"GPU-b"}));
  // Of no matter to whoever is elsewhere.
  devices_[1].excluded = false;
  devices_[0].excluded = true;
  EXPECT_TRUE(openTo(found->decision, devices_, {}));
}

TEST_F(PodShareTest, Registration_UsesSchedulersTerms) {
  const std::vector<kube::RegisteredDevice> registered =
      registrationOf(devices_, std::vector<DeviceTerms>(2), 7);
  ASSERT_EQ(registered.size(), 2u);
  EXPECT_EQ(registered[0].type, "NVIDIA H100");
  EXPECT_EQ(registered[1].type, "NVIDIA-Tesla T4");
  EXPECT_EQ(registered[1].id, "GPU-b");
  EXPECT_EQ(registered[1].index, 1u);
  EXPECT_EQ(registered[1].count, 7u);
  EXPECT_EQ(registered[1].mebibytes, 16384u);
  EXPECT_TRUE(registered[1].healthy);
  EXPECT_EQ(*kube::decodeRegistration(kube::encode(registered)), registered);
}

}  // namespace
}  // namespace divvy::agent
