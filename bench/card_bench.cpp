#include "card_bench.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "stage.h"
#include "wakeup.h"

namespace divvy::bench {
namespace {

constexpr int kPreferred = -20;

bool preferred() {
  return sched_getscheduler(0) == SCHED_RR || getpriority(PRIO_PROCESS, 0) == kPreferred;
}

// Threads and processes made later inherit it.
void prefer() {
  const sched_param lowest{sched_get_priority_min(SCHED_RR)};
  if (sched_setscheduler(0, SCHED_RR, &lowest) != 0) setpriority(PRIO_PROCESS, 0, kPreferred);
}

}  // namespace

std::vector<std::string> cardProducts() {
  return {"bin/divvy", "lib/libdivvy-cuda.so", "bench/divvy-bench-load"};
}

// All programs of the bench, Divvy's agents too, are preferred to others on this machine, where
// that is allowed: builds beside it are not what is measured.
CardHall::CardHall(const CardBenchPlan& plan) : plan_(plan) {
  prefer();
  floor_.build = buildDirectory(cardProducts());
  floor_.private_dir = makePrivateDirectory();
  floor_.real = plan.real;
  floor_.profile = plan.profile;
  floor_.speed_permille = plan.real ? 1000 : 1000 / plan.slower;
  stalls_ = std::make_unique<StallWatch>(floor_.private_dir / "stalls");
  // A real card runs on while the machine stands still.
  if (!plan.real && plan.cut_stalls) floor_.stalls = stalls_.get();
}

CardHall::~CardHall() {
  std::error_code ignored;
  std::filesystem::remove_all(floor_.private_dir, ignored);
}

std::string CardHall::stallNote(Report& report) const {
  const Spans stalls = stalls_->seen();
  double seconds = 0;
  double longest = 0;
  for (const Span& stall : stalls) {
    seconds += stall.seconds();
    longest = std::max(longest, stall.seconds());
  }
  report.figures.push_back(
      detail("machine_stood_still", "times", static_cast<double>(stalls.size())));
  report.figures.push_back(detail("machine_stood_still", "seconds", seconds));
  report.figures.push_back(detail("machine_stood_still", "longest_ms", longest * 1e3));
  if (stalls.empty()) return "";
  char line[160];
  std::snprintf(
      line, sizeof line, "this machine stood still %zu times, %.2f s in all, %.0f ms at most%s\n",
      stalls.size(), seconds, longest * 1e3, plan_.real || !plan_.cut_stalls ? "" : ": cut out");
  return line;
}

CardFloor CardHall::floor() const {
  return floor_;
}

CardFloor CardHall::unscaledFloor() const {
  CardFloor floor = floor_;
  floor.speed_permille = 1000;
  return floor;
}

std::vector<CardOutcome> CardHall::run(const std::vector<CardPlan>& plans) const {
  return runOnCards(floor_, plans, plan_.real ? 1 : plan_.cards);
}

Report headOf(const CardBenchPlan& plan) {
  Report report;
  if (!preferred()) {
    report.notes = "not preferred to other programs: what else ran here is part of the figures\n";
  }
  report.date = today();
  report.host = hostName();
  report.driver = plan.real
                      ? "this machine's card"
                      : "simgpu " + plan.profile + ", 1/" + std::to_string(plan.slower) + " speed";
  return report;
}

Figure detail(std::string group, std::string key, double value) {
  Figure figure{std::move(group), std::move(key), value, {}, {}, {}};
  figure.detail = true;
  return figure;
}

Figure atMost(std::string group, std::string key, double value, double bar) {
  return {std::move(group), std::move(key), value, {}, {}, bar};
}

Figure atLeast(std::string group, std::string key, double value, double bar) {
  Figure figure = atMost(std::move(group), std::move(key), value, bar);
  figure.at_least = true;
  return figure;
}

std::string addWakeups(Report& report) {
  const WakeupLatency late = measureWakeups();
  const double futex[2] = {median(late.futex_us), percentile(late.futex_us, 0.99)};
  const double sleep[2] = {median(late.sleep_us), percentile(late.sleep_us, 0.99)};
  report.figures.push_back(detail("wakeup_us", "futex_median", futex[0]));
  report.figures.push_back(detail("wakeup_us", "futex_p99", futex[1]));
  report.figures.push_back(detail("wakeup_us", "sleep_1ms_late_median", sleep[0]));
  report.figures.push_back(detail("wakeup_us", "sleep_1ms_late_p99", sleep[1]));
  char line[160];
  std::snprintf(line, sizeof line,
                "this machine wakes a sleeper in %.0f us (p99 %.0f), a sleep of 1 ms is %.0f us\n"
                "late (p99 %.0f)\n",
                futex[0], futex[1], sleep[0], sleep[1]);
  return line;
}

CpuShare cpuShare(const CardRecord& record) {
  CpuShare share;
  const double wall_ms = record.whole().seconds() * 1e3;
  const auto tenants = static_cast<double>(record.tenants.size());
  if (wall_ms <= 0) return share;
  for (const TenantRecord& tenant : record.tenants) {
    share.tenant += 100 * tenant.divvy_ms / wall_ms / tenants;
  }
  for (const auto& [name, ms] : record.agent_ms) {
    if (name.find("arbiter") != std::string::npos) share.arbiter += 100 * ms / wall_ms / tenants;
  }
  return share;
}

}  // namespace divvy::bench
