// A day in clusters, event by event: a card for each pod, and shares with memory promised k times,
// with the same work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/progress.h"
#include "simulator/scenario.h"

namespace divvy::simulator {

// At the same times in every run: how many cards have tenants, and how many are at work (a card
// half busy counts half).
struct DaySample {
  double hour = 0, used = 0, busy = 0;
};

// A card counts from when it gets a tenant until it has none: those are used, powered and paid.
struct DayStats {
  std::uint32_t overcommit = 0;  // thousandths; 0: a card for each pod
  engine::UsageByHourPolicy daily;
  double pods = 0;
  double work_hours = 0;    // of cards, done
  double undone_hours = 0;  // of work whose pod never got a place
  double lost_hours = 0;    // done twice, because of evictions
  double gpu_hours = 0;
  double gpus_peak = 0;
  double utilisation = 0;  // percent of gpu_hours that is work
  double cost = 0;
  std::vector<double> cluster_gpu_hours;  // as Scenario::clusters
  // Seconds from when a pod wants a place until it has one.
  double wait_p50 = 0, wait_p99 = 0, urgent_wait_p99 = 0;
  // How much longer work takes, from when it comes, than on a card of its own; by work: half of
  // all work is slowed by less than p50. `urgent`: of those of high priority.
  double slowdown_p50 = 1, slowdown_p99 = 1, urgent_slowdown_p99 = 1;
  // Seconds until memory that had been swapped out was back, of all bursts; and how many waited.
  double fetch_p99 = 0, urgent_fetch_p99 = 0, fetches_percent = 0;
  double fetched_tb = 0;
  double evictions = 0;  // for somebody more urgent
  double stops = 0;      // of sandboxes without work
  // Thousandths that could have been promised, by what was at work at once on cards with tenants,
  // looked at every quarter of an hour: engine::safeOvercommit, without a bound by hosts.
  double safe_overcommit = 0;
  std::vector<DaySample> curve;
};

// overcommit 0: a card for each pod. kUsage: what the engine does not take.
Result<DayStats> runDay(const Scenario& scenario, std::uint32_t overcommit, std::uint64_t seed,
                        const engine::UsageByHourPolicy& daily = {});

struct DayResult {
  std::vector<std::uint64_t> seeds;
  std::vector<DayStats> rows;  // means; first a card each, then as Sharing::overcommit
                               // for each of Sharing::daily
};

// The same for any number of `threads`.
Result<DayResult> runDays(const Scenario& scenario, const std::vector<std::uint64_t>& seeds,
                          unsigned threads, const Progress& progress);

// Percent of the first row's GPU-hours.
double savedPercent(const DayResult& result, std::size_t row);
std::string dailyWord(const engine::UsageByHourPolicy& daily);  // as scenarios say it
std::string json(const Scenario& scenario, const DayResult& result);
std::string svg(const Scenario& scenario, const DayResult& result);

}  // namespace divvy::simulator
