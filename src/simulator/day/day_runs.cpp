// Many days side by side, and what they have in common.
#include <algorithm>

#include "day/side_by_side.h"
#include "simulator/day.h"

namespace divvy::simulator {
namespace {

using Field = double DayFigures::*;
constexpr Field kMeans[] = {&DayFigures::pods,
                            &DayFigures::work_hours,
                            &DayFigures::undone_hours,
                            &DayFigures::lost_hours,
                            &DayFigures::gpu_hours,
                            &DayFigures::gpus_peak,
                            &DayFigures::cost,
                            &DayFigures::wait_p50,
                            &DayFigures::wait_p99,
                            &DayFigures::urgent_wait_p99,
                            &DayFigures::slowdown_p50,
                            &DayFigures::slowdown_p99,
                            &DayFigures::urgent_slowdown_p99,
                            &DayFigures::fetch_p99,
                            &DayFigures::urgent_fetch_p99,
                            &DayFigures::fetches_percent,
                            &DayFigures::fetched_tb,
                            &DayFigures::evictions,
                            &DayFigures::stops,
                            &DayFigures::safe_overcommit};

DayFigures meanOf(const std::vector<DayFigures>& runs) {
  DayFigures mean = runs.front();
  const auto count = static_cast<double>(runs.size());
  for (const Field field : kMeans) {
    double sum = 0;
    for (const DayFigures& run : runs) sum += run.*field;
    mean.*field = sum / count;
  }
  for (std::size_t i = 0; i < mean.cluster_gpu_hours.size(); ++i) {
    double sum = 0;
    for (const DayFigures& run : runs) sum += run.cluster_gpu_hours[i];
    mean.cluster_gpu_hours[i] = sum / count;
  }
  for (std::size_t i = 0; i < mean.course.size(); ++i) {
    DaySample& sample = mean.course[i];
    sample.used = sample.busy = 0;
    for (const DayFigures& run : runs) {
      sample.used += run.course[i].used / count;
      sample.busy += run.course[i].busy / count;
    }
  }
  mean.utilisation = mean.gpu_hours > 0 ? 100 * mean.work_hours / mean.gpu_hours : 0;
  return mean;
}

}  // namespace

Result<DayResult> runDays(const Scenario& scenario, const std::vector<std::uint64_t>& seeds,
                          unsigned threads, const Progress& progress) {
  if (seeds.empty()) return Error{ErrorCode::kUsage, "no seed; accepted: at least one"};
  struct Case {
    std::uint32_t overcommit = 0;
    engine::UsageByHourPolicy daily;
  };
  std::vector<Case> cases{Case{}};
  for (const engine::UsageByHourPolicy& daily : scenario.sharing.daily) {
    for (const std::uint32_t overcommit : scenario.sharing.overcommit)
      cases.push_back({overcommit, daily});
  }
  std::vector<std::vector<DayFigures>> found(cases.size(), std::vector<DayFigures>(seeds.size()));
  const auto job = [&](std::size_t at) -> Result<void> {
    const Case& one = cases[at / seeds.size()];
    Result<DayFigures> day = runDay(scenario, one.overcommit, seeds[at % seeds.size()], one.daily);
    if (!day) return day.error();
    found[at / seeds.size()][at % seeds.size()] = std::move(*day);
    return {};
  };
  const Result<void> all = sideBySide(cases.size() * seeds.size(), threads, job, progress);
  if (!all) return all.error();
  DayResult result{seeds, {}};
  for (const std::vector<DayFigures>& runs : found) result.rows.push_back(meanOf(runs));
  return result;
}

double savedPercent(const DayResult& result, std::size_t row) {
  const double before = result.rows.front().gpu_hours;
  return before > 0 ? 100 * (before - result.rows[row].gpu_hours) / before : 0;
}

}  // namespace divvy::simulator
