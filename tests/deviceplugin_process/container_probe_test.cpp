// That whoever looks into a container sees what is wrong there.
#include "container_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin_process.h"

namespace divvy::test {
namespace {

using ledger::RegisterStatus;
using testing::HasSubstr;

class InsideTest : public testing::Test {
 protected:
  // Alike but for card and limit, and begun.
  void comes(AssignedPod* pod, const std::string& name, std::size_t card, std::uint64_t mebibytes) {
    pod->ask = {"team", name, "uid-" + name, {{"main", false, 1}}};
    pod->portions = {{{desk_.cards()[card]}, mebibytes, 10}};
    pod->phases = {Phase::kWaiting};
    pod->ends = {0};
    desk_.api.setPod(pod->object());
    ASSERT_TRUE(desk_.kubelet.admit(pod->ask, true, &rng_));
    ASSERT_TRUE(desk_.kubelet.prepare(pod->ask.uid, "main").ok());
  }
  Allocated of(const AssignedPod& pod) const { return desk_.kubelet.of(pod.ask.uid, "main"); }

  PluginProcess desk_;
  Rng rng_{1};
  AssignedPod one_, other_;
};

TEST_F(InsideTest, OtherContainersAnswer_ForeignShareIsFound) {
  ASSERT_TRUE(desk_.ready());
  ContainerProbe inside;
  if (!inside.mounts()) GTEST_SKIP() << "control groups and mounts are root's";
  comes(&one_, "one", 0, 1000);
  comes(&other_, "other", 1, 2000);
  EXPECT_EQ(inside.enroll("uid-one", of(one_)), RegisterStatus::kBadSlot);
  EXPECT_EQ(inside.enroll("uid-one", of(other_)), RegisterStatus::kUnknownTenant);
  EXPECT_EQ(amiss(inside.look("uid-one", of(one_)), one_.portions[0]), "");
  EXPECT_THAT(amiss(inside.look("uid-one", of(other_)), one_.portions[0]),
              HasSubstr(desk_.cards()[1] + " " + std::to_string(2000ull << 20)));
}

TEST_F(InsideTest, SpoiledAnswer_DefectIsNamed) {
  ASSERT_TRUE(desk_.ready());
  comes(&one_, "one", 0, 1000);
  comes(&other_, "other", 1, 2000);
  EXPECT_EQ(unfit(of(one_)), "");
  Allocated mixed = of(one_);
  for (v1beta1::Mount& mount : *mixed.response.mutable_mounts())
    if (mount.container_path() == "/run/divvy/tenant/report")
      mount.set_host_path(of(other_).mounted(mount.container_path()));
  EXPECT_THAT(unfit(mixed), HasSubstr("/run/divvy/tenant/report is another's"));
  Allocated open = of(one_);
  for (v1beta1::Mount& mount : *open.response.mutable_mounts()) mount.set_read_only(false);
  EXPECT_THAT(unfit(open), HasSubstr("/run/divvy/tenant/control is not to be there so"));
  Allocated fewer = of(one_);
  fewer.response.mutable_mounts()->RemoveLast();
  EXPECT_THAT(unfit(fewer), HasSubstr("10 mounts"));
  Allocated missing = of(one_);
  missing.response.mutable_mounts(0)->set_host_path("/nowhere/control");
  EXPECT_THAT(unfit(missing), HasSubstr("there is no /nowhere/control"));
  Allocated told = of(one_);
  (*told.response.mutable_envs())["NVIDIA_VISIBLE_DEVICES"] = "all";
  EXPECT_THAT(unfit(told), HasSubstr("other variables"));
}

}  // namespace
}  // namespace divvy::test
