#include "card_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "agent_time.h"
#include "command.h"
#include "load_facts.h"
#include "probe/barrier.h"
#include "simgpu/card_reader.h"
#include "simgpu/interval_reader.h"

namespace divvy::bench {
namespace {

namespace fs = std::filesystem;
using simgpu::CardEngine;
using simgpu::IntervalFollower;

constexpr double kStartupSeconds = 90;
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr int kAgentLooks = 10;

class CardRun {
 public:
  CardRun(const CardFloor& floor, const CardPlan& plan)
      : floor_(floor), plan_(plan), place_(floor.private_dir / plan.name) {
    fs::create_directories(place_);
    std::ofstream(place_ / "barrier", std::ios::binary) << std::string(sizeof(Barrier), '\0');
  }
  ~CardRun() {
    if (plan_.divvied) runCommand({{divvy(), "stop", "--force"}, {runtimeVariable()}, 20});
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  CardRun(const CardRun&) = delete;
  CardRun& operator=(const CardRun&) = delete;

  CardRecord run();

 private:
  fs::path divvy() const { return floor_.build / "bin/divvy"; }
  std::string runtimeVariable() const { return "DIVVY_RUNTIME_DIR=" + (place_ / "rt").string(); }
  fs::path cardDirectory() const {
    return plan_.divvied ? place_ / "rt" / ("sim-" + floor_.profile) / "card" : place_ / "card";
  }
  fs::path spansFile(std::size_t tenant) const {
    return place_ / ("spans" + std::to_string(tenant));
  }
  double limit() const {
    return kStartupSeconds + 3 * plan_.seconds * 1000 / floor_.speed_permille;
  }
  Command command(std::size_t tenant) const;
  void follow();
  void lookAtAgent();
  Spans spansOf(std::size_t tenant, int pid) const;
  void addCopies(int pid, TenantRecord* tenant) const;
  Spans stalls() const;

  const CardFloor& floor_;
  const CardPlan& plan_;
  const fs::path place_;
  std::optional<IntervalFollower> log_;
  int agent_ = 0;
  std::map<std::string, double> agent_first_;  // processor time when it was first looked at
  std::map<std::string, double> agent_last_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;  // programs, guarded by mutex_
};

Command CardRun::command(std::size_t tenant) const {
  const CardTenant& one = plan_.tenants[tenant];
  Command command;
  command.limit_s = limit();
  command.environment = plan_.environment;
  const std::string speed = std::to_string(floor_.speed_permille);
  if (plan_.divvied) {
    command.words = {divvy(), "run", "--name", one.name, "--memory", one.memory};
    command.words.insert(command.words.end(), one.share.begin(), one.share.end());
    if (!floor_.real) command.words.insert(command.words.end(), {"--sim", floor_.profile});
    command.words.push_back("--");
    command.environment.push_back(runtimeVariable());
  } else if (!floor_.real) {
    const char* rest = std::getenv("LD_LIBRARY_PATH");
    command.environment.push_back("SIMGPU_PROFILE=" + floor_.profile);
    command.environment.push_back("SIMGPU_DIR=" + cardDirectory().string());
    command.environment.push_back("LD_LIBRARY_PATH=" + (floor_.build / "simgpu").string() +
                                  (rest != nullptr ? std::string(":") + rest : ""));
  }
  if (!floor_.real) {
    command.environment.push_back("SIMGPU_TIME_SCALE=" +
                                  std::to_string(floor_.speed_permille / 1000.0));
  }
  command.words.push_back(floor_.build / "bench/divvy-bench-load");
  command.words.insert(command.words.end(), one.load.begin(), one.load.end());
  const std::vector<std::string> common = {"--barrier",        (place_ / "barrier").string(),
                                           "--parties",        std::to_string(plan_.tenants.size()),
                                           "--speed-permille", speed};
  command.words.insert(command.words.end(), common.begin(), common.end());
  if (floor_.stalls != nullptr) {
    command.words.insert(command.words.end(), {"--stalls", floor_.stalls->page().string()});
  }
  if (floor_.real) {
    command.words.insert(command.words.end(), {"--spans", spansFile(tenant).string()});
  }
  return command;
}

// Reads the card's log while the programs run: its ring holds a few seconds of small kernels.
void CardRun::follow() {
  if (!floor_.real) log_.emplace(cardDirectory().string(), 0);
  std::unique_lock lock(mutex_);
  for (int look = 1; !ended_.wait_for(lock, kLook, [this] { return running_ == 0; }); ++look) {
    if (log_) log_->update();
    if (look % kAgentLooks == 0) lookAtAgent();
  }
  lock.unlock();
  for (int attempt = 0; log_ && !log_->update(); ++attempt) {
    if (attempt == 100) throw std::runtime_error(plan_.name + ": the card's log cannot be read");
  }
  if (log_ && log_->view().dropped != 0) {
    throw std::runtime_error(plan_.name + ": the card's log outran its reader");
  }
}

Spans CardRun::spansOf(std::size_t tenant, int pid) const {
  if (floor_.real) return readSpans(spansFile(tenant));
  Spans spans;
  for (const simgpu::Interval& interval : log_->view().intervals) {
    if (interval.pid == pid && interval.engine == CardEngine::kCompute) {
      spans.push_back({interval.start_ns, interval.end_ns});
    }
  }
  return united(std::move(spans));
}

void CardRun::addCopies(int pid, TenantRecord* tenant) const {
  for (const simgpu::Interval& interval : log_->view().intervals) {
    if (interval.pid != pid || interval.engine == CardEngine::kCompute) continue;
    const bool out = interval.engine == CardEngine::kCopyOut;
    (out ? tenant->out_bytes : tenant->in_bytes) += interval.bytes;
    tenant->copying.push_back({interval.start_ns, interval.end_ns});
  }
  tenant->copying = united(std::move(tenant->copying));
}

// Its arbiter's thread ends with the tenants. Slowed-down runs say nothing about processor time.
void CardRun::lookAtAgent() {
  if (!plan_.divvied || floor_.speed_permille != 1000) return;
  if (agent_ == 0) agent_ = agentPid(place_ / "rt");
  if (agent_ == 0) return;
  for (const auto& [name, ms] : threadTimesOf(agent_)) agent_last_[name] = ms;
  if (agent_first_.empty()) agent_first_ = agent_last_;
}

// By the card's clock.
Spans CardRun::stalls() const {
  if (floor_.stalls == nullptr) return {};
  Spans stalls = floor_.stalls->seen();
  const auto speed = static_cast<CardTime>(floor_.speed_permille);
  for (Span& stall : stalls) stall = {stall.start * speed / 1000, stall.end * speed / 1000};
  return stalls;
}

// Makes time stand still during `stalls`.
void cutOut(const Spans& stalls, TenantRecord* record) {
  record->spans = withoutStalls(record->spans, stalls);
  record->copying = withoutStalls(record->copying, stalls);
  const auto cut = [&](CardTime& at) { at = withoutStalls(at, stalls); };
  cut(record->begin);
  cut(record->end);
  cut(record->worked);
  for (CardTime& at : record->resumed) cut(at);
  for (CardTime& at : record->rested) cut(at);
  for (Request& request : record->requests) {
    cut(request.launched);
    cut(request.done);
  }
}

CardRecord CardRun::run() {
  std::vector<CommandResult> results(plan_.tenants.size());
  running_ = results.size();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&, i] {
        results[i] = runCommand(command(i));
        const std::lock_guard guard(mutex_);
        --running_;
        ended_.notify_all();
      });
    }
    follow();
  }
  CardRecord record;
  const Spans stalls = this->stalls();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].status != 0) {
      throw std::runtime_error(plan_.name + ": exit status " + std::to_string(results[i].status) +
                               " of " + plan_.tenants[i].name);
    }
    int pid = 0;
    TenantRecord tenant = readLoadFacts(results[i].output, &pid);
    tenant.spans = spansOf(i, pid);
    if (log_) addCopies(pid, &tenant);
    cutOut(stalls, &tenant);
    record.tenants.push_back(std::move(tenant));
  }
  if (const auto card =
          floor_.real ? std::nullopt : simgpu::readCard(cardDirectory().string(), 0)) {
    record.peak_bytes = card->peak;
    record.taken_at_work = card->unmapped_under_work;
  }
  for (const auto& [name, ms] : agent_last_) {
    const auto first = agent_first_.find(name);
    record.agent_ms[name] = ms - (first == agent_first_.end() ? 0 : first->second);
  }
  return record;
}

}  // namespace

Span CardRecord::whole() const {
  Span span{0, UINT64_MAX};
  for (const TenantRecord& tenant : tenants) {
    span.start = std::max(span.start, tenant.begin);
    span.end = std::min(span.end, tenant.end);
  }
  return span;
}

CardRecord runOnCard(const CardFloor& floor, const CardPlan& plan) {
  return CardRun(floor, plan).run();
}

std::vector<CardOutcome> runOnCards(const CardFloor& floor, const std::vector<CardPlan>& plans,
                                    unsigned side_by_side) {
  std::vector<CardOutcome> outcomes(plans.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < plans.size(); i = next++) {
      try {
        outcomes[i].record = runOnCard(floor, plans[i]);
      } catch (const std::exception& error) {
        outcomes[i].failure = error.what();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < side_by_side && i < plans.size(); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return outcomes;
}

}  // namespace divvy::bench
