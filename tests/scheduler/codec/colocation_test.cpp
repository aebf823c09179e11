// Beside whom pods may come onto a device of MetaX': the contract's words on quality of service and
// class (facts on the incumbent's control plane, 1.3).
#include <gtest/gtest.h>

#include <memory>

#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr const char* kQuality = "metax-tech.com/sgpu-qos-policy";
constexpr const char* kClass = "metax-tech.com/sgpu-app-class";
constexpr const char* kGiven = "hami.io/metax-sgpu-devices-allocated";

class ColocationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cache_->setNode(node_)); }

  // 20 of the 100 cores and 4 GiB of the first device.
  static kube::Pod pod(const std::string& uid, const kube::Labels& says,
                       const std::string& count = "1") {
    kube::Pod made;
    made.meta.name = made.meta.uid = uid;
    made.meta.namespace_name = "default";
    made.meta.annotations = says;
    if (count == "1") made.meta.annotations["metax-tech.com/use-gpuuuid"] = "GPU-m0";
    kube::PodContainer container;
    container.name = "c";
    container.limits = {{"metax-tech.com/sgpu", count},
                        {"metax-tech.com/vcore", "20"},
                        {"metax-tech.com/vmemory", "4"}};
    made.containers.push_back(container);
    return made;
  }

  // Why not; empty: it is, and what is written says so.
  std::string place(kube::Pod one) {
    const std::vector<std::string_view> names{node_.meta.name};
    const Result<FilterResult> choice = cache_->filterAndReserve(one, names, kLater);
    if (!choice) return choice.error().message();
    const Reasons& why = choice->never.empty() ? choice->why : choice->never;
    if (!choice->node) return why.find(node_.meta.name)->text();
    const Result<BindPlan> assigned = cache_->assume(one.meta.uid, *choice->node, 1);
    if (!assigned) return assigned.error().message();
    cache_->finishBinding(one.meta.uid, BindOutcome::kBound);
    for (const auto& [key, value] : assigned->annotations) one.meta.annotations[key] = value;
    one.node = *choice->node;
    bound_.push_back(one);
    return "";
  }

  // As a scheduler that starts anew learns it.
  void startAnew() {
    cache_ = std::make_unique<SchedulerCache>(allVendors(), engine::Config{});
    ASSERT_TRUE(cache_->setNode(node_));
    for (const kube::Pod& one : bound_) ASSERT_TRUE(cache_->setPod(one));
  }

  kube::Node node_ = nodeWith("metax-sgpu");
  std::unique_ptr<SchedulerCache> cache_ =
      std::make_unique<SchedulerCache>(allVendors(), engine::Config{});
  std::vector<kube::Pod> bound_;
};

bool isCompany(const std::string& why) {
  return why.find("used by pods of another class") != std::string::npos;
}

TEST_F(ColocationTest, QualityOfService_OnePerDevice) {
  EXPECT_EQ(place(pod("a", {{kQuality, "fixed-share"}})), "");
  EXPECT_EQ(place(pod("b", {{kQuality, "fixed-share"}})), "");
  EXPECT_TRUE(isCompany(place(pod("c", {{kQuality, "burst-share"}}))));
  EXPECT_TRUE(isCompany(place(pod("d", {})))) << "who says nothing is best-effort";
  startAnew();
  EXPECT_TRUE(isCompany(place(pod("e", {{kQuality, "best-effort"}}))));
  EXPECT_EQ(place(pod("f", {{kQuality, "fixed-share"}})), "");
  for (const kube::Pod& one : bound_) cache_->removePod(one.meta.uid);
  EXPECT_EQ(place(pod("g", {{kQuality, "burst-share"}})), "") << "nobody is left there";
}

TEST_F(ColocationTest, OtherDevice_IsUsed) {
  ASSERT_EQ(place(pod("a", {{kQuality, "fixed-share"}})), "");
  kube::Pod other = pod("b", {});
  other.meta.annotations.erase("metax-tech.com/use-gpuuuid");
  ASSERT_EQ(place(other), "");
  EXPECT_NE(bound_.back().meta.annotations.at(kGiven).find("GPU-m1"), std::string::npos);
}

TEST_F(ColocationTest, OnlineJoinsOffline_NotConversely) {
  EXPECT_EQ(place(pod("off", {{kClass, "offline"}})), "");
  EXPECT_EQ(place(pod("on", {{kClass, "online"}})), "");
  EXPECT_NE(bound_.back().meta.annotations.at(kGiven).find(",4096,0:"), std::string::npos)
      << "no cores are charged: " << bound_.back().meta.annotations.at(kGiven);
  EXPECT_TRUE(isCompany(place(pod("off-2", {{kClass, "offline"}}))));
  EXPECT_EQ(place(pod("on-2", {{kClass, "online"}})), "");
  startAnew();
  EXPECT_TRUE(isCompany(place(pod("off-3", {{kClass, "offline"}}))));
  EXPECT_EQ(place(pod("on-3", {{kClass, "online"}})), "");
}

// Regression: what it is charged none of was counted at the door.
TEST_F(ColocationTest, OnlinePod_UsesNoCoreQuota) {
  kube::ResourceQuota quota;
  quota.meta.uid = quota.meta.name = "q";
  quota.meta.namespace_name = "default";
  quota.hard = {{"limits.metax-tech.com/vcore", "10"}};
  ASSERT_TRUE(cache_->setQuota(quota));
  EXPECT_NE(place(pod("off", {{kClass, "offline"}})), "");
  EXPECT_EQ(place(pod("on", {{kClass, "online"}})), "");
}

TEST_F(ColocationTest, PodWithoutClass_NotBesideClass) {
  EXPECT_EQ(place(pod("none", {})), "");
  EXPECT_TRUE(isCompany(place(pod("on", {{kClass, "online"}}))));
  EXPECT_EQ(place(pod("none-2", {})), "");
}

TEST_F(ColocationTest, InvalidValue_ErrorSaysAccepted) {
  EXPECT_NE(place(pod("a", {{kQuality, "best"}})).find("best-effort, fixed-share, burst-share"),
            std::string::npos);
  EXPECT_NE(place(pod("b", {{kClass, "batch"}})).find("accepted: online, offline"),
            std::string::npos);
  EXPECT_NE(place(pod("c", {{kClass, "online"}}, "2")).find("accepted: one"), std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
