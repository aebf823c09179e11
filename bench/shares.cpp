#include "shares.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "share_cases.h"

namespace divvy::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr CardTime kMilli = 1'000'000;
constexpr CardTime kSecond = 1'000 * kMilli;
// A case that gives away more than this is no success, however exact.
constexpr double kMinTotal = 0.95;
constexpr double kFailedPp = 100;
// Who returns has its share again when it is within what a second may be wrong by.
constexpr double kReturnTolerance = 0.05;
constexpr CardTime kSettle = 20 * kMilli;

struct Timing {
  CardTime warmup;
  double seconds;
  double solo_seconds;
};

Timing timingOf(const CardBenchPlan& plan) {
  if (plan.seconds != 0) {
    const double seconds = plan.seconds;
    return {static_cast<CardTime>(seconds / 6 * kSecond), seconds + 0.3, seconds / 2};
  }
  if (plan.quick) return {300 * kMilli, 1.4, 0.8};
  return {2 * kSecond, 12.3, 5};
}

using SoloRates = std::map<std::vector<std::string>, double>;

// What one run of a case came to.
struct Outcome {
  double error_1s = kNan;
  double error_10s = kNan;
  double total = kNan;
  CapError cap{kNan, kNan};
  double reclaimed = kNan;
  double return_ms = kNan;
  double start_ms = kNan;
  CpuShare cpu;
  bool failed = true;
};

std::vector<Spans> spansOf(const CardRecord& record) {
  std::vector<Spans> all;
  for (const TenantRecord& tenant : record.tenants) all.push_back(tenant.spans);
  return all;
}

Span judgedRange(const CardRecord& record, const Timing& timing) {
  const Span whole = record.whole();
  return {whole.start + timing.warmup, whole.end};
}

void judgeShare(const ShareCase& one, const CardRecord& record, Span range, const SoloRates& solo,
                Outcome* out) {
  std::vector<double> weights;
  std::vector<double> rates;
  for (const ShareTenant& tenant : one.tenants) {
    weights.push_back(tenant.cores);
    const auto rate = solo.find(tenant.load);
    rates.push_back(rate == solo.end() ? kNan : rate->second);
  }
  const std::vector<Spans> spans = spansOf(record);
  out->error_1s = worstShareError(spans, weights, range, kSecond).pp;
  out->error_10s = worstShareError(spans, weights, range, 10 * kSecond).pp;
  out->total = totalVsSolo(spans, rates, range);
  out->failed = !(out->total >= kMinTotal);
}

void judgeDuty(const ShareCase& one, const CardRecord& record, const SoloRates& solo,
               Outcome* out) {
  const TenantRecord& steady = record.tenants[0];
  const TenantRecord& duty = record.tenants[1];
  const CardTime end = record.whole().end;
  std::vector<Span> pauses;
  std::vector<CardTime> returns;
  for (std::size_t i = 0; i + 1 < duty.resumed.size(); ++i) {
    if (i < duty.rested.size()) pauses.push_back({duty.rested[i], duty.resumed[i + 1]});
    if (duty.resumed[i + 1] + kSecond / 10 < end) returns.push_back(duty.resumed[i + 1]);
  }
  const auto rate = solo.find(one.tenants[0].load);
  out->reclaimed =
      idleReclaimed(steady.spans, pauses, kSettle, rate == solo.end() ? kNan : rate->second);
  const double part = one.tenants[1].cores / (one.tenants[0].cores + one.tenants[1].cores);
  out->return_ms = largest(returnDelays(duty.spans, returns, part - kReturnTolerance, end));
  out->start_ms = largest(startDelays(duty.spans, returns, end));
  out->failed = std::isnan(out->reclaimed) || std::isnan(out->return_ms);
}

Outcome judge(const ShareCase& one, const CardOutcome& ran, const Timing& timing,
              const SoloRates& solo) {
  Outcome out;
  if (!ran.record) return out;
  const Span range = judgedRange(*ran.record, timing);
  out.cpu = cpuShare(*ran.record);
  if (one.kind == CaseKind::kShare) judgeShare(one, *ran.record, range, solo, &out);
  if (one.kind == CaseKind::kDuty) judgeDuty(one, *ran.record, solo, &out);
  if (one.kind == CaseKind::kCap) {
    out.cap = capError(ran.record->tenants[0].spans, one.tenants[0].cores, range);
    out.failed = std::isnan(out.cap.over_pp);
  }
  return out;
}

struct Judged {
  ShareCase one;
  Outcome timeslice;
  Outcome divvy;
};

void addDetails(const std::string& group, CaseKind kind, const Outcome& out, Report& report) {
  const auto add = [&](const char* key, double value) {
    report.figures.push_back(detail(group, key, value));
  };
  if (kind == CaseKind::kShare) {
    add("error_pp_1s", out.error_1s);
    add("error_pp_10s", out.error_10s);
    add("total_vs_solo", out.total);
  } else if (kind == CaseKind::kCap) {
    add("cap_error_pp", out.cap.mean_pp);
    add("cap_over_pp", out.cap.over_pp);
  } else {
    add("idle_reclaimed", out.reclaimed);
    add("return_ms", out.return_ms);
    add("first_kernel_ms", out.start_ms);
  }
  add("failed", out.failed ? 1 : 0);
}

// The worst of the cases that are held to the bars.
Outcome worstOf(const std::vector<Judged>& cases, Outcome Judged::*side) {
  Outcome worst;
  const auto failedOr = [](const Outcome& out, double pp) { return out.failed ? kFailedPp : pp; };
  for (const Judged& judged : cases) {
    const Outcome& out = judged.*side;
    if (judged.one.kind == CaseKind::kCap) {
      worst.cap.mean_pp = std::fmax(worst.cap.mean_pp, failedOr(out, out.cap.mean_pp));
      worst.cap.over_pp = std::fmax(worst.cap.over_pp, failedOr(out, out.cap.over_pp));
    } else if (judged.one.kind == CaseKind::kDuty) {
      worst.reclaimed = out.reclaimed;
      worst.return_ms = out.return_ms;
      worst.start_ms = out.start_ms;
    } else if (judged.one.longest_ms <= kJudgedMs) {
      worst.error_1s = std::fmax(worst.error_1s, failedOr(out, out.error_1s));
      worst.error_10s = std::fmax(worst.error_10s, failedOr(out, out.error_10s));
      worst.total = std::fmin(worst.total, std::isnan(out.total) ? 0 : out.total);
    }
  }
  return worst;
}

std::string caseTable(const std::vector<Judged>& cases) {
  char line[160];
  std::snprintf(line, sizeof line, "%-16s %26s   %26s\n%-16s %8s %8s %8s   %8s %8s %8s\n",
                "error in pp", "time slicing", "Divvy", "case", "1 s", "10 s", "total", "1 s",
                "10 s", "total");
  std::string text = line;
  for (const Judged& judged : cases) {
    const Outcome& t = judged.timeslice;
    const Outcome& d = judged.divvy;
    if (judged.one.kind == CaseKind::kShare) {
      std::snprintf(line, sizeof line, "%-16s %8.2f %8.2f %8.3f   %8.2f %8.2f %8.3f%s\n",
                    judged.one.name.c_str(), t.error_1s, t.error_10s, t.total, d.error_1s,
                    d.error_10s, d.total, d.failed ? " FAILED" : "");
    } else if (judged.one.kind == CaseKind::kCap) {
      std::snprintf(line, sizeof line, "%-16s %26s   %8.2f above %.2f, worst of 10 s %.2f%s\n",
                    judged.one.name.c_str(), "", d.cap.over_pp, judged.one.tenants[0].cores,
                    d.cap.mean_pp, d.failed ? " FAILED" : "");
    } else {
      std::snprintf(line, sizeof line,
                    "%-16s   idle used %.3f, back %5.1f ms   idle used %.3f, back %5.1f ms%s\n",
                    judged.one.name.c_str(), t.reclaimed, t.return_ms, d.reclaimed, d.return_ms,
                    d.failed ? " FAILED" : "");
    }
    text += line;
  }
  return text;
}

// Solo rates of every load that the cases need, in the order of first use.
std::vector<std::vector<std::string>> soloLoads(const std::vector<ShareCase>& cases) {
  std::vector<std::vector<std::string>> loads;
  for (const ShareCase& one : cases) {
    if (one.kind == CaseKind::kCap) continue;
    for (const ShareTenant& tenant : one.tenants) {
      const bool twoFaced = tenant.load[0] == "duty";  // judged by its phases
      if (!twoFaced && std::find(loads.begin(), loads.end(), tenant.load) == loads.end()) {
        loads.push_back(tenant.load);
      }
    }
  }
  return loads;
}

class ShareBench {
 public:
  ShareBench(const CardBenchPlan& plan, const Say& say)
      : plan_(plan), say_(say), timing_(timingOf(plan)), hall_(plan), report_(headOf(plan)) {}

  Report measure() {
    cases_ = wanted(plan_, plan_.quick ? quickShareCases() : shareCases(),
                    [](const ShareCase& one) { return one.name; });
    std::vector<Judged> judged = runCases();
    summarise(judged);
    if (!plan_.quick && !plan_.real) unscaled();
    report_.notes += hall_.stallNote(report_);
    return std::move(report_);
  }

 private:
  std::vector<Judged> runCases();
  void summarise(const std::vector<Judged>& judged);
  void unscaled();
  void note(const CardOutcome& outcome) {
    if (!outcome.failure.empty()) report_.notes += "failed: " + outcome.failure + "\n";
  }

  const CardBenchPlan plan_;
  const Say& say_;
  const Timing timing_;
  const CardHall hall_;
  Report report_;
  std::vector<ShareCase> cases_;
  SoloRates solo_;
};

std::vector<Judged> ShareBench::runCases() {
  const auto loads = soloLoads(cases_);
  std::vector<CardPlan> plans;
  for (const ShareCase& one : cases_) {
    plans.push_back(planOf(one, true, timing_.seconds));
    if (one.kind != CaseKind::kCap) plans.push_back(planOf(one, false, timing_.seconds));
  }
  const std::size_t first_solo = plans.size();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    plans.push_back(soloPlan("solo" + std::to_string(i), loads[i], timing_.solo_seconds));
  }
  say_(std::to_string(plans.size()) + " runs of up to " + std::to_string(timing_.seconds) +
       " s of the card's time");
  const std::vector<CardOutcome> outcomes = hall_.run(plans);
  for (const CardOutcome& outcome : outcomes) note(outcome);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto& record = outcomes[first_solo + i].record;
    if (!record) continue;
    const Span whole = record->whole();
    const Span range{whole.start + timing_.warmup / 2, whole.end};
    const double rate = busySeconds(record->tenants[0].spans, range) / range.seconds();
    solo_[loads[i]] = rate;
    std::string name;
    for (const std::string& word : loads[i]) name += (name.empty() ? "" : " ") + word;
    report_.figures.push_back(detail("solo", name, rate));
  }
  std::vector<Judged> judged;
  std::size_t next = 0;
  for (const ShareCase& one : cases_) {
    Judged& entry = judged.emplace_back(Judged{one, {}, {}});
    entry.divvy = judge(one, outcomes[next++], timing_, solo_);
    if (one.kind != CaseKind::kCap) entry.timeslice = judge(one, outcomes[next++], timing_, solo_);
  }
  return judged;
}

void ShareBench::summarise(const std::vector<Judged>& judged) {
  const Outcome ours = worstOf(judged, &Judged::divvy);
  const Outcome theirs = worstOf(judged, &Judged::timeslice);
  auto& figures = report_.figures;
  figures.push_back(atMost("", "error_pp_1s", ours.error_1s, 5));
  figures.push_back(atMost("", "error_pp_10s", ours.error_10s, 2));
  figures.push_back(atLeast("", "total_vs_solo", ours.total, 0.98));
  figures.push_back(atMost("", "cap_error_pp", ours.cap.mean_pp, 2));
  figures.push_back(atMost("", "cap_over_pp", ours.cap.over_pp, 5));
  figures.push_back(atLeast("", "idle_reclaimed", ours.reclaimed, 0.95));
  figures.push_back(atMost("", "return_ms", ours.return_ms, 20));
  figures.push_back(detail("timeslice", "error_pp_1s", theirs.error_1s));
  figures.push_back(detail("timeslice", "error_pp_10s", theirs.error_10s));
  figures.push_back(detail("timeslice", "total_vs_solo", theirs.total));
  for (const Judged& one : judged) {
    const std::string group = "cases/" + one.one.name;
    addDetails(group + "/divvy", one.one.kind, one.divvy, report_);
    if (one.one.kind != CaseKind::kCap) {
      addDetails(group + "/timeslice", one.one.kind, one.timeslice, report_);
    }
  }
  report_.notes = caseTable(judged) + report_.notes;
}

// At the card's own speed, where late wake-ups of this machine tell: short, one after the other.
void ShareBench::unscaled() {
  report_.notes += "\n" + addWakeups(report_);
  Outcome worst;
  for (const ShareCase& one : cases_) {
    if (one.name != "k005_30_70" && one.name != "k1_30_70") continue;
    say_(one.name + " at full speed");
    CardPlan plan = planOf(one, true, 6.2);
    const auto outcomes = runOnCards(hall_.unscaledFloor(), {plan}, 1);
    note(outcomes[0]);
    const Outcome out = judge(one, outcomes[0], timing_, solo_);
    const std::string group = "unscaled/" + one.name;
    report_.figures.push_back(detail(group, "error_pp_1s", out.error_1s));
    report_.figures.push_back(detail(group, "total_vs_solo", out.total));
    report_.figures.push_back(detail(group, "cpu_percent_tenant", out.cpu.tenant));
    report_.figures.push_back(detail(group, "cpu_percent_arbiter", out.cpu.arbiter));
    worst.cpu.tenant = std::max(worst.cpu.tenant, out.cpu.tenant);
    worst.cpu.arbiter = std::max(worst.cpu.arbiter, out.cpu.arbiter);
    char line[160];
    std::snprintf(line, sizeof line, "full speed, %s: %.2f pp over 1 s, total %.3f\n",
                  one.name.c_str(), out.error_1s, out.total);
    report_.notes += line;
  }
  report_.figures.push_back(
      atMost("", "cpu_percent_per_tenant", worst.cpu.tenant + worst.cpu.arbiter, 1));
}

}  // namespace

Report measureShares(const CardBenchPlan& plan, const Say& say) {
  return ShareBench(plan, say).measure();
}

}  // namespace divvy::bench
