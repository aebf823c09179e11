// `divvy simulate day`.
#include <cstdio>

#include "commands/commands.h"
#include "files/simulate_files.h"
#include "simulator/day.h"
#include "simulator/plan.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using simulator::DayResult;
using simulator::DayStats;
using simulator::Scenario;

Result<Scenario> load(const DayOptions& options) {
  const Result<std::string> text = readFile(options.scenario, "a scenario in YAML");
  if (!text) return text.error();
  Result<Scenario> scenario = simulator::parseScenario(*text, options.scenario);
  if (scenario && !options.overcommit.empty()) scenario->sharing.overcommit = options.overcommit;
  return scenario;
}

void print(const DayResult& result, bool headers) {
  Table table({"OVERCOMMIT", "DAYS", "GPU-HOURS>", "SAVED>", "PEAK>", "BUSY>", "COST>", "WAIT>",
               "SLOWED>", "HIGH>", "FETCH>", "EVICTED>", "UNDONE>", "SAFE>"});
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const DayStats& row = result.rows[i];
    table.add({row.overcommit == 0 ? "device each" : simulator::overcommitWord(row.overcommit),
               row.overcommit == 0 ? "" : simulator::dailyWord(row.daily), fixed(row.gpu_hours, 0),
               fixed(savedPercent(result, i), 1) + "%", fixed(row.gpus_peak, 0),
               fixed(row.utilisation, 1) + "%", fixed(row.cost, 0), fixed(row.wait_p99, 0) + "s",
               fixed(row.slowdown_p99, 2), fixed(row.urgent_slowdown_p99, 2),
               fixed(row.fetch_p99, 1) + "s", fixed(row.evictions, 0), fixed(row.undone_hours, 0),
               fixed(row.safe_overcommit / 1000, 2)});
  }
  std::fputs(table.text(headers, outputWidth()).c_str(), stdout);
}

}  // namespace

int simulateDay(const DayOptions& options) {
  const Result<Scenario> scenario = load(options);
  if (!scenario) return fail(scenario.error());
  const Result<void> writable = checkWritable({options.json, options.svg});
  if (!writable) return fail(writable.error());
  std::vector<std::uint64_t> seeds;
  for (unsigned i = 0; i < options.seeds; ++i) seeds.push_back(options.first_seed + i);
  Result<DayResult> result = DayResult{};
  {
    ProgressBar bar;
    result = simulator::runDays(*scenario, seeds, jobsOf(options.jobs), bar.progress());
  }
  if (!result) return fail(result.error());
  const std::string json = simulator::json(*scenario, *result);
  if (options.output.json) {
    std::fputs(json.c_str(), stdout);
  } else {
    print(*result, options.output.headers);
  }
  return writeFiles({{options.json, json}, {options.svg, simulator::svg(*scenario, *result)}});
}

}  // namespace divvy::cli
