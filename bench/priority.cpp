#include "priority.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "arrivals.h"

namespace divvy::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kSeed = 20'260'131;
constexpr int kLaunches = 10;
constexpr double kLaunchUs = 200;  // ten of them: requests of 2 ms

enum class Variant { kAlone, kTimeslice, kDivvy };
constexpr Variant kVariants[] = {Variant::kAlone, Variant::kTimeslice, Variant::kDivvy};

const char* nameOf(Variant variant) {
  switch (variant) {
    case Variant::kAlone:
      return "alone";
    case Variant::kTimeslice:
      return "timeslice";
    default:
      return "divvy";
  }
}

// Requests at a rate beside best-effort work in units of a size; its arrivals in equal parts that
// run on a card each.
struct PriorityCase {
  double per_second;
  double unit_ms;
  std::size_t arrivals;
  std::size_t parts = 1;
  bool judged = false;

  std::string name() const {
    char text[64];
    std::snprintf(text, sizeof text, "rate%g_unit%g", per_second, unit_ms);
    return text;
  }
};

std::string word(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

CardPlan planOf(const PriorityCase& one, Variant variant, std::size_t part) {
  const std::size_t count = one.arrivals / one.parts;
  const std::size_t first = part * count;
  const auto all = poissonArrivals(kSeed, one.per_second, first + count);
  const double seconds = static_cast<double>(all.back() - (first == 0 ? 0 : all[first - 1])) / 1e9;
  CardPlan plan{one.name() + "-" + nameOf(variant) + "-" + std::to_string(part),
                {},
                variant == Variant::kDivvy,
                seconds + 1};
  plan.tenants.push_back(
      {"service",
       {"latency", "--per-second", word(one.per_second), "--seed", std::to_string(kSeed), "--first",
        std::to_string(first), "--count", std::to_string(count), "--launches",
        std::to_string(kLaunches), "--unit-us", word(kLaunchUs)},
       {"--priority", "high"}});
  if (variant != Variant::kAlone) {
    plan.tenants.push_back({"trainer",
                            {"steady", "--unit-us", word(one.unit_ms * 1000), "--seconds",
                             std::to_string(seconds + 0.3)},
                            {"--priority", "low"}});
  }
  return plan;
}

// Of all parts of a case in one variant.
struct Outcome {
  Samples latency_ms;
  Samples pause_ms;
  double gaps_s = 0;
  double filled_s = 0;
  bool failed = false;

  double gapShare() const { return gaps_s > 0 ? filled_s / gaps_s : kNan; }
  double p(double fraction) const { return failed ? kNan : percentile(latency_ms, fraction); }
};

void add(const CardOutcome& ran, Outcome* out) {
  if (!ran.record) {
    out->failed = true;
    return;
  }
  const TenantRecord& service = ran.record->tenants[0];
  for (std::size_t i = 0; i < service.requests.size(); ++i) {
    out->latency_ms.push_back(static_cast<double>(service.requests[i].done - service.arrived[i]) /
                              kNanosPerMilli);
  }
  if (ran.record->tenants.size() < 2) return;
  const Spans& trainer = ran.record->tenants[1].spans;
  append(out->pause_ms, pauseTimes(service.requests, service.spans, trainer));
  const Span whole = ran.record->whole();
  out->gaps_s += whole.seconds() - busySeconds(service.spans, whole);
  out->filled_s += busySeconds(trainer, whole);
}

struct Judged {
  PriorityCase one;
  Outcome variants[3];
  const Outcome& operator[](Variant v) const { return variants[static_cast<int>(v)]; }
};

std::vector<PriorityCase> casesOf(const CardBenchPlan& plan) {
  if (plan.quick) return {{100, 0.1, 60, 2, true}};
  // A real card has no others to take parts.
  const std::size_t parts = plan.real ? 1 : 8;
  std::vector<PriorityCase> cases = {{100, 0.1, 20'000, parts, true}};
  for (const double rate : {50.0, 100.0, 200.0}) {
    for (const double unit : {0.1, 5.0, 20.0}) {
      if (rate == 100 && unit == 0.1) continue;
      cases.push_back({rate, unit, static_cast<std::size_t>(20 * rate), 1, false});
    }
  }
  for (PriorityCase& one : cases) {
    if (plan.seconds != 0) one.arrivals = static_cast<std::size_t>(plan.seconds * one.per_second);
  }
  return wanted(plan, std::move(cases), [](const PriorityCase& one) { return one.name(); });
}

std::string caseTable(const std::vector<Judged>& cases) {
  char line[160];
  std::snprintf(line, sizeof line, "%-16s %7s %17s %31s\n%-16s %7s %8s %8s %8s %8s %6s %8s\n",
                "p99 in ms", "alone", "time slicing", "Divvy", "requests/s, unit", "p99", "p99",
                "gaps", "p99", "+%", "gaps", "pause");
  std::string text = line;
  for (const Judged& judged : cases) {
    const double alone = judged[Variant::kAlone].p(0.99);
    const Outcome& t = judged[Variant::kTimeslice];
    const Outcome& d = judged[Variant::kDivvy];
    std::snprintf(line, sizeof line, "%-16s %7.2f %8.2f %8.2f %8.2f %8.1f %6.2f %8.2f%s\n",
                  judged.one.name().c_str(), alone, t.p(0.99), t.gapShare(), d.p(0.99),
                  100 * (d.p(0.99) / alone - 1), d.gapShare(), percentile(d.pause_ms, 0.99),
                  d.failed ? " FAILED" : "");
    text += line;
  }
  return text;
}

class PriorityBench {
 public:
  PriorityBench(const CardBenchPlan& plan, const Say& say)
      : plan_(plan), say_(say), hall_(plan), report_(headOf(plan)) {}

  Report measure() {
    const std::vector<Judged> judged = runCases();
    summarise(judged);
    if (!plan_.quick && !plan_.real) unscaled();
    report_.notes += hall_.stallNote(report_);
    return std::move(report_);
  }

 private:
  std::vector<Judged> runCases();
  void summarise(const std::vector<Judged>& judged);
  void addDetails(const std::string& group, const Outcome& out, double alone_p99);
  void unscaled();

  const CardBenchPlan plan_;
  const Say& say_;
  const CardHall hall_;
  Report report_;
};

std::vector<Judged> PriorityBench::runCases() {
  struct Slot {
    std::size_t entry;
    Variant variant;
  };
  std::vector<Judged> judged;
  std::vector<CardPlan> plans;
  std::vector<Slot> slots;
  for (const PriorityCase& one : casesOf(plan_)) {
    judged.push_back({one, {}});
    for (const Variant variant : kVariants) {
      // What a service does alone depends on its rate only.
      const auto known = std::find_if(judged.begin(), judged.end() - 1, [&](const Judged& other) {
        return other.one.per_second == one.per_second;
      });
      if (variant == Variant::kAlone && known != judged.end() - 1) continue;
      for (std::size_t part = 0; part < one.parts; ++part) {
        plans.push_back(planOf(one, variant, part));
        slots.push_back({judged.size() - 1, variant});
      }
    }
  }
  say_(std::to_string(plans.size()) + " runs of requests beside best-effort work");
  const std::vector<CardOutcome> outcomes = hall_.run(plans);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    add(outcomes[i], &judged[slots[i].entry].variants[static_cast<int>(slots[i].variant)]);
    if (!outcomes[i].failure.empty()) report_.notes += "failed: " + outcomes[i].failure + "\n";
  }
  for (Judged& entry : judged) {
    Outcome& alone = entry.variants[static_cast<int>(Variant::kAlone)];
    for (const Judged& other : judged) {
      if (!alone.latency_ms.empty() || alone.failed) break;
      if (other.one.per_second == entry.one.per_second) alone = other[Variant::kAlone];
    }
  }
  return judged;
}

void PriorityBench::addDetails(const std::string& group, const Outcome& out, double alone_p99) {
  auto& figures = report_.figures;
  figures.push_back(detail(group, "p50_ms", out.p(0.5)));
  figures.push_back(detail(group, "p99_ms", out.p(0.99)));
  figures.push_back(detail(group, "p999_ms", out.p(0.999)));
  figures.push_back(detail(group, "requests", static_cast<double>(out.latency_ms.size())));
  if (out.pause_ms.empty()) return;
  figures.push_back(detail(group, "p99_vs_alone", out.p(0.99) / alone_p99));
  figures.push_back(detail(group, "be_share_of_gaps", out.gapShare()));
  figures.push_back(detail(group, "pause_ms_p99", percentile(out.pause_ms, 0.99)));
}

void PriorityBench::summarise(const std::vector<Judged>& judged) {
  auto& figures = report_.figures;
  for (const Judged& entry : judged) {
    if (!entry.one.judged) continue;
    const double alone = entry[Variant::kAlone].p(0.99);
    const Outcome& divvy = entry[Variant::kDivvy];
    for (const Variant v : kVariants) {
      Figure figure{"p99_ms", nameOf(v), entry[v].p(0.99), {}, {}, {}};
      figures.push_back(figure);
    }
    figures.push_back(atMost("", "p99_vs_alone", divvy.p(0.99) / alone, 1.07));
    figures.push_back(atLeast("", "be_share_of_gaps", divvy.gapShare(), 0.75));
    figures.push_back(
        atMost("", "pause_ms_p99", percentile(divvy.pause_ms, 0.99), 1 + entry.one.unit_ms));
  }
  for (const Judged& entry : judged) {
    const double alone = entry[Variant::kAlone].p(0.99);
    for (const Variant v : kVariants) {
      addDetails("cases/" + entry.one.name() + "/" + nameOf(v), entry[v], alone);
    }
  }
  report_.notes = caseTable(judged) + report_.notes;
}

void PriorityBench::unscaled() {
  report_.notes += "\n" + addWakeups(report_);
  const PriorityCase one{100, 0.1, 1'000, 1, false};
  Judged judged{one, {}};
  CpuShare cpu;
  for (const Variant variant : kVariants) {
    say_(std::string(nameOf(variant)) + " at full speed");
    const auto outcomes = runOnCards(hall_.unscaledFloor(), {planOf(one, variant, 0)}, 1);
    if (!outcomes[0].failure.empty()) report_.notes += "failed: " + outcomes[0].failure + "\n";
    add(outcomes[0], &judged.variants[static_cast<int>(variant)]);
    if (variant == Variant::kDivvy && outcomes[0].record) cpu = cpuShare(*outcomes[0].record);
  }
  const double alone = judged[Variant::kAlone].p(0.99);
  char line[160];
  std::snprintf(line, sizeof line, "full speed: p99 alone %.2f ms, time slicing %.2f, Divvy %.2f\n",
                alone, judged[Variant::kTimeslice].p(0.99), judged[Variant::kDivvy].p(0.99));
  report_.notes += line;
  for (const Variant v : kVariants) {
    addDetails(std::string("unscaled/") + nameOf(v), judged[v], alone);
  }
  report_.figures.push_back(detail("unscaled", "cpu_percent_tenant", cpu.tenant));
  report_.figures.push_back(detail("unscaled", "cpu_percent_arbiter", cpu.arbiter));
  report_.figures.push_back(atMost("", "cpu_percent_per_tenant", cpu.tenant + cpu.arbiter, 1));
}

}  // namespace

Report measurePriority(const CardBenchPlan& plan, const Say& say) {
  return PriorityBench(plan, say).measure();
}

}  // namespace divvy::bench
