#include "swap.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "card/profile.h"
#include "policy/bandwidth_estimator.h"
#include "policy/swap_cost.h"
#include "simgpu/interval_reader.h"
#include "swap_judge.h"
#include "swap_tenant.h"

namespace divvy::bench {
namespace {

using simgpu::CardEngine;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kEverything = std::uint64_t{1} << 40;
constexpr const char* kProfile = "swap";
// Of all processors: above, the machine is what is measured.
constexpr double kMaxCpu = 80;
// Of what is read at the host, the card's own memory takes a hundredth of the time on this card.
constexpr double kMaxHot = 0.1;
constexpr std::uint64_t kHotPiece = 8 * kMiB;  // the probe's
constexpr unsigned kReads = 16;

std::uint64_t nowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// All processors of this machine: ticks at work, and in all.
struct CpuTicks {
  double busy = 0;
  double all = 0;
};

CpuTicks cpuTicks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  CpuTicks ticks;
  double value = 0;
  // user nice system idle iowait irq softirq steal; then guests, which are in user.
  for (int column = 0; column < 8 && file >> value; ++column) {
    ticks.all += value;
    if (column != 3 && column != 4) ticks.busy += value;
  }
  return ticks;
}

// What one process' counters say, in all.
arbiter::SwapWork workOf(const ledger::SwapSample& sample) {
  return {sample.device[0].out_bytes, sample.device[0].out_ns, sample.device[0].in_bytes,
          sample.device[0].in_ns,     sample.drains,           sample.drain_ns};
}

arbiter::SwapWork grown(const arbiter::SwapWork& from, const arbiter::SwapWork& to) {
  return {to.out_bytes - from.out_bytes, to.out_ns - from.out_ns, to.in_bytes - from.in_bytes,
          to.in_ns - from.in_ns,         to.drains - from.drains, to.drain_ns - from.drain_ns};
}

// Predicts as the arbiter does: from what processes said of the swaps before.
class Predictor {
 public:
  explicit Predictor(std::uint64_t chunk) { link_.chunk = chunk; }

  // Seconds; 0: nothing is known yet.
  double predict(std::uint64_t out, std::uint64_t in) const {
    return known_ ? static_cast<double>(arbiter::swapTime(link_, out, in)) / 1e9 : 0;
  }
  void learn(const arbiter::SwapWork& work) {
    meter_.note(work);
    meter_.measure(&link_);
    known_ = true;
  }

 private:
  arbiter::BandwidthEstimator meter_;
  arbiter::SwapCost link_;
  bool known_ = false;
};

struct Size {
  unsigned mib;
  unsigned chunk_mib;
  std::uint64_t bytes() const { return mib * kMiB; }
  std::uint64_t chunk() const { return chunk_mib * kMiB; }
};

class SwapBench {
 public:
  SwapBench(const CardBenchPlan& plan, const Say& say)
      : plan_(plan), say_(say), hall_(plan), floor_(hall_.unscaledFloor()), report_(headOf(plan)) {
    floor_.profile = kProfile;
    floor_.speed_permille = 1000 / plan.slower;
    const simgpu::Profile& card = *simgpu::parseMachine(kProfile)->cards.front();
    link_.alone = static_cast<double>(card.host_link);
    link_.duplex = link_.alone * card.duplex_permille / 1000;
    report_.driver = "simgpu swap, 1/" + std::to_string(plan.slower) + " speed";
  }

  Report measure();

 private:
  void solo(Size size);
  void pair(Size size, bool handover);
  void hotPart();
  void finish(SwapTenant& tenant) {
    tenant.allow(kEverything);
    if (!waitFor([&] { return tenant.ready(); })) throw std::runtime_error("never back");
    mismatched_ += static_cast<double>(tenant.mismatched());
  }
  std::string cards(const std::string& name) const {
    return (floor_.private_dir / ("card-" + name)).string();
  }
  static std::string nameOf(const char* kind, Size size) {
    return std::string(kind) + std::to_string(size.mib) + "c" + std::to_string(size.chunk_mib);
  }
  int rounds() const { return plan_.quick ? 2 : 6; }

  // Runs body() and adds what processors did meanwhile; its seconds by the host's clock.
  template <typename Body>
  double timed(Body body) {
    const CpuTicks before = cpuTicks();
    const std::uint64_t begun = nowNs();
    body();
    const double seconds = static_cast<double>(nowNs() - begun) / 1e9;
    const CpuTicks after = cpuTicks();
    cpu_.busy += after.busy - before.busy;
    cpu_.all += after.all - before.all;
    return seconds;
  }

  const CardBenchPlan plan_;
  const Say& say_;
  const CardHall hall_;
  CardFloor floor_;
  Report report_;
  SwapLink link_;
  std::vector<SwapCase> cases_;
  CpuTicks cpu_;
  double mismatched_ = 0;
};

// What the card did since it was last asked.
class CardLog {
 public:
  explicit CardLog(const std::string& dir) : log_(dir, 0) { skip(); }

  void skip() {
    if (!waitFor([&] { return log_.update(); })) throw std::runtime_error("no log of the card");
    seen_ = log_.view().intervals.size();
  }

  // The copies of a process in one direction, when all of `bytes` are in the log.
  Copies copies(int pid, CardEngine engine, std::uint64_t bytes) {
    Copies found;
    const auto all = [&] {
      log_.update();
      found = {};
      const auto& intervals = log_.view().intervals;
      for (std::size_t i = seen_; i < intervals.size(); ++i) {
        if (intervals[i].pid != pid || intervals[i].engine != engine) continue;
        found.spans.push_back({intervals[i].start_ns, intervals[i].end_ns});
        found.bytes += intervals[i].bytes;
      }
      return found.bytes >= bytes;
    };
    if (!waitFor(all) || log_.view().dropped != 0) {
      throw std::runtime_error("the card's log lacks copies");
    }
    return found;
  }

  // What a kernel of a process takes, mean of so many at least.
  double kernelNs(int pid, unsigned kernels) {
    double time = 0, count = 0;
    const auto enough = [&] {
      log_.update();
      time = count = 0;
      const auto& intervals = log_.view().intervals;
      for (std::size_t i = seen_; i < intervals.size(); ++i) {
        if (intervals[i].pid != pid || intervals[i].engine != CardEngine::kCompute) continue;
        time += static_cast<double>(intervals[i].end_ns - intervals[i].start_ns);
        count += intervals[i].ops;
      }
      return count >= kernels;
    };
    if (!waitFor(enough)) throw std::runtime_error("a tenant that computes nothing");
    return time / count;
  }

 private:
  simgpu::IntervalFollower log_;
  std::size_t seen_ = 0;
};

void note(SwapCase& one, bool first, double rate, double predicted, double actual) {
  if (first) {
    one.first_rate = rate;
    return;
  }
  one.rates.push_back(rate);
  one.errors.push_back(predictionError(predicted, actual));
}

// One tenant: all out, all in.
void SwapBench::solo(Size size) {
  const std::string name = nameOf("solo", size);
  say_(name);
  SwapTenant tenant(floor_, {name, size.bytes(), size.chunk(), 1}, cards(name));
  CardLog log(cards(name));
  Predictor predictor(size.chunk());
  SwapCase out{"out", size.mib, size.chunk_mib, 0, {}, {}};
  SwapCase in{"in", size.mib, size.chunk_mib, 0, {}, {}};
  for (int round = 0; round <= rounds(); ++round) {
    const arbiter::SwapWork before = workOf(tenant.sample());
    log.skip();
    const double gone = timed([&] {
      tenant.allow(0);
      if (!waitFor([&] { return tenant.mapped() == 0; })) throw std::runtime_error("never gone");
    });
    note(out, round == 0, rateOf(log.copies(tenant.pid(), CardEngine::kCopyOut, size.bytes())),
         predictor.predict(size.bytes(), 0), gone);
    log.skip();
    const double back = timed([&] {
      tenant.allow(kEverything);
      if (!waitFor([&] { return tenant.ready(); })) throw std::runtime_error("never back");
    });
    note(in, round == 0, rateOf(log.copies(tenant.pid(), CardEngine::kCopyIn, size.bytes())),
         predictor.predict(0, size.bytes()), back);
    predictor.learn(grown(before, workOf(tenant.sample())));
  }
  finish(tenant);
  cases_.push_back(out);
  cases_.push_back(in);
}

// Two tenants: one leaves while the other comes. `handover`: only as far as the first has made
// room, chunk by chunk.
void SwapBench::pair(Size size, bool handover) {
  const char* way = handover ? "handover" : "duplex";
  const std::string name = nameOf(way, size);
  say_(name);
  SwapTenant one(floor_, {name + "a", size.bytes(), size.chunk(), 2}, cards(name));
  one.allow(0);
  if (!waitFor([&] { return one.mapped() == 0; })) throw std::runtime_error("never gone");
  SwapTenant other(floor_, {name + "b", size.bytes(), size.chunk(), 3}, cards(name));
  CardLog log(cards(name));
  Predictor predictor(size.chunk());
  SwapCase result{way, size.mib, size.chunk_mib, 0, {}, {}};
  for (int round = 0; round <= rounds(); ++round) {
    SwapTenant& goes = round % 2 == 0 ? other : one;
    SwapTenant& comes = round % 2 == 0 ? one : other;
    const arbiter::SwapWork before_out = workOf(goes.sample()), before_in = workOf(comes.sample());
    log.skip();
    const double predicted = predictor.predict(size.bytes(), size.bytes());
    const double took = timed([&] {
      goes.allow(0);
      std::uint64_t given = handover ? 0 : kEverything;
      comes.allow(given);
      const auto there = [&] {
        const std::uint64_t room = handover ? size.bytes() - goes.mapped() : kEverything;
        if (room != given) comes.allow(given = room);
        return goes.mapped() == 0 && comes.ready();
      };
      if (!waitFor(there)) throw std::runtime_error("never there");
    });
    const double rate = duplexRate(log.copies(goes.pid(), CardEngine::kCopyOut, size.bytes()),
                                   log.copies(comes.pid(), CardEngine::kCopyIn, size.bytes()));
    // Host memory is new to each of them once.
    if (round == 0 || round > 1) note(result, round == 0, rate, predicted, took);
    predictor.learn(grown(before_out, workOf(goes.sample())));
    predictor.learn(grown(before_in, workOf(comes.sample())));
  }
  cases_.push_back(result);
  SwapTenant& there = rounds() % 2 == 0 ? one : other;
  SwapTenant& away = rounds() % 2 == 0 ? other : one;
  mismatched_ += static_cast<double>(there.mismatched());
  finish(away);
}

// One tenant of 1.3 times its room on the card, of which it reads as much all the time as has no
// room: first the beginning, then what lies behind it and is at the host by then. How long it takes
// to read, as the card has it: there, and when it has changed places.
void SwapBench::hotPart() {
  const Size size = plan_.quick ? Size{104, 8} : Size{416, 32};
  const std::uint64_t room = size.bytes() * 10 / 13, hot = size.bytes() - room;
  const std::string name = nameOf("hot", size);
  say_(name);
  SwapTenant tenant(floor_, {name, size.bytes(), size.chunk(), 4, hot}, cards(name));
  CardLog log(cards(name));
  const auto readMs = [&] {
    log.skip();
    return log.kernelNs(tenant.pid(), kReads) * static_cast<double>(hot / kHotPiece) / 1e6;
  };
  const auto moved = [&] { return tenant.sample().chunks_in; };
  readMs();  // it has begun
  tenant.allow(room, true);
  if (!waitFor([&] { return tenant.ready() && tenant.mapped() == room; })) {
    throw std::runtime_error("never at the host");
  }
  const std::uint64_t before = moved();
  tenant.changeHot();
  const double there = readMs();
  const std::uint64_t chunks = hot / size.chunk();
  // As many come as leave.
  if (!waitFor([&] { return tenant.ready() && moved() >= before + 2 * chunks; })) {
    throw std::runtime_error("what is used stays at the host");
  }
  const double settled = readMs();
  const std::string group = "hot_read_ms/" + std::to_string(size.mib) + "m";
  report_.figures.push_back(Figure{group, "at_host", there, {}, {}, {}});
  report_.figures.push_back(Figure{group, "settled", settled, {}, {}, {}});
  report_.figures.push_back(atMost("", "hot_settled_vs_at_host", settled / there, kMaxHot));
  report_.figures.push_back(
      {"", "hot_exchanged_chunks", static_cast<double>(moved() - before) / 2, {}, {}, {}});
  finish(tenant);
}

Report SwapBench::measure() {
  const std::vector<unsigned> chunks = plan_.quick ? std::vector{8u} : std::vector{2u, 8u, 32u};
  const std::vector<unsigned> sizes = plan_.quick ? std::vector{32u} : std::vector{64u, 192u, 384u};
  for (const unsigned mib : sizes) {
    for (const unsigned chunk : chunks) {
      const Size size{mib, chunk};
      solo(size);
      // Both have to fit on the card.
      if (mib <= 192) pair(size, false);
      if (mib >= 192 || plan_.quick) pair(size, true);
    }
  }
  hotPart();
  addSwapCases(cases_, link_, report_);
  report_.figures.push_back(atMost("", "mismatched_bytes", mismatched_, 0));
  const double cpu = cpu_.all > 0 ? 100 * cpu_.busy / cpu_.all : 0;
  report_.figures.push_back(atMost("", "cpu_percent", cpu, kMaxCpu));
  if (cpu > kMaxCpu) {
    report_.notes += "VOID: processors of this machine were busy for more than 80 % of the time\n";
  }
  report_.notes += hall_.stallNote(report_);
  return std::move(report_);
}

}  // namespace

Report measureSwap(const CardBenchPlan& plan, const Say& say) {
  if (plan.real) throw std::runtime_error("swap: measured on the simulated card only, so far");
  return SwapBench(plan, say).measure();
}

}  // namespace divvy::bench
