#include "recording/workload_recorder.h"

#include <gtest/gtest.h>

#include "recorded_history.h"
#include "recording/cluster_recorder.h"
#include "rows/workload_key.h"
#include "sample_cluster.h"
#include "sample_node.h"
#include "view/cluster_view.h"

namespace divvy::console {
namespace {

using Maxima = std::vector<std::int64_t>;

class WorkloadRecorderTest : public RecordedHistory {
 protected:
  history::Instant now() const { return history::Instant(history::Span(now_ms_)); }
  // The maxima that are known in an hour's points of a series.
  Maxima hours(const std::string& key, std::string_view metric, int count = 24) {
    const history::SeriesKey series{kWorkloadKind, workloadObject(key), std::string(metric)};
    const history::Instant from{history::Span(kNow)};
    const Result<history::SeriesColumns> table =
        store_.read(std::vector{series},
                    {from, from + std::chrono::hours(count), static_cast<std::size_t>(count)});
    EXPECT_TRUE(table);
    EXPECT_EQ(table->step, std::chrono::hours(1));
    Maxima found;
    for (const auto& value : table->columns[0].max)
      if (value) found.push_back(*value);
    return found;
  }
  // Lets the store close what has ended.
  void pass(std::chrono::minutes time) {
    now_ms_ += history::Span(time).count();
    store_.append(now(), {});
  }

  WorkloadRecorder workloads_{store_};
};

TEST_F(WorkloadRecorderTest, OneReadingOfHour_IsItsMaximum) {
  for (int minute = 0; minute < 60; ++minute, now_ms_ += 60'000)
    workloads_.record({{"w", {1, minute == 30 ? 900 : 100, 10}}}, now());
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("w", kPeakMetric, 25), Maxima{900});
}

TEST_F(WorkloadRecorderTest, RunningTime_SumOfSharesByHour) {
  // Two shares for an hour, then one for half an hour.
  for (int minute = 0; minute < 90; ++minute, now_ms_ += 60'000)
    workloads_.record({{"w", {minute < 60 ? 2 : 1, 5, 5}}}, now());
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("w", kRunningMetric, 26), (Maxima{2 * 59 * 60'000, 30 * 60'000}));
}

TEST_F(WorkloadRecorderTest, GapBetweenReadings_DoesNotCount) {
  workloads_.record({{"w", {1, 5, 5}}}, now());
  pass(std::chrono::minutes(2));
  workloads_.record({{"w", {1, 5, 5}}}, now());
  now_ms_ += 10'000;
  workloads_.record({}, now());
  now_ms_ += 10'000;
  workloads_.record({{"w", {1, 5, 5}}}, now());
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("w", kRunningMetric, 25), Maxima{0});
}

TEST_F(WorkloadRecorderTest, ShortPeakOfCompute_MeanOfFiveMinutes) {
  for (int second = 0; second <= 600; second += 2, now_ms_ += 2000)
    workloads_.record({{"w", {1, 5, second < 30 ? 1000 : 0}}}, now());
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("w", kBusyMetric, 25), Maxima{100}) << "15 of 150 readings";
}

TEST_F(WorkloadRecorderTest, UnknownUse_OnlyRunningTime) {
  for (int minute = 0; minute < 10; ++minute, now_ms_ += 60'000)
    workloads_.record({{"w", {1, std::nullopt, std::nullopt}}}, now());
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("w", kRunningMetric, 25), Maxima{9 * 60'000});
  EXPECT_EQ(hours("w", kPeakMetric, 25), Maxima{});
}

TEST_F(WorkloadRecorderTest, TooManyWorkloads_RestHasNoSeries) {
  WorkloadUses uses;
  for (std::size_t at = 0; at < WorkloadRecorder::kMaxWorkloads + 10; ++at)
    uses["w" + std::to_string(at)] = {1, 5, std::nullopt};
  workloads_.record(uses, now());
  EXPECT_EQ(store_.status().series, 2 * WorkloadRecorder::kMaxWorkloads);
}

TEST_F(WorkloadRecorderTest, LocalShares_OneWorkloadForEachName) {
  agent::Snapshot node = sampleNode();
  node.tenants[1].name = "train";
  node.tenants[1].shares[0].used = node.tenants[1].shares[0].resident = gib(2).count;
  node.tenants[1].shares[0].swapped = gib(1).count;
  node.tenants[1].shares[0].got_permille = 400;
  for (int minute = 0; minute < 10; ++minute, now_ms_ += 60'000) record(reading(node));
  pass(std::chrono::hours(24));
  EXPECT_EQ(hours("train", kPeakMetric, 25), Maxima{static_cast<std::int64_t>(gib(3).count)});
  EXPECT_EQ(hours("train", kRunningMetric, 25), Maxima{2 * 9 * 60'000});
  EXPECT_EQ(hours("train", kBusyMetric, 25), Maxima{400});
}

// A cluster in which a Deployment has many pods.
TEST_F(WorkloadRecorderTest, TenThousandPods_ThreeSeries) {
  constexpr int pods = 10'000;
  ClusterReading cluster;
  cluster.collections = readCollections();
  cluster.devices = {clusterDevice("gpu-1", 0)};
  for (int at = 0; at < pods; ++at) {
    ClusterPodView pod = clusterPod("lab", "serve-" + std::to_string(at));
    pod.owner = "Deployment/serve";
    giveShare(cluster, pod, 0, 1, 0);
    cluster.share_use[{"lab", pod.name, "main", cluster.devices[0].uuid}] = {
        at == 77 ? 90u : 50u, at == 77 ? 60u : 50u, 0u, 100.0, {}};
    cluster.pods.push_back(std::move(pod));
  }
  ClusterRecorder recorder(store_);
  const ConsoleView view = ClusterViewBuilder().build(cluster, 1);
  const std::size_t others = 5;  // of the device and of the cluster
  for (int minute = 0; minute < 6; ++minute, now_ms_ += 60'000)
    recorder.record(cluster, view, now());
  EXPECT_EQ(store_.status().series, others + 3);
  pass(std::chrono::hours(24));
  const std::string key = "lab/Deployment/serve/main";
  EXPECT_EQ(hours(key, kPeakMetric, 25), Maxima{60}) << "resident and swapped";
  EXPECT_EQ(hours(key, kBusyMetric, 25), Maxima{100});
  EXPECT_EQ(hours(key, kRunningMetric, 25), Maxima{std::int64_t{pods} * 5 * 60'000});
}

TEST(WorkloadKey, LongKey_ShortObjectOfItsOwn) {
  const std::string start = "lab/Deployment/" + std::string(253, 'a');
  const std::string one = workloadObject(start + "/main"), two = workloadObject(start + "/side");
  EXPECT_LE(one.size(), 128u);
  EXPECT_NE(one, two);
  EXPECT_TRUE(one.starts_with("lab/Deployment/"));
  EXPECT_EQ(workloadObject("lab/Deployment/web/main"), "lab/Deployment/web/main");
}

}  // namespace
}  // namespace divvy::console
