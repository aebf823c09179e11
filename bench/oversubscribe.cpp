#include "oversubscribe.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <utility>

#include "samples.h"
#include "turns.h"

namespace divvy::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMiB = 1 << 20;

// All sizes in MiB, for the simulated card of 512 that profile `swap` is; a real one gets as many
// times as much, so that its faster link takes about as long.
constexpr unsigned kRealTimes = 40;
constexpr unsigned kBudget = 480;
constexpr unsigned kBlock = 8;
constexpr unsigned kOwn = 16;  // of each tenant besides: its context, code
constexpr unsigned kRoom = kBudget - 2 * kOwn;
constexpr unsigned kMargin = 4;
constexpr double kLinkBytesPerMs = 1e6;  // of profile `swap`, per direction,
constexpr double kBothWays = 0.8;        // and what is left of it while both are in use
constexpr CardTime kMinTurn = 200'000'000;
constexpr std::size_t kMinSwitches = 10;
constexpr double kActivationSlackMs = 100;
// Copying real bytes for more at a time is what would be measured, on two processors.
constexpr unsigned kCardsAtOnce = 4;

struct BatchCase {
  const char* name;
  double ratio;         // what both need, of the room there is
  const char* quantum;  // as the agent takes it
  double seconds;       // of work, each
  double bar;           // of makespan / serial; 0: no bar
};

std::vector<BatchCase> batchCases(bool quick) {
  if (quick) return {{"2.0", 2.0, "1s", 4, 0}};
  // The longest first: what is left at the end runs side by side.
  return {{"2.0", 2.0, "auto", 92, 1.10}, {"1.3", 1.3, "auto", 76, 1.04},
          {"2.0_4s", 2.0, "4s", 48, 0},   {"1.0", 1.0, "auto", 30, 1.02},
          {"1.3_2s", 1.3, "2s", 26, 0},   {"2.0_2s", 2.0, "2s", 26, 0}};
}

unsigned dataOf(double ratio) {
  const auto half = static_cast<unsigned>(ratio * kRoom / 2);
  return half / kBlock * kBlock;
}

struct StaggerPlan {
  unsigned cards;
  unsigned services;
  unsigned data;  // MiB, each
  double on_s;
  double warm_s;
  unsigned rounds;
};

StaggerPlan staggerPlan(bool quick) {
  if (quick) return {1, 2, 304, 1, 6, 2};
  return {3, 4, 416, 2.5, 20, 9};
}

// Of the machine since the object was made: percent of all its processors.
class Processors {
 public:
  Processors() { read(&busy_, &all_); }
  double percent() const {
    double busy = 0;
    double all = 0;
    read(&busy, &all);
    return all > all_ ? 100 * (busy - busy_) / (all - all_) : 0;
  }

 private:
  static void read(double* busy, double* all) {
    std::ifstream file("/proc/stat");
    std::string word;
    file >> word;
    for (int i = 0; i < 8; ++i) {
      double ticks = 0;
      file >> ticks;
      *all += ticks;
      if (i != 3 && i != 4) *busy += ticks;  // idle, and waiting for a disk
    }
  }
  double busy_ = 0;
  double all_ = 0;
};

class Bench {
 public:
  Bench(const CardBenchPlan& plan, const Say& say)
      : plan_(plan),
        say_(say),
        hall_(plan),
        report_(headOf(plan)),
        times_(plan.real ? kRealTimes : 1) {}

  Report measure() {
    batches();
    services();
    report_.figures.push_back(atMost("", "mismatched_bytes", static_cast<double>(mismatched_), 0));
    report_.figures.push_back(atMost("", "over_budget_bytes", plan_.real ? kNan : over_budget_, 0));
    report_.figures.push_back(
        atMost("", "taken_at_work", plan_.real ? kNan : static_cast<double>(taken_at_work_), 0));
    report_.figures.push_back(detail("", "swapped_bytes", swapped_));
    if (plan_.real) dropCardFigures();
    report_.notes += hall_.stallNote(report_);
    return std::move(report_);
  }

 private:
  void batches();
  void services();
  void judgeBatch(const BatchCase& one, const CardOutcome& ran, const CardOutcome& solo);
  void noteCard(const CardRecord& record, const std::string& name);
  void dropCardFigures();
  std::string size(unsigned mib) const { return std::to_string(mib * times_); }
  CardTenant tenant(const std::string& name, std::vector<std::string> load, unsigned data) const;
  std::vector<std::string> environment(const char* quantum, const char* overcommit) const;
  CardPlan batchPlan(const BatchCase& one, bool divvied) const;
  CardPlan servicePlan(const StaggerPlan& one, unsigned card) const;
  void note(const CardOutcome& outcome) {
    if (!outcome.failure.empty()) report_.notes += "failed: " + outcome.failure + "\n";
  }

  const CardBenchPlan plan_;
  const Say& say_;
  const CardHall hall_;
  Report report_;
  const unsigned times_;
  std::uint64_t mismatched_ = 0;
  std::uint64_t taken_at_work_ = 0;
  double over_budget_ = 0;
  double swapped_ = 0;
};

CardTenant Bench::tenant(const std::string& name, std::vector<std::string> load,
                         unsigned data) const {
  const std::vector<std::string> memory = {"--memory-mib", size(data), "--block-mib", size(kBlock)};
  load.insert(load.end(), memory.begin(), memory.end());
  return {name, std::move(load), {}, size(data + kOwn + kMargin) + "Mi"};
}

std::vector<std::string> Bench::environment(const char* quantum, const char* overcommit) const {
  return {std::string("DIVVY_OVERCOMMIT=") + overcommit,
          "DIVVY_DEVICE_BUDGET=" + size(kBudget) + "Mi",
          "DIVVY_HOST_RESERVE=" + size(4 * kBudget) + "Mi",
          "DIVVY_SWAP_CHUNK=" + std::string(plan_.real ? "32Mi" : "4Mi"),
          std::string("DIVVY_SWAP_QUANTUM=") + quantum};
}

CardPlan Bench::batchPlan(const BatchCase& one, bool divvied) const {
  CardPlan plan{std::string(divvied ? "batch" : "solo") + one.name,
                {},
                divvied,
                2.5 * one.seconds + 20,
                environment(one.quantum, "2.2")};
  std::replace(plan.name.begin(), plan.name.end(), '.', '_');
  for (int i = 0; i < (divvied ? 2 : 1); ++i) {
    plan.tenants.push_back(tenant(i == 0 ? "one" : "two",
                                  {"batch", "--seconds", std::to_string(one.seconds), "--unit-us",
                                   "5000", "--seed", std::to_string(i + 1)},
                                  dataOf(one.ratio)));
  }
  return plan;
}

void Bench::noteCard(const CardRecord& record, const std::string& name) {
  for (const TenantRecord& tenant : record.tenants) {
    mismatched_ += tenant.mismatched;
    swapped_ += static_cast<double>(tenant.out_bytes) - static_cast<double>(tenant.read_bytes) +
                static_cast<double>(tenant.in_bytes);
  }
  const double over = static_cast<double>(record.peak_bytes) - kBudget * kMiB;
  report_.figures.push_back(detail("over_budget_of", name, over));
  over_budget_ = std::max(over_budget_, over);
  taken_at_work_ += record.taken_at_work;
}

void Bench::judgeBatch(const BatchCase& one, const CardOutcome& ran, const CardOutcome& solo) {
  const std::string group = std::string("cases/") + one.name;
  double ratio = kNan;
  if (ran.record && solo.record) {
    const CardRecord& record = *ran.record;
    const TenantRecord& alone = solo.record->tenants[0];
    noteCard(record, one.name);
    CardTime begin = UINT64_MAX;
    CardTime end = 0;
    std::vector<Spans> spans;
    double longest = 0;
    for (const TenantRecord& tenant : record.tenants) {
      begin = std::min(begin, tenant.begin);
      end = std::max(end, tenant.end);
      spans.push_back(tenant.spans);
      longest = std::max(longest, longestPause(tenant.spans, {tenant.begin, tenant.worked}));
    }
    const double serial = 2 * Span{alone.begin, alone.end}.seconds();
    ratio = Span{begin, end}.seconds() / serial;
    const std::vector<Turn> turns = turnsOf(spans, kMinTurn);
    const auto switches = switchesTo(turns, spans.size());
    const std::size_t fewest = *std::min_element(switches.begin(), switches.end());
    const double turn = medianTurn(turns);
    const double swap_s = dataOf(one.ratio) * kMiB / (kLinkBytesPerMs * kBothWays) / 1e3;
    const bool contended = one.ratio > 1 && !plan_.quick;
    // Nothing is proved by jobs that hardly met.
    const bool counts = !contended || (fewest >= kMinSwitches && longest <= 2 * turn + swap_s);
    report_.figures.push_back(detail(group, "switches", static_cast<double>(fewest)));
    report_.figures.push_back(detail(group, "turn_s", turn));
    report_.figures.push_back(detail(group, "longest_wait_s", longest));
    report_.figures.push_back(detail(group, "serial_s", serial));
    report_.figures.push_back(detail(group, "makespan_vs_serial", ratio));
    char line[160];
    std::snprintf(line, sizeof line, "%-8s %8s %9.2f %9zu %9.2f %12.2f %12.3f%s\n", one.name,
                  one.quantum, serial, fewest, turn, longest, ratio,
                  counts ? "" : "  VOID: too few turns, or one waited for too long");
    report_.notes += line;
    if (!counts) ratio = kNan;
    if (contended && one.bar > 0) {
      report_.figures.push_back(
          atLeast("switches", one.name, static_cast<double>(fewest), kMinSwitches));
      report_.figures.push_back(atMost("longest_wait_s", one.name, longest, 2 * turn + swap_s));
    }
  }
  if (one.bar > 0) {
    report_.figures.push_back(atMost("makespan_vs_serial", one.name, ratio, one.bar));
  } else {
    report_.figures.push_back(detail("makespan_vs_serial", one.name, ratio));
  }
}

void Bench::batches() {
  const std::vector<BatchCase> cases = batchCases(plan_.quick);
  std::vector<CardPlan> plans;
  double seconds = 0;
  for (const BatchCase& one : cases) {
    plans.push_back(batchPlan(one, true));
    plans.push_back(batchPlan(one, false));
    seconds += 3 * one.seconds;
  }
  const double at_once =
      plan_.real ? 1 : std::min<double>(kCardsAtOnce, static_cast<double>(plans.size()));
  say_(std::to_string(plans.size()) + " runs of batch jobs, about " +
       std::to_string(static_cast<int>(1.2 * seconds / at_once)) + " s");
  const Processors processors;
  const std::vector<CardOutcome> outcomes = hall_.run(plans);
  const double cpu = processors.percent();
  char line[120];
  std::snprintf(line, sizeof line, "%-8s %8s %9s %9s %9s %12s %12s\n", "batch", "quantum",
                "serial s", "switches", "turn s", "longest wait", "vs serial");
  report_.notes += line;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    note(outcomes[2 * i]);
    note(outcomes[2 * i + 1]);
    judgeBatch(cases[i], outcomes[2 * i], outcomes[2 * i + 1]);
  }
  report_.figures.push_back(atMost("cpu_percent", "batch", cpu, 80));
}

CardPlan Bench::servicePlan(const StaggerPlan& one, unsigned card) const {
  const double period = one.on_s * one.services;
  const double seconds = one.warm_s + period * one.rounds;
  CardPlan plan{
      "services" + std::to_string(card), {}, true, seconds + 10, environment("auto", "4")};
  for (unsigned i = 0; i < one.services; ++i) {
    plan.tenants.push_back(
        tenant("service" + std::to_string(i),
               {"service", "--seconds", std::to_string(seconds), "--start",
                std::to_string(one.warm_s + one.on_s * i), "--on", std::to_string(one.on_s * 0.6),
                "--off", std::to_string(period - one.on_s * 0.6), "--unit-us", "5000", "--seed",
                std::to_string(i + 1)},
               one.data));
  }
  return plan;
}

void Bench::services() {
  const StaggerPlan one = staggerPlan(plan_.quick);
  std::vector<CardPlan> plans;
  const unsigned cards = plan_.real ? 1 : one.cards;
  for (unsigned card = 0; card < cards; ++card) plans.push_back(servicePlan(one, card));
  say_(std::to_string(one.services) + " services on a card, on " + std::to_string(cards) +
       " cards, about " + std::to_string(static_cast<int>(plans[0].seconds)) + " s");
  const Processors processors;
  const std::vector<CardOutcome> outcomes = hall_.run(plans);
  const double cpu = processors.percent();
  Samples activation;
  std::vector<std::pair<double, std::string>> slowest;
  for (std::size_t card = 0; card < outcomes.size(); ++card) {
    const CardOutcome& ran = outcomes[card];
    note(ran);
    if (!ran.record) continue;
    noteCard(*ran.record, plans[card].name);
    for (const TenantRecord& tenant : ran.record->tenants) {
      for (std::size_t i = 0; i < tenant.requests.size(); ++i) {
        const double took =
            static_cast<double>(tenant.requests[i].done - tenant.arrived[i]) / kNanosPerMilli;
        activation.push_back(took);
        slowest.emplace_back(took, plans[card].name + " number " + std::to_string(i + 1));
      }
    }
  }
  const double predicted = one.data * kMiB / (kLinkBytesPerMs * kBothWays);
  report_.figures.push_back(detail("activation_ms", "p50", percentile(activation, 0.5)));
  const double p99 = percentile(activation, 0.99);
  report_.figures.push_back(
      plan_.quick ? detail("activation_ms", "p99", p99)
                  : atMost("activation_ms", "p99", p99, predicted + kActivationSlackMs));
  report_.figures.push_back(detail("activation_ms", "predicted", predicted));
  report_.figures.push_back(
      detail("activation_ms", "count", static_cast<double>(activation.size())));
  report_.figures.push_back(atMost("cpu_percent", "services", cpu, 80));
  char line[200];
  std::snprintf(line, sizeof line,
                "services: %zu activations, p50 %.0f ms, p99 %.0f; %u MiB at the link's rate take "
                "%.0f\n",
                activation.size(), percentile(activation, 0.5), p99, one.data, predicted);
  report_.notes += line;
  std::sort(slowest.rbegin(), slowest.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(slowest.size(), 4); ++i) {
    std::snprintf(line, sizeof line, "%s%.0f ms of %s", i == 0 ? "the slowest: " : ", ",
                  slowest[i].first, slowest[i].second.c_str());
    report_.notes += line;
  }
  report_.notes += "\n";
}

// A real card's link has another rate, and nobody logs what it copies.
void Bench::dropCardFigures() {
  for (Figure& figure : report_.figures) {
    if (figure.key != "swapped_bytes" && figure.key != "predicted") continue;
    figure.value = kNan;
  }
}

}  // namespace

Report measureOversubscription(const CardBenchPlan& plan, const Say& say) {
  CardBenchPlan own = plan;
  own.profile = "swap";
  own.slower = 1;
  own.cards = kCardsAtOnce;
  own.cut_stalls = false;  // seconds are judged, and a dozen programs fill this machine's moments
  return Bench(own, say).measure();
}

}  // namespace divvy::bench
