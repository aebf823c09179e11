// What single vendors' agents write, and what of it is wrong. Texts are written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/instances.h"
#include "kube/registration.h"

namespace divvy::kube {
namespace {

using testing::HasSubstr;

TEST(MetaxRegistration, Devices_Read) {
  const auto devices = decodeRegistrationMetax(
      R"([{"uuid":"GPU-a","bdf":"0000:01:00.0","model":"MXC500","totalDevCount":16,)"
      R"("totalCompute":100,"totalVRam":65536,"availableVRam":1,"numa":1,"healthy":true},)"
      R"({"uuid":"GPU-b","totalDevCount":16,"totalCompute":100,"totalVRam":65536}])");
  ASSERT_TRUE(devices) << devices.error().message();
  ASSERT_EQ(devices->size(), 2u);
  const RegisteredDevice& first = devices->front();
  EXPECT_EQ(first.id, "GPU-a");
  EXPECT_EQ(first.type, "MXC500");
  EXPECT_EQ(first.count, 16u);
  EXPECT_EQ(first.mebibytes, 65536u);
  EXPECT_EQ(first.numa, 1u);
  EXPECT_TRUE(first.healthy);
  // What is false is left out.
  EXPECT_FALSE(devices->back().healthy);
  EXPECT_EQ(devices->back().index, 1u);
}

TEST(DrsRegistration, DevicesAndProfiles_Read) {
  const auto devices = decodeRegistrationDrs(
      R"({"devices":[{"index":"0","minor":"4","capacity":6},{"index":"3","capacity":"6"}],)"
      R"("profiles":{"6g.40gb":"2","1g.6gb":"0","3g.20gb":"1"}})");
  ASSERT_TRUE(devices) << devices.error().message();
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ(devices->front().minor, "4");
  EXPECT_EQ(devices->back().index, 3u);
  EXPECT_EQ(devices->back().minor, "3");
  EXPECT_EQ(devices->back().count, 6u);
  EXPECT_EQ(devices->back().mebibytes, 40960u);
  ASSERT_EQ(devices->back().profiles.size(), 3u);
  const RegisteredProfile& one = devices->back().profiles[1];
  EXPECT_EQ(one.name, "3g.20gb");
  EXPECT_EQ(one.id, "1");
  EXPECT_EQ(one.slices, 3u);
  EXPECT_EQ(one.mebibytes, 20480u);
  EXPECT_EQ(one.cores, 50u);
}

TEST(AssignedInstances, EncodedAndCompletedByAgent_Read) {
  const std::vector<AssignedInstance> instances{{0, 0, "GPU-a", "2g.10gb", 2, 2},
                                                {1, 0, "GPU-a", "1g.5gb", 0, 1}};
  const auto read = decodeInstances(encode(instances));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, instances);
  // As an agent completes it.
  const auto completed = decodeInstances(
      R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-a","profile":"2g.10gb",)"
      R"("placement":{"start":2,"size":2},"migUUID":"MIG-1","gpuInstanceID":4}])");
  ASSERT_TRUE(completed) << completed.error().message();
  EXPECT_EQ(completed->front(), instances.front());
}

TEST(VendorRegistration, MalformedText_ErrorNamesPart) {
  const auto said = [](const auto& read) { return read ? std::string() : read.error().message(); };
  EXPECT_THAT(said(decodeRegistrationMetax("[{")), HasSubstr("not JSON"));
  EXPECT_THAT(said(decodeRegistrationMetax("[{}]")), HasSubstr("devices[0].uuid"));
  EXPECT_THAT(said(decodeRegistrationMetax(R"([{"uuid":"a","totalVRam":-1}])")),
              HasSubstr("totalVRam"));
  EXPECT_THAT(said(decodeRegistrationDrs("[]")), HasSubstr("not an object"));
  EXPECT_THAT(said(decodeRegistrationDrs(R"({"devices":[]})")), HasSubstr(".profiles"));
  for (const char* profile : {"3g", "g.20gb", "3g.gb", "0g.20gb", "3g.20GB", "3g.20gbx", "xg.20gb"})
    EXPECT_THAT(
        said(decodeRegistrationDrs(R"({"profiles":{")" + std::string(profile) + R"(":"1"}})")),
        HasSubstr(profile));
  EXPECT_THAT(
      said(decodeRegistrationDrs(R"({"devices":[{"capacity":"many"}],"profiles":{"1g.6gb":"0"}})")),
      HasSubstr("capacity"));
  EXPECT_THAT(said(decodeInstances("{}")), HasSubstr("not a list"));
  EXPECT_THAT(said(decodeInstances("[{}]")), HasSubstr("placement"));
  EXPECT_THAT(said(decodeInstances(R"([{"placement":{"start":15,"size":2}}])")), HasSubstr("size"));
  EXPECT_THAT(
      said(decodeInstances(R"([{"placement":{"size":1}},{"gpuUUID":"b","placement":{"size":1}}])")),
      HasSubstr("another one"));
}

}  // namespace
}  // namespace divvy::kube
