// Days as JSON and as pictures.
#include "simulator/chart.h"
#include "simulator/day.h"
#include "simulator/plan.h"
#include "text/format.h"

namespace divvy::simulator {
namespace {

struct ViewField {
  const char* key;
  double DayStats::*field;
};
constexpr ViewField kMembers[] = {{"pods", &DayStats::pods},
                                  {"work_gpu_hours", &DayStats::work_hours},
                                  {"undone_gpu_hours", &DayStats::undone_hours},
                                  {"lost_gpu_hours", &DayStats::lost_hours},
                                  {"gpu_hours", &DayStats::gpu_hours},
                                  {"gpus_peak", &DayStats::gpus_peak},
                                  {"utilisation_pct", &DayStats::utilisation},
                                  {"cost", &DayStats::cost},
                                  {"wait_p50_s", &DayStats::wait_p50},
                                  {"wait_p99_s", &DayStats::wait_p99},
                                  {"high_wait_p99_s", &DayStats::urgent_wait_p99},
                                  {"slowdown_p50", &DayStats::slowdown_p50},
                                  {"slowdown_p99", &DayStats::slowdown_p99},
                                  {"high_slowdown_p99", &DayStats::urgent_slowdown_p99},
                                  {"fetch_p99_s", &DayStats::fetch_p99},
                                  {"high_fetch_p99_s", &DayStats::urgent_fetch_p99},
                                  {"fetches_pct", &DayStats::fetches_percent},
                                  {"fetched_tb", &DayStats::fetched_tb},
                                  {"evictions", &DayStats::evictions},
                                  {"stops", &DayStats::stops},
                                  {"safe_overcommit_milli", &DayStats::safe_overcommit}};

std::string nameOfRow(const DayStats& row) {
  if (row.overcommit == 0) return "a device each";
  const std::string daily = dailyWord(row.daily);
  return "shared, " + overcommitWord(row.overcommit) + (daily == "off" ? "" : ", days: " + daily);
}

std::string rowOf(const Scenario& scenario, const DayResult& result, std::size_t at) {
  const DayStats& row = result.rows[at];
  std::string text =
      "    {\"overcommit\": " + (row.overcommit == 0 ? "null" : overcommitWord(row.overcommit)) +
      ", \"daily\": " + quoted(dailyWord(row.daily)) +
      ", \"saved_pct\": " + number(savedPercent(result, at));
  for (const ViewField& member : kMembers) {
    text += std::string(",\n     ") + quoted(member.key) + ": " + number(row.*member.field);
  }
  std::string clusters;
  for (std::size_t i = 0; i < scenario.clusters.size(); ++i) {
    clusters += (i == 0 ? "" : ", ") + quoted(scenario.clusters[i].name) + ": " +
                number(row.cluster_gpu_hours[i]);
  }
  text += ",\n     \"cluster_gpu_hours\": {" + clusters + "}";
  std::string hours, used, busy;
  for (const DaySample& sample : row.curve) {
    const std::string comma = hours.empty() ? "" : ", ";
    hours += comma + number(sample.hour, 2);
    used += comma + number(sample.used, 2);
    busy += comma + number(sample.busy, 2);
  }
  return text + ",\n     \"course\": {\"hour\": [" + hours + "],\n       \"used\": [" + used +
         "],\n       \"busy\": [" + busy + "]}}";
}

void addTo(const DayResult& result, std::size_t at, bool by_day, Line* lines) {
  const DayStats& row = result.rows[at];
  const double promised = row.overcommit / 1000.0;
  lines[0].points.emplace_back(promised, savedPercent(result, at));
  lines[1].points.emplace_back(promised, by_day ? row.fetches_percent : row.utilisation);
  // Beyond, the others could not be read any more; the table has it.
  const double slowed = 100 * (row.slowdown_p50 - 1);
  if (!by_day && slowed <= 200) lines[2].points.emplace_back(promised, slowed);
}

// Where days count in several ways, two lines for each of them.
Panel curveOf(const Scenario& scenario, const DayResult& result) {
  const bool by_day = scenario.sharing.daily.size() > 1;
  const std::size_t each = scenario.sharing.overcommit.size();
  Panel panel{"What more promised memory gives, and takes",
              "memory promised, times what a device has",
              by_day ? "percent" : "percent (slowed: by so much, at least)",
              {},
              0};
  for (std::size_t i = 1; i < result.rows.size(); i += each) {
    const std::string of = by_day ? ", " + dailyWord(result.rows[i].daily) : "";
    std::vector<Line> lines{{"GPU-hours saved" + of, {}},
                            {by_day ? "waits for memory" + of : "used GPUs busy", {}}};
    if (!by_day) lines.push_back({"work slowed, half", {}});
    for (std::size_t k = i; k < i + each; ++k) addTo(result, k, by_day, lines.data());
    panel.lines.insert(panel.lines.end(), lines.begin(), lines.end());
  }
  return panel;
}

}  // namespace

std::string dailyWord(const engine::UsageByHourPolicy& daily) {
  if (daily.avoid_above > 0) return overcommitWord(daily.avoid_above);
  return daily.ties ? "ties" : "off";
}

std::string json(const Scenario& scenario, const DayResult& result) {
  std::string sources, seeds, rows;
  for (const std::string& source : scenario.sources)
    sources += (sources.empty() ? "" : ", ") + quoted(source);
  for (const std::uint64_t seed : result.seeds)
    seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    rows += (i == 0 ? "\n" : ",\n") + rowOf(scenario, result, i);
  return "{\n  \"scenario\": " + quoted(scenario.name) +
         ",\n  \"claim\": " + quoted(scenario.claim) + ",\n  \"sources\": [" + sources +
         "],\n  \"hours\": " + number(scenario.hours, 2) +
         ",\n  \"policy\": " + quoted(nameOf(scenario.sharing.policy)) + ",\n  \"seeds\": [" +
         seeds + "],\n  \"rows\": [" + rows + "\n  ]\n}\n";
}

std::string svg(const Scenario& scenario, const DayResult& result) {
  Panel used{"GPUs with tenants, by hour", "hour", "GPUs", {}, 0};
  for (const DayStats& row : result.rows) {
    // Not all of many: each way to look at days with the most that is promised.
    const bool most = row.overcommit == scenario.sharing.overcommit.back();
    if (scenario.sharing.daily.size() > 1 && row.overcommit != 0 && !most) continue;
    Line& line = used.lines.emplace_back();
    line.name = nameOfRow(row);
    for (const DaySample& sample : row.curve) line.points.emplace_back(sample.hour, sample.used);
  }
  Line& busy = used.lines.emplace_back();
  busy.name = "GPUs of work, a device each";
  for (const DaySample& sample : result.rows.front().curve)
    busy.points.emplace_back(sample.hour, sample.busy);
  return svg(scenario.name, {curveOf(scenario, result), used});
}

}  // namespace divvy::simulator
