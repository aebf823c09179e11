// Days in clusters: the laws one by one, and whole days where they can be checked otherwise.
#include "simulator/day.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "day/day_card.h"
#include "day/day_marks.h"
#include "day/series.h"
#include "day/time_slices.h"

namespace divvy::simulator {
namespace {

std::vector<TenantDemand> shared(std::vector<TenantDemand> demands, Bytes memory) {
  share(demands, memory);
  return demands;
}

TenantDemand claim(double want, Bytes memory = gib(1), Urgency urgency = Urgency::kNormal) {
  TenantDemand one;
  one.want = want;
  one.memory = memory;
  one.urgency = urgency;
  return one;
}

TEST(LossOfTurns, MemoryRatios_CostAsMeasured) {
  EXPECT_DOUBLE_EQ(lossOfTurns(0.5), 0.012);
  EXPECT_DOUBLE_EQ(lossOfTurns(1.3), 0.034);
  EXPECT_DOUBLE_EQ(lossOfTurns(2), 0.081);
  EXPECT_GT(lossOfTurns(3), 0.14);
  EXPECT_LE(lossOfTurns(100), 0.5);
  // Two that are always busy and need 1.3 times the memory: 3.4 % less than one after the other.
  const auto both = shared({claim(1, gib(13)), claim(1, gib(13))}, gib(20));
  EXPECT_NEAR(both[0].rate + both[1].rate, 1 - 0.034, 1e-9);
  EXPECT_DOUBLE_EQ(turnSeconds(0.001, 1.3), 2);
  EXPECT_NEAR(turnSeconds(1, 1.3), 28.4, 0.1);
  EXPECT_DOUBLE_EQ(turnSeconds(100, 2), 60);
}

TEST(Share, Claims_GetWantOrFairPart) {
  EXPECT_DOUBLE_EQ(shared({claim(0.7)}, gib(8))[0].rate, 0.7) << "alone: nothing is lost";
  const auto easy = shared({claim(0.2), claim(0.5)}, gib(8));
  EXPECT_DOUBLE_EQ(easy[0].rate, 0.2);
  EXPECT_DOUBLE_EQ(easy[1].rate, 0.5);
  const auto full = shared({claim(0.1), claim(1), claim(1)}, gib(8));
  EXPECT_DOUBLE_EQ(full[0].rate, 0.1) << "who wants less than the fair part has it";
  EXPECT_NEAR(full[1].rate, (0.988 - 0.1) / 2, 1e-9);
  auto weighted = std::vector<TenantDemand>{claim(1), claim(1)};
  weighted[0].weight = 3;
  share(weighted, gib(8));
  EXPECT_NEAR(weighted[0].rate, 3 * weighted[1].rate, 1e-9);
}

TEST(Share, HigherUrgency_TimeAndMemoryFirst) {
  const auto time =
      shared({claim(0.9, gib(1), Urgency::kLow), claim(0.8, gib(1), Urgency::kHigh)}, gib(8));
  EXPECT_DOUBLE_EQ(time[1].rate, 0.8);
  EXPECT_NEAR(time[0].rate, 0.188, 1e-9);
  const auto memory =
      shared({claim(0.1, gib(6), Urgency::kLow), claim(0.1, gib(6), Urgency::kHigh)}, gib(8));
  EXPECT_EQ(memory[1].there, 1);
  EXPECT_EQ(memory[0].there, 0) << "its memory is lent";
  EXPECT_EQ(memory[0].rate, 0);
}

// By chance: nobody has more than he wants, all together no more than the card, and the more urgent
// never less than without the others.
TEST(Share, RandomClaims_NeverMoreThanThereIs) {
  Rng rng(7);
  for (int round = 0; round < 5000; ++round) {
    std::vector<TenantDemand> demands;
    for (std::uint64_t i = 0; i < 1 + rng.below(6); ++i) {
      demands.push_back(claim(uniform(rng), gib(rng.below(20)), Urgency(rng.below(3))));
      demands.back().weight = 1 + static_cast<double>(rng.below(100));
    }
    const Bytes memory = gib(rng.below(40));
    share(demands, memory);
    double sum = 0;
    for (const TenantDemand& one : demands) {
      EXPECT_GE(one.rate, 0);
      EXPECT_LE(one.rate, one.want + 1e-12);
      sum += one.rate;
    }
    EXPECT_LE(sum, 1 + 1e-9);
    std::vector<TenantDemand> urgent;
    for (const TenantDemand& one : demands) {
      if (one.urgency == Urgency::kHigh) urgent.push_back(one);
    }
    const std::vector<TenantDemand> before = urgent;
    share(urgent, memory);
    // Alone on the card it loses nothing; beside others the part that sharing costs.
    for (std::size_t i = 0; i < urgent.size(); ++i)
      EXPECT_GE(before[i].rate, urgent[i].rate * 0.987);
  }
}

Scenario dayOf(std::vector<DayWorkload> workloads, std::uint32_t gpus, double hours = 24) {
  Scenario scenario;
  scenario.name = "test";
  scenario.hours = hours;
  scenario.clusters = {{"a", 1, gpus, gib(80), gib(1024), 20, 2}};
  scenario.workloads = std::move(workloads);
  return scenario;
}

DayWorkload service(const std::string& name, std::uint32_t count, Bytes memory) {
  DayWorkload workload;
  workload.name = name;
  workload.count = count;
  workload.memory = memory;
  workload.duty = {7, 0.2, 19.8, 18.4, 0.805, 120'000, 14};
  return workload;
}

DayWorkload batch(const std::string& name, double per_hour, Bytes memory, double busy = 90) {
  DayWorkload workload;
  workload.name = name;
  workload.kind = PodKind::kBatch;
  workload.memory = memory;
  workload.per_hour = per_hour;
  workload.length_ms = 3'600'000;
  workload.duty = {busy, busy, busy, busy, 0, 60'000, 14};
  return workload;
}

DayStats run(const Scenario& scenario, std::uint32_t overcommit, std::uint64_t seed = 1) {
  const Result<DayStats> day = runDay(scenario, overcommit, seed);
  EXPECT_TRUE(day) << day.error().message();
  return day ? *day : DayStats{};
}

// The published aggregates: mean 7.0, p50 0, p90 24.7, p99 78.6; hours from 0.2 to 19.8.
TEST(PodsOf, Service_HasItsAggregates) {
  const Scenario scenario = dayOf({service("s", 400, gib(20))}, 1);
  WeightedSamples minutes;
  std::vector<double> hours(24);
  for (const Pod& pod : podsOf(scenario, 3)) {
    std::vector<double> rates(24 * 60);
    for (const Burst& burst : pod.bursts) {
      for (std::int64_t at = (burst.at_ms + 59'999) / 60'000 * 60'000;
           at < burst.at_ms + burst.length_ms && at < 24 * 3'600'000; at += 60'000)
        rates[static_cast<std::size_t>(at / 60'000)] = burst.duty * 100;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      minutes.add(rates[i]);
      hours[i / 60] += rates[i] / 60 / 400;
    }
  }
  double mean = 0;
  for (const double hour : hours) mean += hour / 24;
  EXPECT_NEAR(mean, 7.0, 0.5);
  EXPECT_EQ(minutes.at(0.5, -1), 0);
  EXPECT_NEAR(minutes.at(0.9, -1), 24.7, 3);
  EXPECT_NEAR(minutes.at(0.99, -1), 78.6, 8);
  EXPECT_NEAR(*std::max_element(hours.begin(), hours.end()), 19.8, 2);
  EXPECT_LT(*std::min_element(hours.begin(), hours.end()), 0.7);
}

TEST(PodsOf, OneWorkload_IndependentOfOthers) {
  const auto mine = [](const Scenario& scenario) {
    std::vector<std::int64_t> times;
    for (const Pod& pod : podsOf(scenario, 5)) {
      if (scenario.workloads[pod.workload].name != "s") continue;
      for (const Burst& burst : pod.bursts) times.push_back(burst.at_ms);
    }
    return times;
  };
  EXPECT_EQ(mine(dayOf({service("s", 5, gib(1))}, 1)),
            mine(dayOf({batch("b", 3, gib(1)), service("s", 5, gib(1))}, 1)));
}

TEST(Day, OneCardPerPod_NoWaiting) {
  const DayStats day = run(dayOf({service("s", 20, gib(20))}, 20), 0);
  EXPECT_NEAR(day.gpu_hours, 20 * 24, 2) << "a little longer: who works at midnight ends first";
  EXPECT_NEAR(day.utilisation, 7, 1.5);
  EXPECT_EQ(day.gpus_peak, 20);
  EXPECT_NEAR(day.slowdown_p99, 1, 0.001);
  EXPECT_EQ(day.wait_p99, 0);
  EXPECT_EQ(day.undone_hours, 0);
  EXPECT_NEAR(day.cost, 2 * day.gpu_hours, 1e-6);
}

TEST(Day, AnySharing_SameWorkIsDone) {
  Scenario scenario =
      dayOf({service("s", 12, gib(20)), batch("b", 2, gib(30)), batch("low", 1, gib(60), 60)}, 24);
  scenario.workloads[0].urgency = Urgency::kHigh;
  scenario.workloads[2].urgency = Urgency::kLow;
  const DayStats alone = run(scenario, 0);
  ASSERT_EQ(alone.undone_hours, 0);
  for (const std::uint32_t overcommit : {1000u, 1300u, 2000u, 4000u}) {
    const DayStats day = run(scenario, overcommit);
    EXPECT_NEAR(day.work_hours, alone.work_hours, 1e-6 * alone.work_hours) << overcommit;
    EXPECT_EQ(day.undone_hours, 0);
    EXPECT_LT(day.gpu_hours, alone.gpu_hours) << overcommit;
    EXPECT_LE(day.utilisation, 100);
    EXPECT_GE(day.slowdown_p99, 0.999);
  }
}

TEST(Day, SameSeedAnyThreads_SameResult) {
  Scenario scenario = dayOf({service("s", 6, gib(30)), batch("b", 2, gib(30))}, 8, 12);
  scenario.sharing.overcommit = {1000, 1500};
  const auto text = [&](unsigned threads) {
    const auto result = runDays(scenario, {1, 2}, threads, [](std::size_t, std::size_t) {});
    EXPECT_TRUE(result);
    return json(scenario, *result) + svg(scenario, *result);
  };
  EXPECT_EQ(text(1), text(3));
  EXPECT_NE(run(scenario, 1000, 1).work_hours, run(scenario, 1000, 2).work_hours);
}

// Two that each need the whole card, and work at different times: the card is enough for both, and
// each of them waits for its memory as long as the link takes.
TEST(Day, AlternatingTenants_FetchMemoryOnce) {
  DayCard card(gib(80), 20);
  DayWorkload workload = service("s", 2, gib(80));
  Pod first{0, 0, 1'000'000, {{0, 10'000, 0.5}}};
  Pod second{0, 0, 1'000'000, {{100'000, 10'000, 0.5}}};
  Tenant a, b;
  a.pod = &first, b.pod = &second;
  a.workload = b.workload = &workload;
  card.add(a);
  card.add(b);
  EXPECT_EQ(a.resident, gib(80));
  EXPECT_EQ(b.resident, Bytes{}) << "there was no room left";
  a.come = a.begun = 1, a.working = true, a.left = 5000;
  EXPECT_EQ(card.update(0), 10'000);
  EXPECT_NEAR(card.advance(10'000), 5000, 1e-9);
  EXPECT_EQ(a.left, 0);
  a.working = false;
  b.come = b.begun = 1, b.working = true, b.left = 5000;
  card.advance(100'000);
  const double swap_ms = 80 * 1.073741824 / 20 * 1000;
  EXPECT_EQ(card.update(100'000), 100'000 + std::ceil(swap_ms));
  EXPECT_EQ(a.resident, Bytes{}) << "it made room";
  EXPECT_EQ(b.rate, 0);
  const auto there = static_cast<std::int64_t>(100'000 + std::ceil(swap_ms));
  EXPECT_EQ(card.advance(there), 0);
  // Its requests came all the while: it works as fast as it can until it has caught up.
  const std::int64_t caught_up = there + (there - 100'000);
  EXPECT_EQ(card.update(there), caught_up);
  EXPECT_DOUBLE_EQ(b.rate, 1);
  card.advance(caught_up);
  EXPECT_NEAR(b.behind(caught_up), 0, 1);
  EXPECT_NEAR(static_cast<double>(*card.update(caught_up)), 110'000, 2);
  EXPECT_DOUBLE_EQ(b.rate, 0.5);
  EXPECT_NEAR(b.fetch_s, swap_ms / 1000, 1e-9);
  EXPECT_NEAR(card.fetchedBytes(), 80 * 1.073741824e9, 1);
}

// Two that do not fit together and always work: the measured loss, and no card is saved.
TEST(Day, AlwaysBusyTenants_TurnsSaveNothing) {
  DayWorkload jobs = batch("jobs", 4, gib(51), 95);
  jobs.cores = 40;
  const Scenario scenario = dayOf({jobs}, 40, 48);
  const DayStats alone = run(scenario, 0);
  const DayStats shared = run(scenario, 1300);
  EXPECT_LT(shared.gpus_peak, alone.gpus_peak);
  EXPECT_NEAR(shared.gpu_hours / alone.gpu_hours, 1.03, 0.01);
  EXPECT_GT(shared.slowdown_p99, 1.8);
}

// The same two, of whom one is guaranteed a part: that stays when the other comes.
TEST(Day, Guarantee_StaysResident) {
  DayCard card(gib(80), 20);
  DayWorkload small = service("s", 1, gib(30));
  small.guarantee = gib(10);
  DayWorkload large = service("l", 1, gib(70));
  Pod first{0, 0, 1'000'000, {}};
  Pod second{1, 0, 1'000'000, {{0, 10'000, 0.5}}};
  Tenant a, b;
  a.pod = &first, b.pod = &second;
  a.workload = &small, b.workload = &large;
  card.add(a);
  card.add(b);
  b.come = b.begun = 1, b.working = true, b.left = 5000;
  card.update(0);
  EXPECT_EQ(a.resident, gib(10));
  EXPECT_EQ(b.resident, gib(70));
}

TEST(Day, IdleSandbox_GivesCardBack) {
  DayWorkload box = service("box", 4, gib(60));
  box.kind = PodKind::kSandbox;
  box.duty = {1, 0.5, 3, 60, 0, 300'000, 14};
  Scenario scenario = dayOf({box}, 4);
  const DayStats kept = run(scenario, 1000);
  EXPECT_EQ(kept.stops, 0);
  scenario.workloads[0].idle_stop_ms = 30 * 60'000;
  const DayStats stopped = run(scenario, 1000);
  EXPECT_GT(stopped.stops, 4);
  EXPECT_LT(stopped.gpu_hours, 0.8 * kept.gpu_hours);
  EXPECT_NEAR(stopped.work_hours, kept.work_hours, 1e-6);
  EXPECT_EQ(run(scenario, 0).stops, 0) << "without sharing nothing is taken";
}

TEST(Day, Preemption_UrgentEndsLow) {
  DayWorkload urgent = batch("urgent", 0.5, gib(60));
  urgent.urgency = Urgency::kHigh;
  urgent.length_ms = 600'000;
  DayWorkload low = batch("low", 2, gib(60));
  low.urgency = Urgency::kLow;
  low.checkpoint_ms = 600'000;
  Scenario scenario = dayOf({urgent, low}, 1);
  const DayStats waits = run(scenario, 1000);
  EXPECT_EQ(waits.evictions, 0);
  EXPECT_GT(waits.urgent_wait_p99, 600);
  scenario.sharing.preempt = true;
  const DayStats day = run(scenario, 1000);
  EXPECT_GT(day.evictions, 2);
  EXPECT_GT(day.lost_hours, 0);
  EXPECT_LT(day.lost_hours, day.evictions / 6 + 1e-9) << "a checkpoint every 10 minutes";
  EXPECT_NEAR(day.work_hours, waits.work_hours, 1e-6) << "what is lost is done again";
  EXPECT_LT(day.urgent_wait_p99, waits.urgent_wait_p99);
}

// Two by day come first, then two by night, and any two fit a card.
TEST(Day, UsageByHour_DayMeetsNight) {
  std::vector<DayWorkload> workloads;
  for (const char* name : {"day-1", "day-2", "night-1", "night-2"}) {
    workloads.push_back(service(name, 1, gib(79)));
    workloads.back().cores = 40;
    workloads.back().duty.peak_hour = *name == 'd' ? 14 : 2;
  }
  const Scenario scenario = dayOf(workloads, 4);
  const auto all = [&](const engine::UsageByHourPolicy& daily) {
    DayStats sum;
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      const Result<DayStats> day = runDay(scenario, 2000, seed, daily);
      EXPECT_TRUE(day) << day.error().message();
      EXPECT_EQ(day->gpus_peak, 2);
      sum.fetches_percent += day->fetches_percent;
      sum.work_hours += day->work_hours;
    }
    return sum;
  };
  const DayStats off = all({});
  // Ties alone: the second still goes where the first is, as the policy wants fewest cards.
  EXPECT_EQ(all({true, 0}).fetches_percent, off.fetches_percent);
  const DayStats on = all({true, 1000});
  EXPECT_LT(on.fetches_percent, 0.6 * off.fetches_percent);
  EXPECT_NEAR(on.work_hours, off.work_hours, 1e-6);
}

TEST(Day, EachDailySetting_IsARow) {
  Scenario scenario = dayOf({service("s", 6, gib(30))}, 8, 6);
  scenario.sharing.overcommit = {1000, 2000};
  scenario.sharing.daily = {{}, {true, 0}, {true, 1300}};
  const auto result = runDays(scenario, {1}, 2, [](std::size_t, std::size_t) {});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->rows.size(), 1u + 3 * 2);
  const std::vector<std::string> words{"off", "off", "off", "ties", "ties", "1.3", "1.3"};
  for (std::size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(dailyWord(result->rows[i].daily), words[i]);
  EXPECT_EQ(result->rows[6].overcommit, 2000u);
  // Five that are at work at most a quarter of the time in these hours.
  EXPECT_GT(result->rows[2].safe_overcommit, 1000);
  EXPECT_NE(json(scenario, *result).find("\"daily\": \"1.3\""), std::string::npos);
  EXPECT_NE(svg(scenario, *result).find("waits for memory, 1.3"), std::string::npos);
}

TEST(Day, SeveralClusters_CheapestIsTaken) {
  Scenario scenario = dayOf({service("s", 3, gib(40))}, 1);
  scenario.clusters.push_back({"cheap", 1, 1, gib(80), gib(1024), 20, 1});
  scenario.clusters.push_back({"small", 1, 8, gib(24), gib(1024), 20, 0.1});
  const DayStats day = run(scenario, 1000);
  EXPECT_NEAR(day.cluster_gpu_hours[1], 24, 1);
  EXPECT_NEAR(day.cluster_gpu_hours[0], 24, 1);
  EXPECT_EQ(day.cluster_gpu_hours[2], 0) << "its cards are too small";
}

TEST(Day, NoRoom_PodWaits) {
  const DayStats day = run(dayOf({service("s", 3, gib(60))}, 1), 1000);
  EXPECT_GT(day.wait_p99, 24 * 3600) << "the third comes once two are over";
  EXPECT_EQ(day.undone_hours, 0);
  EXPECT_GT(day.gpu_hours, 24);
}

TEST(Day, ChurningPods_CountStaysConstant) {
  DayWorkload churning = service("s", 30, gib(10));
  churning.lifetime_ms = 20 * 60'000;
  const DayStats day = run(dayOf({churning}, 40, 4), 0);
  EXPECT_NEAR(day.pods, 30 + 30 * 12, 60);
  for (const DaySample& sample : day.curve) EXPECT_NEAR(sample.used, 30, 6);
}

TEST(WeightedSamples, Quantiles_AreByWeight) {
  WeightedSamples marks;
  EXPECT_EQ(marks.at(0.5, 7), 7);
  marks.add(3, 1);
  marks.add(1, 98);
  marks.add(2, 1);
  EXPECT_EQ(marks.at(0.5, 0), 1);
  EXPECT_EQ(marks.at(0.985, 0), 2);
  EXPECT_EQ(marks.at(1, 0), 3);
}

}  // namespace
}  // namespace divvy::simulator
