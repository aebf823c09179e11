#include "simulator/runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace divvy::simulator {
namespace {

constexpr std::size_t kBarArrival = 100;
constexpr auto kBetweenReports = std::chrono::milliseconds(100);

// What the threads share: which run is next, what came of each, and whether all are done.
class Pool {
 public:
  explicit Pool(const Runs& runs) : runs_(runs), results_(runs.count()) {}

  void work() {
    for (std::size_t at = next_++; at < results_.size() && !failed_; at = next_++) {
      const std::size_t per_workload = runs_.policies.size() * runs_.seeds.size();
      const Workload& workload = runs_.workloads[at / per_workload];
      Protocol protocol;
      protocol.policy = runs_.policies[at % per_workload / runs_.seeds.size()];
      protocol.seed = runs_.seeds[at % runs_.seeds.size()];
      protocol.tune = runs_.tune;
      protocol.sample_percent = runs_.sample_percent;
      keep(at, runProtocol(runs_.nodes, workload.pods, protocol));
    }
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_all();
  }

  // Until all are done, with news to `progress` in between.
  void wait(unsigned threads, const Progress& progress) {
    working_ = threads;
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (working_ > 0) {
      changed_.wait_for(lock, kBetweenReports, [&] { return working_ == 0; });
      const std::size_t done = done_;
      lock.unlock();
      progress(done, results_.size());
      lock.lock();
    }
    progress(done_, results_.size());
  }

  const std::optional<Error>& error() const { return error_; }
  const RunResult& result(std::size_t at) const { return *results_[at]; }

 private:
  void keep(std::size_t at, Result<RunResult> result) {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (result) {
      results_[at] = std::move(*result);
    } else if (!error_) {
      error_ = result.error();
      failed_ = true;
    }
  }

  const Runs& runs_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned working_ = 0;
  std::size_t done_ = 0;
  std::optional<Error> error_;
  std::vector<std::optional<RunResult>> results_;
};

void add(Course& sum, const Course& one, double part) {
  for (std::size_t x = 0; x < kArrivals; ++x) {
    sum.allocated[x] += part * one.allocated[x];
    sum.fragment_ratio[x] += part * one.fragment_ratio[x];
    sum.fragment_amount[x] += part * one.fragment_amount[x];
  }
}

Outcome outcomeOf(const Runs& runs, const Pool& pool, std::size_t first) {
  Outcome outcome;
  const std::size_t seeds = runs.seeds.size();
  const double part = 1.0 / static_cast<double>(seeds);
  for (std::size_t i = first; i < first + seeds; ++i) {
    const RunResult& one = pool.result(i);
    outcome.alloc_at_100.push_back(one.course.allocated[kBarArrival]);
    outcome.mean += part * outcome.alloc_at_100.back();
    outcome.pods += part * static_cast<double>(one.pods);
    outcome.failed_pods += part * static_cast<double>(one.failed_pods);
    outcome.failed_gpus += part * one.failed_gpus;
    add(outcome.course, one.course, part);
  }
  double squares = 0;
  for (const double value : outcome.alloc_at_100) {
    squares += (value - outcome.mean) * (value - outcome.mean);
  }
  if (seeds > 1) outcome.sd = std::sqrt(squares / static_cast<double>(seeds - 1));
  return outcome;
}

}  // namespace

Result<std::vector<Outcome>> runAll(const Runs& runs, unsigned threads, const Progress& progress) {
  Pool pool(runs);
  const std::size_t most = std::max<std::size_t>(runs.count(), 1);
  pool.wait(static_cast<unsigned>(std::clamp<std::size_t>(threads, 1, most)), progress);
  if (pool.error()) return *pool.error();
  std::vector<Outcome> outcomes;
  std::size_t first = 0;
  for (const Workload& workload : runs.workloads) {
    for (const engine::Policy policy : runs.policies) {
      outcomes.push_back(outcomeOf(runs, pool, first));
      outcomes.back().workload = workload.name;
      outcomes.back().policy = policy;
      first += runs.seeds.size();
    }
  }
  return outcomes;
}

}  // namespace divvy::simulator
