#include "law_cost.h"

#include <time.h>

#include <vector>

#include "arbiter/policy.h"
#include "samples.h"

namespace divvy::bench {
namespace {

using namespace divvy::arbiter;

constexpr unsigned kSteps = 20'000;
constexpr int kCourses = 11;
constexpr Nanos kStep = 200 * kMicrosecond;

double processorNanos() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// Tenants that all want to run; the arbiter's thread reports who runs and asks the law, step by
// step.
double nanosPerStep(unsigned tenants) {
  SchedulingPolicy law(Constants{});
  std::vector<TenantKey> keys;
  std::vector<arbiter::Report> reports(tenants);
  Nanos now = kSecond;
  for (unsigned i = 0; i < tenants; ++i) {
    keys.push_back(law.add(Entitlement{}, now));
    law.setProcesses(keys.back(), 1, now);
    reports[i].in_flight = true;
    law.report(keys[i], reports[i], now);
  }
  std::uint64_t seq = 0;
  unsigned running = 0;
  const double began = processorNanos();
  for (unsigned step = 0; step < kSteps; ++step) {
    now += kStep;
    reports[running].busy[0] += kStep;
    law.report(keys[running], reports[running], now);
    for (const Order& order : law.decide(now)) {
      law.issued(order, ++seq);
      const auto at = static_cast<unsigned>(order.tenant - keys[0]);
      if (order.gate == Gate::kRun) running = at;
      if (order.gate != Gate::kHold) continue;
      // Drained by the next step.
      reports[at].drained = seq;
      law.report(keys[at], reports[at], now);
    }
  }
  return (processorNanos() - began) / kSteps;
}

}  // namespace

void measureLawCost(Report& report) {
  for (const unsigned tenants : {2u, 8u, 64u}) {
    Samples samples;
    for (int course = 0; course < kCourses; ++course) samples.push_back(nanosPerStep(tenants));
    report.figures.push_back(
        {"arbiter_decide_ns", std::to_string(tenants), median(samples), {}, {}, {}});
  }
}

}  // namespace divvy::bench
