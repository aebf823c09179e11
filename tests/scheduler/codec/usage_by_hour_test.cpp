// Pods that say at which hours they use what they ask for.
#include <gtest/gtest.h>

#include "kube/registration.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr const char* kDay = "8-20=100%,else=0%";
constexpr const char* kNight = "20-8=100%,else=0%";

kube::Node node(const std::string& name) {
  kube::Node made;
  made.meta.name = name;
  made.meta.uid = "1";
  kube::RegisteredDevice device;
  device.id = "GPU-" + name;
  device.count = 10;
  device.mebibytes = 80 << 10;
  device.cores = 100;
  device.type = "NVIDIA H100";
  device.healthy = true;
  made.meta.annotations["hami.io/node-nvidia-register"] = kube::encode({device});
  return made;
}

kube::Pod pod(const std::string& uid, const std::string& use) {
  kube::Pod made;
  made.meta.name = made.meta.uid = uid;
  made.meta.namespace_name = "default";
  if (!use.empty()) made.meta.annotations["use.divvy.dev/expected-use"] = use;
  kube::PodContainer container;
  container.name = "c";
  container.limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "20000"}};
  made.containers.push_back(container);
  return made;
}

class UsageByHourTest : public ::testing::Test {
 protected:
  UsageByHourTest() {
    engine::Config config;
    config.daily.ties = true;
    cache.emplace(catalog, config);
    for (const char* name : {"a", "b"}) EXPECT_TRUE(cache->setNode(node(name)));
  }
  // As the watch tells of it.
  void bound(const std::string& uid, const std::string& use, const std::string& where) {
    SchedulerCache other(catalog, {});
    EXPECT_TRUE(other.setNode(node(where)));
    kube::Pod one = pod(uid, use);
    const std::vector<std::string_view> names{where};
    EXPECT_TRUE(other.filterAndReserve(one, names, kLater));
    Result<BindPlan> assigned = other.assume(uid, where, 1);
    ASSERT_TRUE(assigned.has_value());
    for (const auto& [key, value] : assigned->annotations) one.meta.annotations[key] = value;
    one.node = where;
    EXPECT_TRUE(cache->setPod(one));
  }
  std::string chosen(const std::string& use) {
    const std::vector<std::string_view> names{"a", "b"};
    const Result<FilterResult> choice = cache->filterAndReserve(pod("asks", use), names, kLater);
    EXPECT_TRUE(choice.has_value());
    return choice ? choice->node.value_or("none") : "";
  }

  vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  std::optional<SchedulerCache> cache;
};

TEST_F(UsageByHourTest, DayPod_JoinsNightPod) {
  bound("1", kDay, "a");
  bound("2", kNight, "b");
  EXPECT_EQ(chosen(kDay), "b");
}

TEST_F(UsageByHourTest, NightPodOnFirstNode_DayPodJoinsIt) {
  bound("1", kNight, "a");
  bound("2", kDay, "b");
  EXPECT_EQ(chosen(kDay), "a");
}

TEST_F(UsageByHourTest, UndeclaredUse_CountsAsAllDay) {
  bound("1", kNight, "a");
  bound("2", "", "b");
  EXPECT_EQ(chosen(kDay), "a");
}

}  // namespace
}  // namespace divvy::scheduler
