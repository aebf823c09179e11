// Volcano's words, as its scheduler writes and reads them. Texts are written by hand, and held to
// the real one by the check kubelet-volcanos-scheduler.
#include "kube/volcano.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::kube {
namespace {

using testing::HasSubstr;

RegisteredDevice deviceOf(const char* id, const char* type, bool healthy) {
  RegisteredDevice device;
  device.id = id;
  device.count = 10;
  device.mebibytes = 81920;
  device.cores = 100;
  device.type = type;
  device.healthy = healthy;
  return device;
}

const std::vector<RegisteredDevice> kOffered{deviceOf("GPU-a", "NVIDIA H100", true),
                                             deviceOf("GPU-b", "NVIDIA H100", true)};

PodContainer asking(const char* name, Quantities limits) {
  PodContainer container;
  container.name = name;
  container.limits = std::move(limits);
  return container;
}

TEST(VolcanoDialect, Registration_HealthyDevicesOnly) {
  EXPECT_EQ(encodeVolcano({deviceOf("GPU-a", "NVIDIA H100", true),
                           deviceOf("GPU-b", "NVIDIA H100", false),
                           deviceOf("GPU-c", "NVIDIA-a,b:c", true)}),
            "GPU-a,10,81920,NVIDIA H100,true,hami-core:"
            "GPU-c,10,81920,NVIDIA-a-b-c,true,hami-core:");
  EXPECT_EQ(encodeVolcano({deviceOf("GPU-b", "NVIDIA H100", false)}), "");
}

// Only containers that ask have a place in its text.
TEST(VolcanoDialect, Assignment_OnlyRequestingContainersHavePlaces) {
  Pod pod;
  pod.init = {asking("setup", {})};
  pod.containers = {asking("proxy", {{"cpu", "1"}}), asking("one", {{kVolcanoCount, "1"}}),
                    asking("log", {}), asking("two", {{kVolcanoMemory, "1000"}})};
  const auto read = volcanoAssignment(pod, "GPU-a,NVIDIA,2000,30:;GPU-b,NVIDIA,1000,0:", kOffered);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(encode(*read), ";;GPU-a,NVIDIA,2000,30:;;GPU-b,NVIDIA,1000,0:;");
}

TEST(VolcanoDialect, TwoDevicesOfOneContainer_BothRead) {
  Pod pod;
  pod.containers = {asking("both", {{kVolcanoCount, "2"}})};
  const auto read = volcanoAssignment(pod, "GPU-b,NVIDIA,10,0:GPU-a,NVIDIA,10,0:", kOffered);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(encode(*read), "GPU-b,NVIDIA,10,0:GPU-a,NVIDIA,10,0:;");
}

// It divides whole numbers, so that 50 percent come to 0 MiB.
TEST(VolcanoDialect, MemoryPercent_OfAssignedDevice) {
  Pod pod;
  pod.containers = {asking("half", {{kVolcanoCount, "1"}, {kVolcanoMemoryPercent, "50"}})};
  const auto read = volcanoAssignment(pod, "GPU-a,NVIDIA,0,0:", kOffered);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(encode(*read), "GPU-a,NVIDIA,40960,0:;");

  pod.containers[0].limits.erase(kVolcanoMemoryPercent);
  pod.containers[0].requests[kVolcanoMemoryPercent] = "25";
  EXPECT_EQ(encode(*volcanoAssignment(pod, "GPU-a,NVIDIA,0,0:", kOffered)),
            "GPU-a,NVIDIA,20480,0:;");

  pod.containers[0].requests[kVolcanoMemoryPercent] = "many";
  const auto wrong = volcanoAssignment(pod, "GPU-a,NVIDIA,0,0:", kOffered);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("\"many\", not 0 to 100"));
}

TEST(VolcanoDialect, MalformedAssignment_ErrorNamesReason) {
  Pod pod;
  pod.containers = {asking("one", {{kVolcanoCount, "1"}})};
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "devices of 0 containers; 1 of the pod ask"},
           {"GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:", "devices of 2 containers; 1 of the pod ask"},
           {"GPU-a,NVIDIA,1,0", "no ':' at the end"},
           {"GPU-a,NVIDIA,1:", "expected UUID,TYPE,MEMORY,CORES"},
           {"GPU-a,NVIDIA,-1,0:", "memory is not a whole number"}}) {
    const auto read = volcanoAssignment(pod, text, kOffered);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message(), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace divvy::kube
