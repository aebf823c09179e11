// A latency class beside best effort in virtual time: one workload, the same arrivals alone, with
// the card's own time slices, and under the law.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "world/programs.h"
#include "world/record.h"

namespace divvy::arbiter::world {
namespace {

struct Outcome {
  Nanos p50 = 0;
  Nanos p99 = 0;
  std::size_t served = 0;
  double gaps_used = 0;  // best effort's device time, of what the service left
  double total = 0;      // of wall time, both
  std::string fault;
};

enum class Variant { kAlone, kTimeSlices, kLaw };

Nanos percentile(std::vector<Nanos> all, double which) {
  const auto at = static_cast<std::size_t>(which * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return all[at];
}

Outcome serve(Variant variant, const Service& service, const Lengths& units,
              const std::vector<PriorityClass>& others = {PriorityClass::kBestEffort}) {
  Settings settings;
  settings.arbitrated = variant == Variant::kLaw;
  World world(settings);
  auto latencies = std::make_shared<std::vector<Nanos>>();
  const unsigned front = world.add({.cls = PriorityClass::kLatency}, serving(service, latencies));
  std::vector<unsigned> behind;
  if (variant != Variant::kAlone)
    for (const PriorityClass cls : others)
      behind.push_back(world.add({.cls = cls}, endless(units)));
  while (!world.ended(front) && world.fault().empty()) world.runUntil(world.now() + kSecond);

  Outcome outcome;
  outcome.fault = world.fault();
  outcome.served = latencies->size();
  if (latencies->empty()) return outcome;
  outcome.p50 = percentile(*latencies, 0.5);
  outcome.p99 = percentile(*latencies, 0.99);
  Nanos got = 0;
  for (const unsigned tenant : behind) got += world.got(tenant);
  const auto wall = static_cast<double>(world.now());
  const auto served = static_cast<double>(world.got(front));
  outcome.gaps_used = static_cast<double>(got) / (wall - served);
  outcome.total = (static_cast<double>(got) + served) / wall;
  return outcome;
}

void print(const char* units, const char* variant, const Outcome& outcome, const Outcome& alone) {
  std::printf("%-18s %-11s p50 %6.3f ms  p99 %7.3f ms  %+7.1f %%  gaps used %5.1f %%\n", units,
              variant, static_cast<double>(outcome.p50) / 1e6,
              static_cast<double>(outcome.p99) / 1e6,
              100.0 * static_cast<double>(outcome.p99) / static_cast<double>(alone.p99) - 100,
              100 * outcome.gaps_used);
}

TEST(Priority, ShortUnits_LatencyKeptGapsUsed) {
  const Service service;
  const Outcome alone = serve(Variant::kAlone, service, fixed(kMillisecond));
  ASSERT_EQ(alone.served, 20'000u);
  const std::vector<std::pair<const char*, Lengths>> units = {
      {"0.1 ms", fixed(100 * kMicrosecond)},
      {"0.25 ms", fixed(250 * kMicrosecond)},
      {"0.05 .. 0.5 ms",
       lognormal(150 * kMicrosecond, 0.8, 50 * kMicrosecond, 500 * kMicrosecond)}};
  for (const auto& [name, lengths] : units) {
    const Outcome sliced = serve(Variant::kTimeSlices, service, lengths);
    const Outcome policy = serve(Variant::kLaw, service, lengths);
    print(name, "alone", alone, alone);
    print(name, "time slices", sliced, alone);
    print(name, "law", policy, alone);
    EXPECT_EQ(policy.fault, "");
    EXPECT_EQ(policy.served, alone.served);
    EXPECT_LE(static_cast<double>(policy.p99), 1.07 * static_cast<double>(alone.p99)) << name;
    EXPECT_LT(policy.p99, sliced.p99) << name;
    EXPECT_GE(policy.gaps_used, 0.75) << name;
  }
}

// Arrivals of a Poisson process tell nothing of the next: whoever runs in the gaps is met in the
// middle of a unit as often as it has the card. 200,000 requests, as 20,000 leave the difference of
// two 99th percentiles uncertain by half a point.
TEST(Priority, HalfMillisecondUnits_LatencyKept) {
  Service service;
  service.requests = 200'000;
  const Outcome alone = serve(Variant::kAlone, service, fixed(kMillisecond));
  for (const Nanos unit : {250 * kMicrosecond, 500 * kMicrosecond}) {
    const Outcome policy = serve(Variant::kLaw, service, fixed(unit));
    const std::string name = std::to_string(unit / kMicrosecond) + " us, 200,000";
    print(name.c_str(), "law", policy, alone);
    EXPECT_EQ(policy.fault, "");
    EXPECT_EQ(policy.served, alone.served);
    EXPECT_LE(static_cast<double>(policy.p99), 1.07 * static_cast<double>(alone.p99)) << name;
    EXPECT_GE(policy.gaps_used, 0.75) << name;
  }
}

// Who keeps the card for longer than requests last is not sent away for the few that would miss it.
TEST(Priority, LongUnits_KeepTheGaps) {
  Service service;
  service.requests = 8'000;
  const Outcome alone = serve(Variant::kAlone, service, fixed(kMillisecond));
  const std::vector<std::pair<Nanos, double>> units = {
      {kMillisecond, 0.75}, {5 * kMillisecond, 0.93}, {20 * kMillisecond, 0.95}};
  for (const auto& [unit, least] : units) {
    const Outcome sliced = serve(Variant::kTimeSlices, service, fixed(unit));
    const Outcome policy = serve(Variant::kLaw, service, fixed(unit));
    const std::string name = std::to_string(unit / kMillisecond) + " ms";
    print(name.c_str(), "law", policy, alone);
    EXPECT_EQ(policy.fault, "");
    EXPECT_LT(policy.p99, sliced.p99) << name;
    EXPECT_GE(policy.gaps_used, least) << name;
  }
}

TEST(Priority, OtherRates_LatencyKept) {
  for (const double rate : {50.0, 200.0}) {
    Service service;
    service.per_second = rate;
    service.requests = 8'000;
    const Outcome alone = serve(Variant::kAlone, service, fixed(kMillisecond));
    const Outcome policy = serve(Variant::kLaw, service, fixed(100 * kMicrosecond));
    print(rate < 100 ? "0.1 ms, 50/s" : "0.1 ms, 200/s", "law", policy, alone);
    EXPECT_EQ(policy.fault, "");
    EXPECT_LE(static_cast<double>(policy.p99), 1.07 * static_cast<double>(alone.p99));
    EXPECT_GE(policy.gaps_used, 0.75);
  }
}

// Gaps between the launches of one request are no gaps: nobody is let in for what they last.
TEST(Priority, GapsWithinRequests_NotEntered) {
  for (const Nanos between :
       {50 * kMicrosecond, 300 * kMicrosecond, 600 * kMicrosecond, kMillisecond}) {
    Service service;
    service.per_second = 20;
    service.requests = 2'000;
    service.between = between;
    const Outcome alone = serve(Variant::kAlone, service, fixed(kMillisecond));
    const Outcome policy = serve(Variant::kLaw, service, fixed(100 * kMicrosecond));
    const std::string name = "gaps " + std::to_string(between / kMicrosecond) + " us";
    print(name.c_str(), "law", policy, alone);
    EXPECT_EQ(policy.fault, "");
    // Ten entries would cost each request ten delays of 0.2 ms and more.
    EXPECT_LE(policy.p50, alone.p50 + 600 * kMicrosecond) << name;
  }
}

TEST(Priority, BusyLatencyClass_LowerKeepMinimum) {
  Settings settings;
  World world(settings);
  const unsigned front = world.add({.cls = PriorityClass::kLatency}, endless(fixed(kMillisecond)));
  const unsigned normal =
      world.add({.cls = PriorityClass::kNormal}, endless(fixed(300 * kMicrosecond)));
  const unsigned low =
      world.add({.cls = PriorityClass::kBestEffort}, endless(fixed(100 * kMicrosecond)));
  Record record(&world, {front, normal, low});
  record.runFor(40 * kSecond);
  ASSERT_EQ(world.fault(), "");
  std::printf("beside a busy latency class: %.3f, normal %.3f, best effort %.3f, in all %.3f\n",
              record.share(0), record.share(1), record.share(2), record.total());
  for (unsigned below : {1u, 2u}) {
    EXPECT_GE(record.least(below, 10 * kSecond), 4.5);
    EXPECT_LE(record.most(below, 10 * kSecond), 8.0);
  }
}

TEST(Priority, NormalBeforeBestEffort_RunsAtFullDuty) {
  Settings settings;
  World world(settings);
  const unsigned front =
      world.add({.cls = PriorityClass::kNormal},
                dutyCycled(fixed(kMillisecond), 200 * kMillisecond, 200 * kMillisecond));
  const unsigned low = world.add({.cls = PriorityClass::kBestEffort}, endless(fixed(kMillisecond)));
  Record record(&world, {front, low});
  record.runFor(10 * kSecond);
  ASSERT_EQ(world.fault(), "");
  EXPECT_NEAR(record.share(0), 0.5, 0.03);
  EXPECT_GE(record.total(), 0.97);
}

}  // namespace
}  // namespace divvy::arbiter::world
