#include "node_object/node_annotations.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/device_list.h"
#include "kube/nics.h"

namespace divvy::agent {
namespace {

constexpr const char* kRegister = "hami.io/node-nvidia-register";

class NodeAnnotations : public testing::Test {
 protected:
  Annotations wanted(const Annotations& published = {}) const {
    return wantedAnnotations(state_,
                             {.resources = resources_,
                              .nics = nics_,
                              .registration = registration_,
                              .left = left_,
                              .announced = {"nvidia.com/gpumem"},
                              .deprecated_names = deprecated_names_},
                             published);
  }

  std::set<std::string> resources_{"nvidia.com/gpu", "divvy.dev/h100"};
  std::string nics_ = "[]";
  Annotations registration_{{kRegister, "devices"}};
  std::set<std::string> left_;
  PublishedState state_;
  bool deprecated_names_ = true;
};

TEST_F(NodeAnnotations, HoldersOrCountUnknown_OldRegistrationStays) {
  EXPECT_EQ(wanted({{kRegister, "old"}}).at(kRegister), "old");
  state_.holders_known = true;
  EXPECT_EQ(wanted({{kRegister, "old"}}).at(kRegister), "old") << "the kubelet counts nothing";
  EXPECT_EQ(wanted().at(kRegister), "");
  state_.counted = {"nvidia.com/gpu"};
  EXPECT_EQ(wanted({{kRegister, "old"}}).at(kRegister), "devices");
  state_.holders_known = false;
  EXPECT_EQ(wanted({{kRegister, "old"}}).at(kRegister), "old") << "its holders are not known";
}

TEST_F(NodeAnnotations, NoResources_RegistersWithoutACount) {
  resources_.clear();
  EXPECT_FALSE(mayRegister(state_, resources_));
  state_.holders_known = true;
  EXPECT_TRUE(mayRegister(state_, resources_));
  EXPECT_EQ(wanted().at(kRegister), "devices");
}

TEST_F(NodeAnnotations, NothingCounted_OldResourcesStayIfStillServed) {
  const Annotations published{{kube::kServedResourcesKey, "divvy.dev/h100,other.com/gpu"}};
  EXPECT_EQ(wanted(published).at(kube::kServedResourcesKey), "divvy.dev/h100");
  state_.counted = {"nvidia.com/gpu"};
  EXPECT_EQ(wanted(published).at(kube::kServedResourcesKey), "nvidia.com/gpu");
}

TEST_F(NodeAnnotations, HoldersUnknown_OldFullDevicesStay) {
  state_.full = {"GPU-b"};
  EXPECT_EQ(wanted({{kube::kFullDevicesKey, "GPU-a"}}).at(kube::kFullDevicesKey), "GPU-a");
  state_.holders_known = true;
  EXPECT_EQ(wanted({{kube::kFullDevicesKey, "GPU-a"}}).at(kube::kFullDevicesKey), "GPU-b");
}

// A scheduler, and an agent after a rollback, of the release before read the old keys only.
TEST_F(NodeAnnotations, RenamedKeys_OldOnesHaveTheSameValues) {
  state_.counted = {"nvidia.com/gpu"};
  state_.holders_known = true;
  state_.full = {"GPU-a"};
  Annotations all = wanted();
  for (const auto& [old_key, key] :
       {std::pair("divvy.dev/served", "divvy.dev/served-resources"),
        std::pair("divvy.dev/full", "divvy.dev/full-devices"),
        std::pair("divvy.dev/announced", "divvy.dev/announced-resources")}) {
    EXPECT_NE(all.at(key), "") << key;
    EXPECT_EQ(all.at(old_key), all.at(key));
  }
  deprecated_names_ = false;
  all = wanted({{"divvy.dev/full", "GPU-a"}});
  EXPECT_EQ(all.at("divvy.dev/full"), "") << "it is removed";
  EXPECT_EQ(all.at("divvy.dev/full-devices"), "GPU-a");
}

TEST_F(NodeAnnotations, AgentOfBefore_ItsValuesStayUntilKnown) {
  EXPECT_EQ(wanted({{"divvy.dev/full", "GPU-a"}}).at(kube::kFullDevicesKey), "GPU-a");
  EXPECT_EQ(wanted({{"divvy.dev/served", "divvy.dev/h100"}}).at(kube::kServedResourcesKey),
            "divvy.dev/h100");
  // After a rollback the agent of before wrote again, and left our key as it was.
  EXPECT_EQ(wanted({{"divvy.dev/full", "GPU-b"}, {"divvy.dev/full-devices", "GPU-a"}})
                .at(kube::kFullDevicesKey),
            "GPU-b");
}

TEST_F(NodeAnnotations, EvictionsNotComputed_OldRequestsStay) {
  EXPECT_EQ(wanted({{kube::kIdleKey, "{old}"}}).at(kube::kIdleKey), "{old}");
  state_.idle.emplace();
  state_.bypass = kube::Complaints{{"u", {"s", "p", 7}}};
  const Annotations now = wanted({{kube::kIdleKey, "{old}"}, {kube::kBypassKey, "{old}"}});
  EXPECT_EQ(now.at(kube::kIdleKey), "") << "there are none";
  EXPECT_EQ(now.at(kube::kBypassKey), kube::encode(*state_.bypass));
}

TEST_F(NodeAnnotations, KeysLeftByAnotherDialect_AreRemoved) {
  left_ = {"volcano.sh/node-vgpu-register"};
  EXPECT_EQ(wanted({{*left_.begin(), "old"}}).at(*left_.begin()), "");
}

TEST_F(NodeAnnotations, NoResizes_EmptyValue) {
  EXPECT_EQ(wanted().at(kube::kChangesKey), "");
  state_.resizes["token"].done = true;
  EXPECT_EQ(wanted().at(kube::kChangesKey), kube::encode(state_.resizes));
  EXPECT_EQ(wanted().at(kube::kNicsKey), "[]");
  EXPECT_EQ(wanted().at(kube::kAnnouncedResourcesKey), "nvidia.com/gpumem");
}

TEST(AnnotationPatch, EqualAndAbsentValues_AreLeftOut) {
  const Annotations published{{"same", "1"}, {"other", "1"}, {"gone", "1"}, {"foreign", "1"}};
  const Annotations wanted{
      {"same", "1"}, {"other", "2"}, {"gone", ""}, {"never", ""}, {"new", "3"}};
  EXPECT_EQ(boost::json::serialize(annotationPatch(published, wanted)),
            R"({"gone":null,"new":"3","other":"2"})");
}

}  // namespace
}  // namespace divvy::agent
