#include "dataplane.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "law_cost.h"
#include "samples.h"
#include "stage.h"

namespace divvy::bench {
namespace {

using Say = std::function<void(const std::string&)>;

constexpr const char* kProfile = "null";        // answers every call at once
constexpr const char* kHolderProfile = "h100";  // keeps books, so that bytes can come back
constexpr const char* kLimitedCores = "30";
constexpr const char* kNeighbourCores = "70";
constexpr const char* kNeighbourMemory = "1Gi";
constexpr const char* kSwappedMemory = "2Gi";
// A grant that is taken back now and then is no measurement of one that holds.
constexpr double kMinUndisturbed = 0.5;
// What "flat" tolerates over the plain figure: the noise of this method on a busy machine.
constexpr double kFlatFactor = 1.15;
constexpr double kFlatNs = 5;
// Starts are short and their times scatter: more rounds than for other figures.
constexpr int kStartRounds = 3;
// Half a GiB each.
constexpr int kMaxRealContexts = 8;
// "0" is judged at the resolution of one batch.
constexpr double kZeroNs = 0.3;

enum class Compute {
  kOwn,      // no option
  kShare,    // its part of the card, and nobody to share it with: the gate is open
  kGated,    // the same with a neighbour: every launch is one under a grant
  kSwapped,  // no option, but its memory can be swapped: likewise
};

struct Case {
  const char* key;
  const char* call;
  int workers;
  int idle;
  Compute compute;
  double bar;  // ns; NaN: flat, compared with alloc_free_1p
};

constexpr double kFlat = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<Case, 12> kCases{{
    {"launch_unlimited", "launch", 1, 0, Compute::kOwn, 5},
    {"launch_limited_1p", "launch", 1, 0, Compute::kShare, 12},
    {"launch_limited_4p", "launch", 4, 0, Compute::kShare, 15},
    {"launch_gated_1p", "launch", 1, 0, Compute::kGated, 12},
    {"launch_gated_4p", "launch", 4, 0, Compute::kGated, 15},
    {"alloc_free_1p", "alloc_free", 1, 0, Compute::kOwn, 100},
    {"alloc_free_4p", "alloc_free", 4, 0, Compute::kOwn, 150},
    {"alloc_free_10k_live", "alloc_free_10k_live", 1, 0, Compute::kOwn, kFlat},
    {"alloc_free_64_registered", "alloc_free", 1, 63, Compute::kOwn, kFlat},
    {"mem_info", "mem_info", 1, 0, Compute::kOwn, 30},
    {"untouched", "untouched", 1, 0, Compute::kOwn, 2},
    {"untouched_lookup", "untouched_lookup", 1, 0, Compute::kOwn, kZeroNs},
}};

// Both sides of one case, in turns, so that a busy neighbour disturbs both alike.
Figure measureCase(const Case& one, const DataplanePlan& plan, const Stage& stage) {
  const std::vector<std::string> probe = {one.call,
                                          "--workers",
                                          std::to_string(one.workers),
                                          "--idle",
                                          std::to_string(one.idle),
                                          "--operations",
                                          std::to_string(plan.operations),
                                          "--batches",
                                          std::to_string(plan.batches)};
  Share share;
  if (one.compute == Compute::kShare || one.compute == Compute::kGated) share.cores = kLimitedCores;
  const bool swapped = one.compute == Compute::kSwapped;
  if (swapped) share.memory = kSwappedMemory;
  const bool gated = one.compute == Compute::kGated || swapped;
  std::vector<std::string> divvied_probe = probe;
  if (gated) divvied_probe.insert(divvied_probe.end(), {"--granted", "1"});
  std::unique_ptr<Companion> neighbour;
  if (gated && !swapped) neighbour = stage.neighbour(kProfile, {kNeighbourMemory, kNeighbourCores});
  Samples bare;
  Samples divvied;
  for (int round = 0; round < plan.rounds; ++round) {
    append(bare, samplesOf(stage.bare(probe, kProfile), "batch"));
    const std::string output = stage.divvied(divvied_probe, kProfile, share);
    append(divvied, samplesOf(output, gated ? "granted" : "batch"));
  }
  if (static_cast<double>(divvied.size()) < kMinUndisturbed * static_cast<double>(bare.size())) {
    throw std::runtime_error(std::string(one.key) + ": most launches were not under a grant");
  }
  Figure figure{"added_ns", one.key, median(divvied) - median(bare), {}, {}, {}};
  figure.bare = median(bare);
  figure.divvied = median(divvied);
  figure.bar = one.bar;
  return figure;
}

// On a card that is promised more than once.
void measureSwapped(const DataplanePlan& plan, const Say& say, Report& report) {
  constexpr Case kCase{"launch_swappable_1p", "launch_on_block", 1, 0, Compute::kSwapped, kFlat};
  say(std::string("added_ns/") + kCase.key);
  const Stage stage(Driver::kSimulated, {"DIVVY_OVERCOMMIT=1.5", "DIVVY_HOST_RESERVE=1Gi"});
  Figure figure = measureCase(kCase, plan, stage);
  figure.bar.reset();
  report.figures.push_back(figure);
}

void measureCases(const DataplanePlan& plan, const Stage& stage, const Say& say, Report& report) {
  double alloc_free = 0;
  for (const Case& one : kCases) {
    if (plan.real && one.idle > kMaxRealContexts) continue;
    say(std::string("added_ns/") + one.key);
    Figure figure = measureCase(one, plan, stage);
    if (figure.key == "alloc_free_1p") alloc_free = std::max(figure.value, 0.0);
    if (std::isnan(one.bar)) figure.bar = alloc_free * kFlatFactor + kFlatNs;
    report.figures.push_back(figure);
  }
}

// One of the times that the probe tells of each start, and what is made of a run's many.
struct StartTime {
  const char* line;
  const char* group;
  const char* key;
  double fraction;
  std::optional<double> bar;
};

// Per round one sample and its difference: what the machine does meanwhile changes slowly, so a
// round's two runs, one right after the other, meet about the same. The median of the rounds, so
// that one which other programs disturbed does not decide. Who goes first alternates.
void measureStart(int processes, const std::vector<StartTime>& times, const DataplanePlan& plan,
                  const Stage& stage, Report& report) {
  const std::string repeats = processes == 1 ? "11" : "1";
  const std::vector<std::string> probe = {"startup", std::to_string(processes), repeats};
  std::vector<std::array<Samples, 3>> samples(times.size());  // bare, divvied, difference
  for (int round = 0; round < plan.rounds * kStartRounds; ++round) {
    std::string outputs[2];
    for (int turn = 0; turn < 2; ++turn) {
      const int side = (round + turn) % 2;
      outputs[side] = side == 0 ? stage.bare(probe, kProfile) : stage.divvied(probe, kProfile, {});
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
      double value[2];
      for (int side = 0; side < 2; ++side) {
        value[side] = percentile(samplesOf(outputs[side], times[i].line), times[i].fraction);
        samples[i][static_cast<std::size_t>(side)].push_back(value[side]);
      }
      samples[i][2].push_back(value[1] - value[0]);
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& [bare, divvied, added] = samples[i];
    report.figures.push_back(
        {times[i].group, times[i].key, median(added), median(bare), median(divvied), times[i].bar});
  }
}

void measureStartup(const DataplanePlan& plan, const Stage& stage, const Say& say, Report& report) {
  say("startup_ms/1");
  measureStart(1,
               {{"init", "startup_ms", "1", 0.5, 2},
                {"exec", "startup_ms", "1_from_exec", 0.5, {}},
                {"cpu", "startup_cpu_ms", "1", 0.5, {}}},
               plan, stage, report);
  if (plan.real) return;  // 200 at once last minutes there
  say("startup_ms/200_p99");
  measureStart(200,
               {{"init", "startup_ms", "200_p99", 0.99, 50},
                {"cpu", "startup_cpu_ms", "200_median", 0.5, {}}},
               plan, stage, report);
}

// The longest wait of any trial, for the next small operation or for the victim's bytes.
void measureHolder(const Stage& stage, const Say& say, Report& report) {
  say("holder_killed_ms");
  Share share;
  share.memory = "2Gi";
  const std::string output = stage.divvied({"holder", "30"}, kHolderProfile, share);
  const double gap = largest(samplesOf(output, "gap"));
  const double back = largest(samplesOf(output, "back"));
  const double lost = largest(samplesOf(output, "lost"));
  report.figures.push_back({"", "holder_killed_ms", std::max(gap, back), {}, {}, 100});
  report.figures.push_back({"", "holder_killed_gap_ms", gap, {}, {}, {}});
  report.figures.push_back({"", "holder_killed_lost_bytes", std::abs(lost), {}, {}, 0});
}

// Driver calls of 20,000 launches, start and end of the process taken out by a second, shorter run.
// The agent that the first run starts makes calls of its own, so that one is not counted.
double callsPerThousand(const std::function<void(int operations)>& launch, const Stage& stage) {
  constexpr int kMany = 21'000;
  constexpr int kFew = 1'000;
  launch(1);
  const std::uint64_t start = stage.calls();
  launch(kFew);
  const std::uint64_t middle = stage.calls();
  launch(kMany);
  const std::uint64_t end = stage.calls();
  const double difference = static_cast<double>(end - middle) - static_cast<double>(middle - start);
  return difference * 1000 / (kMany - kFew);
}

void measureCalls(const Say& say, Report& report) {
  const Stage stage(Driver::kCounted);
  const auto probe = [](int operations) {
    return std::vector<std::string>{"launch", "--batches", "1", "--operations",
                                    std::to_string(operations)};
  };
  for (const char* cores : {"", kLimitedCores}) {
    const std::string key = *cores == '\0' ? "launch_unlimited" : "launch_limited_1p";
    say("driver_calls_per_1000/" + key);
    const Share share{Share{}.memory, cores};
    Figure figure{"driver_calls_per_1000", key, 0, {}, {}, {}};
    figure.bare = callsPerThousand([&](int n) { stage.bare(probe(n), kProfile); }, stage);
    figure.divvied =
        callsPerThousand([&](int n) { stage.divvied(probe(n), kProfile, share); }, stage);
    figure.value = *figure.divvied - *figure.bare;
    report.figures.push_back(figure);
  }
}

}  // namespace

Report measureDataplane(const DataplanePlan& plan, const Say& say) {
  Report report;
  report.date = today();
  report.host = hostName();
  const Stage stage(plan.real ? Driver::kReal : Driver::kSimulated);
  std::string name = stage.bare({"name"}, kProfile);
  name.erase(name.find_last_not_of('\n') + 1);
  report.driver = name;
  measureCases(plan, stage, say, report);
  if (!plan.real) measureSwapped(plan, say, report);
  measureStartup(plan, stage, say, report);
  if (!plan.real) measureHolder(stage, say, report);
  if (!plan.real) measureCalls(say, report);
  say("arbiter_decide_ns");
  measureLawCost(report);
  return report;
}

}  // namespace divvy::bench
