// Days as JSON and as pictures.
#include "simulator/chart.h"
#include "simulator/day.h"
#include "simulator/plan.h"
#include "words.h"

namespace divvy::simulator {
namespace {

struct Member {
  const char* key;
  double DayFigures::*field;
};
constexpr Member kMembers[] = {{"pods", &DayFigures::pods},
                               {"work_gpu_hours", &DayFigures::work_hours},
                               {"undone_gpu_hours", &DayFigures::undone_hours},
                               {"lost_gpu_hours", &DayFigures::lost_hours},
                               {"gpu_hours", &DayFigures::gpu_hours},
                               {"gpus_peak", &DayFigures::gpus_peak},
                               {"utilisation_pct", &DayFigures::utilisation},
                               {"cost", &DayFigures::cost},
                               {"wait_p50_s", &DayFigures::wait_p50},
                               {"wait_p99_s", &DayFigures::wait_p99},
                               {"high_wait_p99_s", &DayFigures::urgent_wait_p99},
                               {"slowdown_p50", &DayFigures::slowdown_p50},
                               {"slowdown_p99", &DayFigures::slowdown_p99},
                               {"high_slowdown_p99", &DayFigures::urgent_slowdown_p99},
                               {"fetch_p99_s", &DayFigures::fetch_p99},
                               {"high_fetch_p99_s", &DayFigures::urgent_fetch_p99},
                               {"fetches_pct", &DayFigures::fetches_percent},
                               {"fetched_tb", &DayFigures::fetched_tb},
                               {"evictions", &DayFigures::evictions},
                               {"stops", &DayFigures::stops},
                               {"safe_overcommit_milli", &DayFigures::safe_overcommit}};

std::string nameOfRow(const DayFigures& row) {
  if (row.overcommit == 0) return "a card each";
  const std::string daily = dailyWord(row.daily);
  return "shared, " + overcommitWord(row.overcommit) + (daily == "off" ? "" : ", days: " + daily);
}

std::string rowOf(const Scenario& scenario, const DayResult& result, std::size_t at) {
  const DayFigures& row = result.rows[at];
  std::string text =
      "    {\"overcommit\": " + (row.overcommit == 0 ? "null" : overcommitWord(row.overcommit)) +
      ", \"daily\": " + quoted(dailyWord(row.daily)) +
      ", \"saved_pct\": " + number(savedPercent(result, at));
  for (const Member& member : kMembers) {
    text += std::string(",\n     ") + quoted(member.key) + ": " + number(row.*member.field);
  }
  std::string clusters;
  for (std::size_t i = 0; i < scenario.clusters.size(); ++i) {
    clusters += (i == 0 ? "" : ", ") + quoted(scenario.clusters[i].name) + ": " +
                number(row.cluster_gpu_hours[i]);
  }
  text += ",\n     \"cluster_gpu_hours\": {" + clusters + "}";
  std::string hours, used, busy;
  for (const DaySample& sample : row.course) {
    const std::string comma = hours.empty() ? "" : ", ";
    hours += comma + number(sample.hour, 2);
    used += comma + number(sample.used, 2);
    busy += comma + number(sample.busy, 2);
  }
  return text + ",\n     \"course\": {\"hour\": [" + hours + "],\n       \"used\": [" + used +
         "],\n       \"busy\": [" + busy + "]}}";
}

// Lines of its own for each way in which days count.
Panel curveOf(const DayResult& result) {
  Panel panel{"What more promised memory gives, and takes",
              "memory promised, times what a card has",
              "percent (slowed: by so much, at least)",
              {},
              0};
  std::string before;
  for (std::size_t i = 1; i < result.rows.size(); ++i) {
    const DayFigures& row = result.rows[i];
    const std::string daily = dailyWord(row.daily);
    if (i == 1 || daily != before) {
      const std::string of = daily == "off" ? "" : ", days: " + daily;
      panel.lines.push_back({"GPU-hours saved" + of, {}});
      panel.lines.push_back({"used GPUs busy" + of, {}});
      panel.lines.push_back({"work slowed, half" + of, {}});
    }
    before = daily;
    const std::size_t last = panel.lines.size();
    const double promised = row.overcommit / 1000.0;
    panel.lines[last - 3].points.emplace_back(promised, savedPercent(result, i));
    panel.lines[last - 2].points.emplace_back(promised, row.utilisation);
    // Beyond, the others could not be read any more; the table has it.
    const double slowed = 100 * (row.slowdown_p50 - 1);
    if (slowed <= 200) panel.lines[last - 1].points.emplace_back(promised, slowed);
  }
  return panel;
}

}  // namespace

std::string dailyWord(const engine::DailyPolicy& daily) {
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
  for (const DayFigures& row : result.rows) {
    Line& line = used.lines.emplace_back();
    line.name = nameOfRow(row);
    for (const DaySample& sample : row.course) line.points.emplace_back(sample.hour, sample.used);
  }
  Line& busy = used.lines.emplace_back();
  busy.name = "GPUs of work, a card each";
  for (const DaySample& sample : result.rows.front().course)
    busy.points.emplace_back(sample.hour, sample.busy);
  return svg(scenario.name, {curveOf(result), used});
}

}  // namespace divvy::simulator
