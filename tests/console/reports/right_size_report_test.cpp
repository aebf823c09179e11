#include "reports/right_size_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "recorded_history.h"
#include "sample_cluster.h"
#include "sample_node.h"
#include "view/agent_view.h"
#include "view/cluster_view.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

http::Query queryOf(const std::vector<std::pair<std::string, std::string>>& words) {
  http::Query query;
  for (const auto& [name, value] : words) query.parameters.add(name, value);
  return query;
}

TEST(RightSizeQueryTest, Words_DefaultsAndAccepted) {
  const Result<RightSizeQuery> none = readRightSizeQuery(queryOf({}), false);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->days, 14);
  const auto both = readRightSizeQuery(queryOf({{"days", "400"}, {"namespace", "lab"}}), true);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->days, 400);
  EXPECT_EQ(both->namespace_name, "lab");
}

TEST(RightSizeQueryTest, BadWords_RefusedWithAccepted) {
  for (const char* days : {"0", "401", "-1", "x", "1.5", "99999999999999999999"}) {
    const auto query = readRightSizeQuery(queryOf({{"days", days}}), true);
    ASSERT_FALSE(query) << days;
    EXPECT_EQ(query.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(query.error().message(), HasSubstr("days: accepted is 1 to 400"));
  }
  const auto of_machine = readRightSizeQuery(queryOf({{"namespace", "lab"}}), false);
  ASSERT_FALSE(of_machine);
  EXPECT_THAT(of_machine.error().message(), HasSubstr("accepted: days"));
}

class RightSizeReportTest : public RecordedHistory {
 protected:
  ConsoleView viewOf(const agent::Snapshot& node) {
    const auto slow = [](const agent::TenantView&, const agent::Snapshot&) {
      return std::vector<std::string>();
    };
    return ViewBuilder(slow).build(reading(node), 1);
  }
  // Readings of a time, one each minute.
  void record(const agent::Snapshot& node, std::chrono::minutes time) {
    const std::int64_t end = now_ms_ + history::Span(time).count();
    for (; now_ms_ < end; now_ms_ += 60'000) RecordedHistory::record(reading(node));
    ASSERT_TRUE(store_.flush());
  }
  RightSizeReport reportOf(const agent::Snapshot& node, const PriceTable& prices = {},
                           int days = 14) {
    const ConsoleView view = viewOf(node);
    Result<RightSizeReport> report =
        RightSizeReport::read(store_, {days, ""}, prices,
                              runningWorkloads(view.shares, view.devices, false, ""), now_ms_);
    EXPECT_TRUE(report);
    return std::move(*report);
  }
};

TEST_F(RightSizeReportTest, ThreeDays_AdviceOfPeakAndPercentile) {
  agent::Snapshot node = sampleNode();
  agent::ShareView& share = node.tenants[0].shares[0];
  share.limit = gib(16).count;
  share.got_permille = 100;
  agent::Snapshot peak = node;
  peak.tenants[0].shares[0].used = peak.tenants[0].shares[0].resident = gib(6).count;
  record(node, std::chrono::hours(30));
  record(peak, std::chrono::minutes(1));
  record(node, std::chrono::hours(30));
  node.tenants[0].idle_known = true;
  node.tenants[0].idle_s = 7200;
  const bj::object report = reportOf(node, {"EUR", {{"h100", 1'000'000, 0}}}).json();
  EXPECT_EQ(report.at("days"), 14);
  EXPECT_EQ(report.at("currency"), "EUR");
  const bj::array& items = report.at("items").as_array();
  ASSERT_EQ(items.size(), 2u);
  const bj::value& item = items[0];
  EXPECT_EQ(item.at("key"), "train");
  EXPECT_EQ(item.at("state"), "advice");
  EXPECT_EQ(item.at("shares"), 1u);
  EXPECT_EQ(item.at("peak_bytes"), gib(6).count);
  EXPECT_EQ(item.at("limit_bytes"), gib(16).count);
  EXPECT_EQ(item.at("advised_bytes"), mib(6912).count);
  EXPECT_EQ(item.at("saving_bytes"), gib(16).count - mib(6912).count);
  EXPECT_EQ(item.at("cores_percent"), 30.0);
  EXPECT_EQ(item.at("busy_percent"), 10.0);
  EXPECT_EQ(item.at("advised_cores"), 12);
  EXPECT_EQ(item.at("idle_ms"), 7'200'000u);
  EXPECT_NEAR(item.at("seen_hours").to_number<double>(), 60, 1.1);
  EXPECT_GE(item.at("seen_days").to_number<int>(), 3);
  // 30 % of a device becomes 12 %.
  EXPECT_EQ(item.at("idle_micro_per_day").to_number<std::int64_t>(), 18 * 24 * 10'000);
  const bj::value& total = report.at("total");
  EXPECT_EQ(total.at("saving_bytes").to_number<std::uint64_t>(),
            item.at("saving_bytes").to_number<std::uint64_t>() +
                items[1].at("saving_bytes").to_number<std::uint64_t>());
  EXPECT_NEAR(total.at("saving_devices").to_number<double>(), 0.18, 0.001);
}

TEST_F(RightSizeReportTest, PeakOfLastMinute_Counts) {
  agent::Snapshot node = sampleNode();
  record(node, std::chrono::minutes(30));
  node.tenants[0].shares[0].used = node.tenants[0].shares[0].resident = gib(3).count;
  record(node, std::chrono::minutes(1));
  const bj::object report = reportOf(sampleNode()).json();
  EXPECT_EQ(report.at("items").at(1).at("peak_bytes"), gib(3).count);
  EXPECT_EQ(report.at("items").at(1).at("state"), "too-early");
  EXPECT_TRUE(report.at("items").at(1).at("advised_bytes").is_null());
  EXPECT_TRUE(report.at("items").at(1).at("idle_micro_per_day").is_null()) << "no prices";
}

TEST_F(RightSizeReportTest, PeakBeforeWindow_DoesNotCount) {
  agent::Snapshot node = sampleNode(), peak = node;
  peak.tenants[0].shares[0].used = peak.tenants[0].shares[0].resident = gib(3).count;
  record(peak, std::chrono::hours(1));
  record(node, std::chrono::hours(60));
  const auto peakIn = [&](int days) {
    return reportOf(node, {}, days).json().at("items").at(1).at("peak_bytes");
  };
  EXPECT_EQ(peakIn(3), gib(3).count);
  EXPECT_EQ(peakIn(2), gib(1).count);
}

TEST_F(RightSizeReportTest, Engine_ReservesMemory) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].command = {"python", "-m", "vllm.entrypoints.openai.api_server"};
  record(node, std::chrono::minutes(2));
  const bj::object report = reportOf(node).json();
  EXPECT_EQ(report.at("items").at(1).at("key"), "train");
  EXPECT_EQ(report.at("items").at(1).at("state"), "reserves");
}

TEST_F(RightSizeReportTest, Csv_OneLineForEachItem) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].name = "=1+1";
  record(node, std::chrono::minutes(2));
  const std::string csv = reportOf(node).csv();
  EXPECT_THAT(csv, testing::StartsWith("key,namespace,owner,container,team,queue,shares,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_THAT(csv, HasSubstr("\r\n\"'=1+1\",\"\",")) << "no formula";
  EXPECT_THAT(csv, HasSubstr("\"too-early\",,\r\n")) << "no prices";
}

TEST_F(RightSizeReportTest, TooManyWorkloads_RefusedWithAdvice) {
  RunningWorkloads many;
  for (std::size_t at = 0; at <= RightSizeReport::kMaxItems; ++at)
    many["lab/Pod/" + std::to_string(at) + "/main"];
  const auto report = RightSizeReport::read(store_, {}, {}, many, now_ms_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kUsage);
  EXPECT_THAT(report.error().message(), HasSubstr("narrow"));
  EXPECT_THAT(report.error().message(), HasSubstr("namespace=NS"));
  many.erase(many.begin());
  EXPECT_TRUE(RightSizeReport::read(store_, {}, {}, many, now_ms_));
}

TEST(RunningWorkloadsTest, Cluster_OneForEachContainer) {
  ClusterReading cluster = sampleCluster();
  cluster.pods[1].state = ClusterPodState::kRunning;  // train-0, two containers
  cluster.share_use[{"ml", "train-0", "main", ""}].idle_ms = 60'000u;
  const ConsoleView view = ClusterViewBuilder().build(cluster, 1);
  const RunningWorkloads all = runningWorkloads(view.shares, view.devices, true, "");
  ASSERT_EQ(all.size(), 3u) << "without the pod that ends";
  const RunningWorkload& serve = all.at("lab/Deployment/serve/main");
  EXPECT_EQ(serve.namespace_name, "lab");
  EXPECT_EQ(serve.owner, "Deployment/serve");
  EXPECT_EQ(serve.queue, "research");
  EXPECT_EQ(serve.limit_bytes, gib(40).count);
  EXPECT_EQ(serve.parts.at(0).device_bytes, gib(80).count);
  EXPECT_FALSE(serve.used_bytes);
  const RunningWorkload& train = all.at("ml/Pod/train-0/main");
  EXPECT_EQ(train.parts.size(), 2u);
  EXPECT_EQ(train.limit_bytes, gib(80).count) << "the larger one";
  EXPECT_EQ(train.idle_ms, 60'000u);
  EXPECT_EQ(runningWorkloads(view.shares, view.devices, true, "lab").size(), 1u);
}

TEST(RunningWorkloadsTest, ManyShares_ShortestIdleTimeIfAllKnown) {
  ClusterReading cluster = sampleCluster();
  cluster.pods[0].owner = "Deployment/serve";
  ClusterPodView second = clusterPod("lab", "serve-9");
  second.owner = "Deployment/serve";
  giveShare(cluster, second, 1, 10, 100);
  cluster.pods.push_back(second);
  cluster.share_use[{"lab", "serve-1", "main", ""}].idle_ms = 90'000u;
  const auto idle = [&] {
    const ConsoleView view = ClusterViewBuilder().build(cluster, 1);
    return runningWorkloads(view.shares, view.devices, true, "lab")
        .at("lab/Deployment/serve/main")
        .idle_ms;
  };
  EXPECT_FALSE(idle());
  cluster.share_use[{"lab", "serve-9", "main", ""}].idle_ms = 30'000u;
  EXPECT_EQ(idle(), 30'000u);
}

}  // namespace
}  // namespace divvy::console
