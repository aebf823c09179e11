// Many days side by side, and what they have in common.
#include <algorithm>

#include "day/side_by_side.h"
#include "simulator/day.h"

namespace divvy::simulator {
namespace {

using Field = double DayStats::*;
constexpr Field kMeans[] = {&DayStats::pods,
                            &DayStats::work_hours,
                            &DayStats::undone_hours,
                            &DayStats::lost_hours,
                            &DayStats::gpu_hours,
                            &DayStats::gpus_peak,
                            &DayStats::cost,
                            &DayStats::wait_p50,
                            &DayStats::wait_p99,
                            &DayStats::urgent_wait_p99,
                            &DayStats::slowdown_p50,
                            &DayStats::slowdown_p99,
                            &DayStats::urgent_slowdown_p99,
                            &DayStats::fetch_p99,
                            &DayStats::urgent_fetch_p99,
                            &DayStats::fetches_percent,
                            &DayStats::fetched_tb,
                            &DayStats::evictions,
                            &DayStats::stops,
                            &DayStats::safe_overcommit};

DayStats meanOf(const std::vector<DayStats>& runs) {
  DayStats mean = runs.front();
  const auto count = static_cast<double>(runs.size());
  for (const Field field : kMeans) {
    double sum = 0;
    for (const DayStats& run : runs) sum += run.*field;
    mean.*field = sum / count;
  }
  for (std::size_t i = 0; i < mean.cluster_gpu_hours.size(); ++i) {
    double sum = 0;
    for (const DayStats& run : runs) sum += run.cluster_gpu_hours[i];
    mean.cluster_gpu_hours[i] = sum / count;
  }
  for (std::size_t i = 0; i < mean.curve.size(); ++i) {
    DaySample& sample = mean.curve[i];
    sample.used = sample.busy = 0;
    for (const DayStats& run : runs) {
      sample.used += run.curve[i].used / count;
      sample.busy += run.curve[i].busy / count;
    }
  }
  mean.utilisation = mean.gpu_hours > 0 ? 100 * mean.work_hours / mean.gpu_hours : 0;
  return mean;
}

}  // namespace

Result<DayResult> runDays(const Scenario& scenario, const std::vector<std::uint64_t>& seeds,
                          unsigned threads, const Progress& progress) {
  if (seeds.empty()) return Error{ErrorCode::kUsage, "no seed; accepted: at least one"};
  struct DayVariant {
    std::uint32_t overcommit = 0;
    engine::UsageByHourPolicy daily;
  };
  std::vector<DayVariant> variants{DayVariant{}};
  for (const engine::UsageByHourPolicy& daily : scenario.sharing.daily) {
    for (const std::uint32_t overcommit : scenario.sharing.overcommit)
      variants.push_back({overcommit, daily});
  }
  std::vector<std::vector<DayStats>> found(variants.size(), std::vector<DayStats>(seeds.size()));
  const auto job = [&](std::size_t at) -> Result<void> {
    const DayVariant& one = variants[at / seeds.size()];
    Result<DayStats> day = runDay(scenario, one.overcommit, seeds[at % seeds.size()], one.daily);
    if (!day) return day.error();
    found[at / seeds.size()][at % seeds.size()] = std::move(*day);
    return {};
  };
  const Result<void> all = sideBySide(variants.size() * seeds.size(), threads, job, progress);
  if (!all) return all.error();
  DayResult result{seeds, {}};
  for (const std::vector<DayStats>& runs : found) result.rows.push_back(meanOf(runs));
  return result;
}

double savedPercent(const DayResult& result, std::size_t row) {
  const double before = result.rows.front().gpu_hours;
  return before > 0 ? 100 * (before - result.rows[row].gpu_hours) / before : 0;
}

}  // namespace divvy::simulator
