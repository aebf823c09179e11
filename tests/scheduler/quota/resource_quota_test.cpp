// What namespaces may hold: who would hold more waits, and is let in when room comes.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "engine/engine.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"
#include "webhook/pod_webhook.h"
#include "world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};

kube::Pod pod(const std::string& uid, const Texts& limits,
              const std::string& namespace_name = "default") {
  kube::Pod made = *kube::podOf(podObject({limits}, {}));
  made.meta.uid = made.meta.name = uid;
  made.meta.namespace_name = namespace_name;
  return made;
}

Texts part(const std::string& memory, const std::string& cores = "10") {
  return {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", memory}, {"nvidia.com/gpucores", cores}};
}

kube::ResourceQuota quota(const kube::Quantities& hard, const std::string& uid = "q") {
  kube::ResourceQuota made;
  made.meta.uid = made.meta.name = uid;
  made.meta.namespace_name = "default";
  made.hard = hard;
  return made;
}

class QuotaTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cache.setNode(nodeWith("nvidia"))); }
  // Empty: it was given a node.
  std::string refusal(const kube::Pod& one, const std::vector<std::string_view>& names = {"n"}) {
    const Result<FilterResult> choice = cache.filterAndReserve(one, names, kLater);
    if (!choice) return choice.error().message();
    if (choice->node) return "";
    const auto& why = choice->never.empty() ? choice->why : choice->never;
    return why.empty() ? "?" : why.begin()->second.text();
  }
  std::int64_t used(const std::string& resource) {
    for (const QuotaUsage& one : cache.pods().quotas())
      if (one.resource == resource) return one.used;
    return -1;
  }

  SchedulerCache cache{allVendors(), {}};
};

TEST_F(QuotaTest, OverQuota_WaitsUntilRoom) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "20k"}, {"limits.cpu", "1"}})));
  EXPECT_EQ(refusal(pod("a", part("12000"))), "");
  EXPECT_EQ(refusal(pod("b", part("8000"))), "");
  EXPECT_EQ(refusal(pod("c", part("1"))),
            "ResourceQuotaNotFit: exceeding resource quota q of namespace default: "
            "nvidia.com/gpumem: 20000 at most, 20000 held, 1 needed");
  EXPECT_EQ(used("nvidia.com/gpumem"), 20000);
  EXPECT_EQ(refusal(pod("elsewhere", part("9000"), "lab")), "");
  cache.removePod("b");
  ASSERT_TRUE(cache.pods().mayRequeue({0}));
  const std::vector<PodRef> waiting = cache.popSchedulable(9, {0});
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].name, "c");
}

TEST_F(QuotaTest, FilterAgain_CountedOnce) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1000"}})));
  EXPECT_EQ(refusal(pod("a", part("1000"))), "");
  EXPECT_EQ(refusal(pod("a", part("1000"))), "");
  EXPECT_EQ(used("nvidia.com/gpumem"), 1000);
  cache.expire(kLater);
  EXPECT_EQ(used("nvidia.com/gpumem"), 0);
}

// With --all-feasible a pod is bound where it was nominated, without a reservation.
TEST_F(QuotaTest, NominatedPodBoundOnItsNode_CountsFromItsBindOn) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "20k"}})));
  const kube::Pod one = pod("a", part("12000"));
  const Result<std::optional<engine::Request>> request = cache.pods().requestFor(one);
  ASSERT_TRUE(request && *request);
  const Result<engine::Decision> decided = cache.pods().engine().decide(**request);
  ASSERT_TRUE(decided && decided->placement);
  ASSERT_TRUE(cache.nominate(one, *decided->placement, kLater));
  EXPECT_EQ(used("nvidia.com/gpumem"), 0) << "victims hold it";
  const std::vector<std::string_view> names{"n"};
  EXPECT_TRUE(cache.fitting(one, names));
  ASSERT_TRUE(cache.reserve("a", "n", kLater));
  ASSERT_TRUE(cache.assume("a", "n", 1));
  EXPECT_EQ(used("nvidia.com/gpumem"), 12000);
  cache.finishBinding("a", BindOutcome::kBound);
  EXPECT_EQ(used("nvidia.com/gpumem"), 12000);
  EXPECT_NE(refusal(pod("b", part("8001"))), "");
  cache.removePod("a");
  EXPECT_EQ(used("nvidia.com/gpumem"), 0);
}

TEST_F(QuotaTest, BoundOnUnknownNode_AnnotationCounts) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1000"}})));
  kube::Pod bound = pod("a", part("700"));
  bound.node = "another";
  bound.meta.annotations = {{"hami.io/vgpu-devices-allocated", "GPU-x,NVIDIA,700,10:;"}};
  ASSERT_TRUE(cache.setPod(bound));
  EXPECT_EQ(used("nvidia.com/gpumem"), 700);
  EXPECT_NE(refusal(pod("b", part("301"))), "");
  EXPECT_EQ(refusal(pod("b", part("300"))), "");
  bound.phase = kube::PodPhase::kSucceeded;
  ASSERT_TRUE(cache.setPod(bound));
  EXPECT_EQ(used("nvidia.com/gpumem"), 300);
}

TEST_F(QuotaTest, Cores_AreCounted) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpucores", "150"}})));
  EXPECT_EQ(refusal(pod("a", {{"nvidia.com/gpu", "1"}})), "");  // all of a card: 100
  EXPECT_NE(refusal(pod("b", part("1000", "51"))), "");
  EXPECT_EQ(refusal(pod("b", part("1000", "50"))), "");
  // Who needs none of it is not kept off.
  EXPECT_EQ(refusal(pod("c", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "100"}})), "");
}

TEST_F(QuotaTest, BinarySuffix_IsBytesZeroIsNone) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "2Gi"}})));
  EXPECT_EQ(refusal(pod("a", part("2048"))), "");
  EXPECT_NE(refusal(pod("b", part("1"))), "");
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "0"}})));
  cache.removePod("a");
  EXPECT_NE(refusal(pod("b", part("1"))), "");
}

// Regression: 2G was 1.9 PiB, 800M 763 TiB: such quotas limited nothing.
TEST_F(QuotaTest, DecimalSuffix_IsBytes) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "2G"}})));
  EXPECT_EQ(refusal(pod("a", part("1900"))), "");
  EXPECT_NE(refusal(pod("b", part("100"))), "");
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "20M"}})));
  EXPECT_EQ(refusal(pod("b", part("8000"))), "") << "an API server's 20000000, of MiB";
  const Result<void> either = cache.setQuota(quota({{"limits.nvidia.com/gpumem", "17179869184"}}));
  ASSERT_FALSE(either);
  EXPECT_NE(either.error().message().find("16 GiB as bytes, which is written 16384Mi; accepted: "),
            std::string::npos)
      << either.error().message();
}

TEST_F(QuotaTest, OwnResourceNames_AreCounted) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.divvy.dev/gpumem", "1000"}})));
  EXPECT_NE(refusal(pod("a", part("1001"))), "");
  EXPECT_EQ(refusal(pod("a", part("1000"))), "");
}

TEST_F(QuotaTest, MisspeltName_IsSuggested) {
  for (const char* prefix : {"requests.", "limits."}) {
    const Result<void> wrong =
        cache.setQuota(quota({{std::string(prefix) + "nvidia.com/gpucore", "100"}}));
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message().find(
                  std::string(prefix) +
                  "nvidia.com/gpucore names no resource; did you mean limits.nvidia.com/gpucores?"),
              std::string::npos)
        << wrong.error().message();
  }
  for (const char* other : {"requests.nvidia.com/gpu", "requests.nvidia.com/gpu.shared",
                            "requests.example.com/gpucore", "limits.cpu", "pods"})
    EXPECT_TRUE(cache.setQuota(quota({{other, "4"}}))) << other;
}

TEST_F(QuotaTest, SeveralQuotas_SmallestHolds) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1000"}}, "small")));
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "5000"}}, "large")));
  EXPECT_NE(refusal(pod("a", part("1001"))).find("small"), std::string::npos);
  cache.removeQuota("small");
  ASSERT_EQ(cache.popSchedulable(9, {0}).size(), 1u);
  EXPECT_EQ(refusal(pod("a", part("5000"))), "");
  EXPECT_NE(refusal(pod("b", part("1"))).find("large"), std::string::npos);
}

TEST_F(QuotaTest, UncountedResource_IsNamed) {
  const Result<void> count =
      cache.setQuota(quota({{"limits.nvidia.com/gpu", "1"}, {"limits.nvidia.com/gpumem", "1000"}}));
  ASSERT_FALSE(count);
  EXPECT_NE(count.error().message().find("limits.nvidia.com/gpu is not counted"),
            std::string::npos);
  EXPECT_EQ(used("nvidia.com/gpumem"), 0);  // the rest is
  EXPECT_FALSE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1.5"}})));
  EXPECT_TRUE(cache.pods().quotas().empty());
  EXPECT_TRUE(cache.setQuota(quota({{"requests.nvidia.com/gpu", "4"}, {"pods", "9"}})));
}

// Half of a device is less of a smaller one.
TEST_F(QuotaTest, LargerDeviceOverQuota_SmallerIsTaken) {
  kube::Node small = nodeWith("nvidia-mig");
  small.meta.name = small.meta.uid = "m";
  small.meta.annotations = {
      {"hami.io/node-nvidia-register",
       R"([{"id":"small","count":10,"devmem":16384,"devcore":100,"type":"NVIDIA T4",)"
       R"("health":true}])"}};
  ASSERT_TRUE(cache.setNode(small));
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "10000"}})));
  const kube::Pod half =
      pod("a", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "50"}});
  const std::vector<std::string_view> names{"n", "m"};
  const Result<FilterResult> choice = cache.filterAndReserve(half, names, kLater);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->node, "m");
  EXPECT_EQ(used("nvidia.com/gpumem"), 8192);
  EXPECT_NE(refusal(pod("b", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "50"}}),
                    {"n", "m"}),
            "");
}

TEST_F(QuotaTest, EachVendor_MemoryIsCounted) {
  for (const vendors::Kind* kind : allVendors().kinds()) {
    if (kind->memory.resource.empty() || !kind->wire.placed()) continue;
    ASSERT_TRUE(cache.setQuota(quota({{"limits." + kind->memory.resource, "7"}})));
    ASSERT_EQ(cache.pods().quotas().size(), 1u) << kind->name;
    EXPECT_EQ(cache.pods().quotas()[0].resource, kind->memory.resource);
    EXPECT_EQ(cache.pods().quotas()[0].limit, 7);
  }
}

TEST_F(QuotaTest, Fitting_RespectsQuota) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1000"}})));
  const std::vector<std::string_view> names{"n"};
  ASSERT_TRUE(cache.fitting(pod("a", part("600")), names));
  ASSERT_TRUE(cache.fitting(pod("b", part("600")), names));
  EXPECT_TRUE(cache.reserve("a", "n", kLater));
  EXPECT_EQ(cache.reserve("b", "n", kLater).error().code(), ErrorCode::kNoRoom);
  const Result<FilterResult> third = cache.fitting(pod("c", part("600")), names);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->fitting.empty());
  EXPECT_EQ(third->never.size(), 1u);
}

// More nodes would not help.
TEST_F(QuotaTest, SimulateFit_OverQuotaIsNever) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "1000"}})));
  const std::vector<kube::Node> nodes{nodeWith("nvidia")};
  const Result<FilterResult> choice = cache.pods().simulateFit(pod("a", part("1001")), nodes);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->never.size(), 1u);
  EXPECT_TRUE(cache.pods().simulateFit(pod("a", part("1000")), nodes)->never.empty());
}

// At the door only what would not fit if nobody else were there.
TEST_F(QuotaTest, Webhook_RefusesNeverFitting) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "5000"}})));
  EXPECT_EQ(refusal(pod("a", part("5000"))), "");
  EXPECT_FALSE(cache.pods().neverWithinQuota(pod("b", part("5000"))));
  EXPECT_TRUE(cache.pods().neverWithinQuota(pod("b", part("5001"))));
  // Init containers that end count one by one, the others together.
  kube::Pod several = pod("c", part("2500"));
  several.containers.push_back(several.containers[0]);
  several.init.push_back(pod("d", part("5000")).containers[0]);
  EXPECT_FALSE(cache.pods().neverWithinQuota(several));
  several.init[0].sidecar = true;
  EXPECT_TRUE(cache.pods().neverWithinQuota(several));
  const boost::json::value object = podObject({part("5001")}, {});
  const std::string body = boost::json::serialize(boost::json::object{
      {"request",
       boost::json::object{{"uid", "u"}, {"namespace", "default"}, {"object", object}}}});
  const engine::Engine rules{engine::Config{}};
  const Result<Review> answer =
      review(body, {allVendors(), rules, "divvy-scheduler",
                    [&](const kube::Pod& one) { return cache.pods().neverWithinQuota(one); }});
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->allowed);
  EXPECT_NE(answer->body.find("exceeding resource quota q"), std::string::npos) << answer->body;
}

TEST_F(QuotaTest, Metrics_ExposedUnderBothNames) {
  ASSERT_TRUE(cache.setQuota(quota({{"limits.nvidia.com/gpumem", "5000"}})));
  EXPECT_EQ(refusal(pod("a", part("3000"))), "");
  ClusterSample seen;
  seen.quotas = cache.pods().quotas();
  const std::string text = exposition({}, seen, {.compat = true});
  for (const char* line :
       {"divvy_quota_limit{namespace=\"default\",resource=\"nvidia.com/gpumem\",quota=\"q\"} 5000",
        "divvy_quota_used{namespace=\"default\",resource=\"nvidia.com/gpumem\",quota=\"q\"} 3000",
        "hami_resource_quota_used{namespace=\"default\",quota_name=\"nvidia.com/gpumem\","
        "limit=\"5000\",zone=\"vGPU\"} 3000",
        "hami_resource_quota_limit{namespace=\"default\",quota_name=\"nvidia.com/gpumem\","
        "zone=\"vGPU\"} 5000",
        "QuotaUsed{quotanamespace=\"default\",quotaName=\"nvidia.com/gpumem\",limit=\"5000\","
        "zone=\"vGPU\"} 3000"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(exposition({}, seen, {}).find("QuotaUsed"), std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
