#include "pod_share.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

class PodShareTest : public ::testing::Test {
 protected:
  PodShareTest() {
    pod_.meta.name = "trainer";
    pod_.meta.space = "team-a";
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
    }
  }

  Result<PodShare> share() const { return podShare(pod_, held_, "worker-1", devices_); }

  kube::Pod pod_;
  kubelet::HeldDevices held_{"team-a", "trainer", "main", "nvidia.com/gpu", {"GPU-a::4"}};
  std::vector<Device> devices_;
};

// Which card it is the scheduler says, and not the units that the kubelet has picked.
TEST_F(PodShareTest, IsWhatTheSchedulerWrote) {
  const Result<PodShare> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->container, (PodContainer{"0f-1", "team-a", "trainer", "main"}));
  ASSERT_EQ(found->decision.shares.size(), 1u);
  EXPECT_EQ(found->decision.shares[0].index, 1u);
  EXPECT_EQ(found->decision.shares[0].limit, mib(3000));
  EXPECT_EQ(found->decision.shares[0].cores, 30u);
}

TEST_F(PodShareTest, AllWholeMebibytesAreAllOfTheCard) {
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,16384,100:;;";
  const Result<PodShare> found = share();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->decision.shares[0].limit, gib(16) + Bytes{100});
}

// Regression: both were all of the card, which the scheduler had counted as nothing, or as a part.
TEST_F(PodShareTest, NoAmountAndMoreThanThereIsAreNoShare) {
  for (const char* amount : {"0", "16385"}) {
    pod_.meta.annotations[kAllocated] = std::string(";GPU-b,NVIDIA,") + amount + ",100:;;";
    EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  }
}

TEST_F(PodShareTest, NoCardIsGivenTwice) {
  held_.ids.emplace_back("GPU-a::5");
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;;";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  pod_.meta.annotations[kAllocated] = ";GPU-b,NVIDIA,3000,30:GPU-a,NVIDIA,3000,30:;;";
  EXPECT_TRUE(share());
}

// Regression: an init container ran with the share of the container behind it, whose units it has.
TEST_F(PodShareTest, NobodyIsTakenForAnInitContainer) {
  pod_.init[0].limits["nvidia.com/gpu"] = "1";
  EXPECT_EQ(share().error().code(), ErrorCode::kUnavailable);
  pod_.init[0].sidecar = true;
  EXPECT_TRUE(share());
}

TEST_F(PodShareTest, ThereIsNoneWithoutTheSchedulersWord) {
  pod_.meta.annotations.clear();
  const Result<PodShare> found = share();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUnavailable);
}

TEST_F(PodShareTest, ThereIsNoneOnAnotherNodeOrWhenThePodIsOver) {
  pod_.node = "worker-2";
  EXPECT_FALSE(share());
  pod_.node = "worker-1";
  pod_.phase = kube::PodPhase::kFailed;
  EXPECT_FALSE(share());
}

TEST_F(PodShareTest, KubeletAndSchedulerHaveToAgreeOnHowMany) {
  held_.ids.emplace_back("GPU-a::5");
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
  held_.ids.resize(1);
  held_.container = "log";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
}

TEST_F(PodShareTest, ACardThatIsNotHereIsNamed) {
  pod_.meta.annotations[kAllocated] = ";GPU-c,NVIDIA,3000,30:;;";
  const Result<PodShare> found = share();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(found.error().message().find("GPU-c"), std::string::npos);
}

TEST_F(PodShareTest, RubbishIsNoShare) {
  pod_.meta.annotations[kAllocated] = "GPU-b";
  EXPECT_EQ(share().error().code(), ErrorCode::kCorrupt);
}

TEST_F(PodShareTest, CardsAreRegisteredInTheSchedulersWords) {
  const std::vector<kube::RegisteredDevice> registered = registrationOf(devices_, 7);
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
