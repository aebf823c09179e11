// What running pods have is changed: what is admitted, what is kept meanwhile, what is written.
#include <gtest/gtest.h>

#include <memory>

#include <boost/json.hpp>

#include "annotations/pending_resize.h"
#include "controllers/resize_plan.h"
#include "kube/assignment_text.h"
#include "kube/resize_request.h"
#include "scheduler/cache.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr const char* kDevice = "GPU-0";
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

const vendors::Kind& nvidia() {
  return *changeableKind(allVendors());
}

class ResizePlanTest : public ::testing::Test {
 protected:
  void SetUp() override { begin(); }

  // As a scheduler that starts anew knows it.
  void begin() {
    cache_ = std::make_unique<SchedulerCache>(allVendors(), engine::Config{});
    ASSERT_TRUE(cache_->setNode(node_));
    for (const auto& [uid, pod] : pods_) ASSERT_TRUE(cache_->setPod(pod));
  }

  // Bound to the first device.
  kube::Pod& bound(const std::string& uid, const std::string& memory, const std::string& cores) {
    const Texts limits{
        {"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", memory}, {"nvidia.com/gpucores", cores}};
    kube::Pod made = *kube::podOf(podObject({limits}, {{"nvidia.com/use-gpuuuid", kDevice}}));
    made.meta.uid = made.meta.name = uid;
    made.meta.namespace_name = "default";
    const std::vector<std::string_view> names{node_.meta.name};
    const Result<FilterResult> choice = cache_->filterAndReserve(made, names, kLater);
    EXPECT_TRUE(choice && choice->node);
    const Result<BindPlan> assigned = cache_->assume(uid, node_.meta.name, 1);
    EXPECT_TRUE(assigned);
    cache_->finishBinding(uid, BindOutcome::kBound);
    for (const auto& [key, value] : assigned->annotations) made.meta.annotations[key] = value;
    made.node = node_.meta.name;
    EXPECT_TRUE(cache_->setPod(made));
    return pods_.insert_or_assign(uid, made).first->second;
  }

  // The scheduler's part of it, in one step.
  Result<void> admit(const std::string& uid, const kube::ResizeRequest& change) {
    kube::Pod& pod = pods_.at(uid);
    pod.meta.annotations[kube::kChangeKey] = kube::encode(change);
    const Result<std::string> assignment = assignmentWith(pod, change, nvidia());
    if (!assignment) return assignment.error();
    kube::ResizeState state;
    state.id = change.id;
    state.token = "t-" + change.id;
    state.change = change;
    state.assignment = *assignment;
    state.since = 1;
    kube::Pod then = pod;
    then.meta.annotations[kube::kChangeStateKey] = kube::encode(state);
    const Result<void> admitted = cache_->admitChange(then);
    if (admitted) pod = then;
    return admitted;
  }
  void restoreReservations(const std::string& uid, const kube::ResizeResult& result) {
    kube::Pod& pod = pods_.at(uid);
    for (const auto& [key, value] :
         settledBy(*pendingChange(pod), result, nvidia(), pod.meta.annotations))
      pod.meta.annotations[key] = value;
    ASSERT_TRUE(cache_->setPod(pod));
  }

  std::uint64_t taken() const {
    for (const DeviceUsage& one : cache_->nodes().devicesOf(node_.meta.name))
      if (one.uuid == kDevice) return one.promised.count >> 20;
    return 0;
  }

  kube::Node node_ = nodeWith("nvidia");
  std::unique_ptr<SchedulerCache> cache_;
  std::map<std::string, kube::Pod> pods_;
};

TEST_F(ResizePlanTest, PendingResize_LargerShareIsReserved) {
  bound("a", "4000", "20");
  ASSERT_EQ(taken(), 4000u);
  ASSERT_TRUE(admit("a", {"x", "c0", 9000, {}, ""}));
  EXPECT_EQ(taken(), 9000u) << "at once, lest somebody else gets it";
  ASSERT_TRUE(cache_->setPod(pods_.at("a")));
  EXPECT_EQ(taken(), 9000u) << "when we are told of what we wrote";
  begin();
  EXPECT_EQ(taken(), 9000u) << "by a scheduler that starts anew";
  restoreReservations("a", {true, "", ""});
  EXPECT_EQ(taken(), 9000u);
  ASSERT_TRUE(admit("a", {"y", "c0", 1000, 10, ""}));
  EXPECT_EQ(taken(), 9000u) << "it has them still";
  restoreReservations("a", {true, "", ""});
  EXPECT_EQ(taken(), 1000u);
  EXPECT_NE(pods_.at("a").meta.annotations[kAllocated].find(",1000,10:"), std::string::npos);
  ASSERT_TRUE(admit("a", {"z", "c0", 5000, {}, ""}));
  restoreReservations("a", {false, "NoRoom", "it uses more"});
  EXPECT_EQ(taken(), 1000u) << "what did not come about is given back";
  begin();
  EXPECT_EQ(taken(), 1000u);
  cache_->removePod("a");
  EXPECT_EQ(taken(), 0u);
}

TEST_F(ResizePlanTest, NoRoom_ResizeIsRefused) {
  bound("a", "4000", "20");
  bound("b", "4000", "70");
  const Result<void> cores = admit("a", {"x", "c0", {}, 31, ""});
  ASSERT_FALSE(cores);
  EXPECT_EQ(cores.error().code(), ErrorCode::kNoRoom);
  EXPECT_EQ(kube::changeReason(cores.error()), "NoRoom");
  EXPECT_FALSE(admit("a", {"x", "c0", 1u << 20, {}, ""}));
  EXPECT_EQ(taken(), 8000u);
  EXPECT_TRUE(admit("a", {"x", "c0", {}, 30, ""}));
}

TEST_F(ResizePlanTest, AllCores_OnlyWhenAlone) {
  bound("a", "4000", "20");
  bound("b", "1000", "0");
  EXPECT_FALSE(admit("a", {"x", "c0", {}, 100, ""}));
  cache_->removePod("b");
  pods_.erase("b");
  EXPECT_TRUE(admit("a", {"x", "c0", {}, 100, ""}));
}

TEST_F(ResizePlanTest, Quota_LimitsGrowthOnly) {
  kube::ResourceQuota quota;
  quota.meta.uid = quota.meta.name = "q";
  quota.meta.namespace_name = "default";
  quota.hard = {{"limits.nvidia.com/gpumem", "6000"}};
  ASSERT_TRUE(cache_->setQuota(quota));
  bound("a", "4000", "20");
  const Result<void> more = admit("a", {"x", "c0", 6001, {}, ""});
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message().find("exceeding resource quota"), std::string::npos);
  EXPECT_TRUE(admit("a", {"x", "c0", 6000, {}, ""}));
  restoreReservations("a", {true, "", ""});
  // Less is possible, however little the quota has become.
  quota.hard = {{"limits.nvidia.com/gpumem", "1000"}};
  ASSERT_TRUE(cache_->setQuota(quota));
  EXPECT_TRUE(admit("a", {"y", "c0", 5000, {}, ""}));
  restoreReservations("a", {true, "", ""});
  EXPECT_TRUE(admit("a", {"z", "c0", {}, {}, "low"}));
  restoreReservations("a", {true, "", ""});
  EXPECT_FALSE(admit("a", {"w", "c0", 5001, {}, ""}));
}

TEST_F(ResizePlanTest, UnresizablePod_ErrorCodeSaysWhy) {
  kube::Pod& pod = bound("a", "4000", "20");
  const auto code = [&](const kube::Pod& of, const kube::ResizeRequest& change) {
    const Result<std::string> made = assignmentWith(of, change, nvidia());
    return made ? ErrorCode::kIo : made.error().code();
  };
  EXPECT_EQ(code(pod, {"x", "nobody", 1, {}, ""}), ErrorCode::kNotFound);
  EXPECT_EQ(code(pod, {"x", "c0", {}, {}, "urgent"}), ErrorCode::kUsage);
  kube::Pod other = pod;
  other.phase = kube::PodPhase::kSucceeded;
  EXPECT_EQ(code(other, {"x", "c0", 1, {}, ""}), ErrorCode::kUnavailable);
  other = pod;
  other.meta.annotations.erase(kAllocated);
  EXPECT_EQ(code(other, {"x", "c0", 1, {}, ""}), ErrorCode::kNotFound);
  other = pod;
  other.meta.annotations[kAllocated] = ";";
  EXPECT_EQ(code(other, {"x", "c0", 1, {}, ""}), ErrorCode::kNotFound);
  other = pod;
  other.init.push_back({"c0", {}, {}, false, false});
  EXPECT_EQ(code(other, {"x", "c0", 1, {}, ""}), ErrorCode::kUnsupported);
}

TEST_F(ResizePlanTest, AskedResize_IsHandledOnce) {
  kube::Pod& pod = bound("a", "4000", "20");
  EXPECT_FALSE(askedChange(pod));
  pod.meta.annotations[kube::kChangeKey] =
      kube::encode(kube::ResizeRequest{"x", "c0", 1, {}, "high"});
  ASSERT_TRUE(askedChange(pod));
  const kube::ResizeState admitted{
      "x",         "t", {"x", "c0", 1, {}, "high"}, "", kube::ResizePhase::kAdmitted, "", "",
      "a,b,1,1:;", 1};
  pod.meta.annotations[kube::kChangeStateKey] = kube::encode(admitted);
  EXPECT_FALSE(askedChange(pod)) << "it is under way";
  const kube::Labels written = settledBy(admitted, {true, "", ""}, nvidia(), {});
  EXPECT_EQ(written.at("c0.use.divvy.dev/priority"), "high");
  EXPECT_FALSE(written.contains(kube::kDecidedKey)) << "another scheduler bound it";
  const kube::Labels decided{
      {kube::kDecidedKey, kube::encodeDecided({{"c0.use.divvy.dev/guaranteed", "1Gi"}})}};
  const auto words = kube::decidedIn(settledBy(admitted, {true, "", ""}, nvidia(), decided));
  ASSERT_TRUE(words && *words);
  EXPECT_EQ(**words, (kube::Labels{{"c0.use.divvy.dev/guaranteed", "1Gi"},
                                   {"c0.use.divvy.dev/priority", "high"}}));
  for (const auto& [key, value] : written) pod.meta.annotations[key] = value;
  EXPECT_FALSE(askedChange(pod)) << "it is done";
  pod.meta.annotations[kube::kChangeKey] = "{";
  ASSERT_TRUE(askedChange(pod));
  ASSERT_TRUE(askedChange(pod)->unreadable);
  pod.meta.annotations[kube::kChangeStateKey] =
      kube::encode(refusedChange(kUnreadableChange, *askedChange(pod)->unreadable));
  EXPECT_FALSE(askedChange(pod)) << "it was told";
}

// Clients and schedulers of the next release write these keys; a rollback leaves them to this one.
TEST_F(ResizePlanTest, PresentKeys_AreReadUnlessOldOnesExist) {
  kube::Pod& pod = bound("a", "4000", "20");
  pod.meta.annotations[kube::kResizeKey] = kube::encode(kube::ResizeRequest{"x", "c0", 1, {}, ""});
  ASSERT_TRUE(askedChange(pod));
  EXPECT_EQ(askedChange(pod)->change.id, "x");
  pod.meta.annotations[kube::kResizeStateKey] = kube::encode(kube::ResizeState{
      "x", "t", {"x", "c0", 1, {}, ""}, "", kube::ResizePhase::kAdmitted, "", "", "a,b,1,1:;", 1});
  EXPECT_FALSE(askedChange(pod)) << "it is admitted";
  ASSERT_TRUE(pendingChange(pod));
  const kube::Labels settled = settledBy(*pendingChange(pod), {true, "", ""}, nvidia(), {});
  EXPECT_TRUE(settled.contains(kube::kChangeStateKey)) << "the release before reads this one";
  for (const auto& [key, value] : settled) pod.meta.annotations[key] = value;
  EXPECT_FALSE(pendingChange(pod)) << "the old key counts";
  EXPECT_FALSE(askedChange(pod));
  pod.meta.annotations[kube::kChangeKey] = kube::encode(kube::ResizeRequest{"y", "c0", 1, {}, ""});
  EXPECT_EQ(askedChange(pod)->change.id, "y");
}

}  // namespace
}  // namespace divvy::scheduler
