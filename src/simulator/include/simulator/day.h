// Simulates a day in clusters, event by event. One run has a card for each pod; one run for each k
// has shares and memory promised k times. The work is the same. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/progress.h"
#include "simulator/scenario.h"

namespace divvy::simulator {

// A point of a run's curve: `used` cards have tenants, `busy` cards work (a half busy card counts
// as half). All runs have points at the same hours.
struct DaySample {
  double hour = 0, used = 0, busy = 0;
};

// Results of a run, or means of several runs. A card counts from its first tenant until it has
// none: for that time it is used, powered and paid.
struct DayStats {
  std::uint32_t overcommit = 0;  // thousandths; 0: a card for each pod
  engine::UsageByHourPolicy daily;
  double pods = 0;
  double work_hours = 0;    // done; in hours of a card
  double undone_hours = 0;  // work of pods that were never placed
  double lost_hours = 0;    // work repeated after evictions
  double gpu_hours = 0;
  double gpus_peak = 0;
  double utilisation = 0;  // work in percent of gpu_hours
  double cost = 0;
  std::vector<double> cluster_gpu_hours;  // in the order of Scenario::clusters
  // Seconds from a pod's request until its placement. `urgent`: pods of high priority.
  double wait_p50 = 0, wait_p99 = 0, urgent_wait_p99 = 0;
  // Time of work from its arrival, as a multiple of its time on a card of its own. Weighted by
  // work: half of all work is below p50. `urgent`: work of high priority.
  double slowdown_p50 = 1, slowdown_p99 = 1, urgent_slowdown_p99 = 1;
  // Seconds until swapped-out memory was back, over all bursts; percentage of bursts that waited.
  double fetch_p99 = 0, urgent_fetch_p99 = 0, fetches_percent = 0;
  double fetched_tb = 0;
  double evictions = 0;  // for pods of higher priority
  double stops = 0;      // of idle sandboxes
  // The overcommit ratio, in thousandths, that the simultaneous use would have allowed. The result
  // of engine::safeOvercommit on samples of each quarter of an hour, without a bound by host
  // memory.
  double safe_overcommit = 0;
  std::vector<DaySample> curve;
};

// Runs the scenario once. `overcommit`: in thousandths; 0: a card for each pod. Equal arguments
// give equal results. kUsage: the engine does not accept a part of the scenario.
Result<DayStats> runDay(const Scenario& scenario, std::uint32_t overcommit, std::uint64_t seed,
                        const engine::UsageByHourPolicy& daily = {});

// Results of all runs of a scenario.
struct DayResult {
  std::vector<std::uint64_t> seeds;
  std::vector<DayStats> rows;  // means over the seeds; first a card for each pod,
                               // then each Sharing::overcommit for each Sharing::daily
};

// Runs a scenario for all seeds and variants, on `threads` threads. The result does not depend on
// their number. kUsage: as runDay().
Result<DayResult> runDays(const Scenario& scenario, const std::vector<std::uint64_t>& seeds,
                          unsigned threads, const Progress& progress);

// Returns the GPU-hours that a row saves, in percent of those of the first row.
double savedPercent(const DayResult& result, std::size_t row);
// Returns the policy as scenarios write it.
std::string dailyWord(const engine::UsageByHourPolicy& daily);
// Return the results as a JSON document and as SVG charts.
std::string json(const Scenario& scenario, const DayResult& result);
std::string svg(const Scenario& scenario, const DayResult& result);

}  // namespace divvy::simulator
