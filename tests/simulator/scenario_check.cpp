#include "scenario_check.h"

#include <algorithm>

#include "simulator/day.h"

namespace divvy::simulator {
namespace {

// Small enough to be run for every input.
bool small(const Scenario& scenario) {
  double load = 0;
  for (const Cluster& cluster : scenario.clusters) load += cluster.nodes * cluster.gpus / 4.0;
  for (const DayWorkload& workload : scenario.workloads) {
    const auto step = static_cast<double>(workload.kind == PodKind::kBatch
                                              ? 3'600'000
                                              : std::max<std::int64_t>(workload.duty.burst_ms, 1));
    load += workload.per_hour * scenario.hours +
            workload.count * (1 + scenario.hours * 3'600'000 / step);
    if (workload.lifetime_ms > 0)
      load +=
          workload.count * scenario.hours * 3'600'000 / static_cast<double>(workload.lifetime_ms);
  }
  return load < 500;
}

}  // namespace

std::string faultOfScenario(std::string_view text, bool* read) {
  const Result<Scenario> scenario = parseScenario(text, "file");
  if (read != nullptr) *read = static_cast<bool>(scenario);
  if (!scenario) {
    const std::string& message = scenario.error().message();
    if (scenario.error().code() != ErrorCode::kUsage) return "not the reader's fault: " + message;
    if (!message.starts_with("file")) return "names no place: " + message;
    const bool plain = std::all_of(message.begin(), message.end(), [](char c) { return c >= ' '; });
    return plain ? "" : "holds control characters: " + message;
  }
  // Whatever is read can be run.
  if (!small(*scenario)) return "";
  for (const std::uint32_t overcommit : {0u, scenario->sharing.overcommit.back()}) {
    const Result<DayStats> day = runDay(*scenario, overcommit, 1);
    if (!day) return day.error().message();
    if (!(day->utilisation <= 100.001)) return "busier than there are cards";
  }
  return "";
}

}  // namespace divvy::simulator
