// Outcomes as a picture.
#include "simulator/chart.h"
#include "simulator/runs.h"

namespace divvy::simulator {
namespace {

// Below, all policies give all that is asked for.
constexpr std::size_t kFirstShown = 60;

}  // namespace

std::string svg(const Runs& runs, const std::vector<WorkloadResult>& outcomes) {
  std::vector<Panel> panels;
  for (const WorkloadResult& outcome : outcomes) {
    if (panels.empty() || panels.back().title != outcome.workload) {
      panels.push_back(
          {outcome.workload, "GPUs asked for, % of all", "GPUs given, % of all", {}, {}});
    }
    Line& line = panels.back().lines.emplace_back();
    line.name = nameOf(outcome.policy);
    for (std::size_t x = kFirstShown; x < kArrivals; ++x) {
      line.points.emplace_back(static_cast<double>(x), outcome.curve.allocated[x]);
    }
  }
  return svg("openb: mean of " + std::to_string(runs.seeds.size()) + " orders of arrival", panels);
}

}  // namespace divvy::simulator
