#include "device/driver_worker.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "log/log.h"

namespace divvy::agent {
namespace {

constexpr std::chrono::milliseconds kWoken{500};

// Counts are read first: an error before the first query of faults is then reported as a later
// count, not lost. After faults counts are read again, because they include them.
void hear(const driver::Nvml& nvml, const std::vector<unsigned>& indexes, DriverHealth* health) {
  const auto count = [&] {
    for (const unsigned index : indexes) health->errors[index] = nvml.memoryErrors(index);
  };
  count();
  health->faults = nvml.faults();
  if (!health->faults.empty()) count();
  for (const unsigned index : indexes) health->answers[index] = nvml.answers(index);
}

}  // namespace

// Shared with the thread, which may outlive the worker.
struct DriverWorker::WorkerState {
  explicit WorkerState(driver::Nvml driver) : nvml(std::move(driver)) {}

  const driver::Nvml nvml;
  std::mutex mutex;
  std::condition_variable changed;
  Question question;  // set: queued, or under way
  Question next;      // runs after that one; no caller waits for it
  std::chrono::steady_clock::time_point asked_at;
  DriverTimes times;
  std::map<unsigned, int> utilisation;
  std::optional<DriverProcesses> processes;  // not taken yet
  std::optional<DriverHealth> health;        // not taken yet
  bool closed = false;
};

void DriverWorker::serve(const std::shared_ptr<WorkerState>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    // Callers wait on the same condition variable. Before 2.41 glibc can lose a wakeup of several
    // waiters (its bug 25847). Without this bound the thread once slept while a query was queued,
    // and every device counted as out of service.
    while (!state->closed && !state->question) state->changed.wait_for(lock, kWoken);
    if (!state->question) return;
    lock.unlock();
    state->question(state->nvml);
    lock.lock();
    state->question = state->closed ? nullptr : std::exchange(state->next, nullptr);
    state->asked_at = std::chrono::steady_clock::now();
    state->changed.notify_all();
  }
}

DriverWorker::DriverWorker(driver::Nvml nvml, std::chrono::milliseconds patience)
    : patience_(patience),
      path_(nvml.path()),
      state_(std::make_shared<WorkerState>(std::move(nvml))) {
  // Signals go to the thread that runs the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(serve, state_).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DriverWorker::~DriverWorker() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
}

// Requires the mutex.
void DriverWorker::put(Question question) {
  state_->question = std::move(question);
  state_->asked_at = std::chrono::steady_clock::now();
  state_->changed.notify_all();
}

void DriverWorker::refreshUse(const std::vector<unsigned>& indexes) {
  // Not owning: the state outlives its own queries.
  Question ask = [state = state_.get(), indexes](const driver::Nvml& nvml) {
    DriverTimes times;
    std::map<unsigned, int> utilisation;
    DriverProcesses processes;
    for (const unsigned index : indexes) {
      times[index] = nvml.processTimes(index);
      const Result<driver::DeviceUse> use = nvml.use(index);
      utilisation[index] = use ? use->utilisation : -1;
      processes[index] = nvml.processes(index);
    }
    const std::lock_guard answered(state->mutex);
    state->times = std::move(times);
    state->utilisation = std::move(utilisation);
    state->processes = std::move(processes);
  };
  const std::lock_guard lock(state_->mutex);
  if (state_->question) {
    state_->next = std::move(ask);
  } else {
    put(std::move(ask));
  }
}

DriverTimes DriverWorker::latestTimes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->times;
}

std::map<unsigned, int> DriverWorker::latestUtilisation() const {
  const std::lock_guard lock(state_->mutex);
  return state_->utilisation;
}

std::optional<DriverProcesses> DriverWorker::takeProcesses() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->processes, std::nullopt);
}

void DriverWorker::refreshHealth(const std::vector<unsigned>& indexes) {
  const std::lock_guard lock(state_->mutex);
  if (state_->question) return;
  put([state = state_.get(), indexes](const driver::Nvml& nvml) {
    DriverHealth now;
    hear(nvml, indexes, &now);
    const std::lock_guard answered(state->mutex);
    DriverHealth& health = state->health ? *state->health : state->health.emplace();
    health.faults.insert(health.faults.end(), now.faults.begin(), now.faults.end());
    health.answers = std::move(now.answers);
    health.errors = std::move(now.errors);
  });
}

void DriverWorker::settle() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_until(lock, state_->asked_at + patience_, [&] { return !state_->question; });
}

std::optional<DriverHealth> DriverWorker::takeHealth(const std::vector<unsigned>& indexes) {
  {
    const std::lock_guard lock(state_->mutex);
    const bool late =
        state_->question && std::chrono::steady_clock::now() > state_->asked_at + patience_;
    if (!late && state_->health && std::exchange(silent_, false))
      log::info("the driver answers again");
    if (!late) return std::exchange(state_->health, std::nullopt);
  }
  fellSilent();
  DriverHealth none;
  for (const unsigned index : indexes) none.answers[index] = false;
  return none;
}

// Logged once, for any query that does not return.
void DriverWorker::fellSilent() {
  if (std::exchange(silent_, true)) return;
  log::warn(
      "the driver does not answer; until it does, its figures are missing and no tenant is placed",
      {{"silent_ms", std::to_string(patience_.count())}});
}

bool DriverWorker::ask(Question question) {
  std::unique_lock lock(state_->mutex);
  // A query without a waiting caller may be under way.
  if (!state_->changed.wait_until(lock, state_->asked_at + patience_,
                                  [&] { return !state_->question; })) {
    fellSilent();
    return false;
  }
  put(std::move(question));
  if (state_->changed.wait_for(lock, patience_, [&] { return !state_->question; })) {
    if (std::exchange(silent_, false)) log::info("the driver answers again");
    return true;
  }
  fellSilent();
  return false;
}

Result<driver::DeviceUse> DriverWorker::use(unsigned index) {
  const auto answer = std::make_shared<std::optional<Result<driver::DeviceUse>>>();
  if (ask([answer, index](const driver::Nvml& nvml) { answer->emplace(nvml.use(index)); })) {
    return std::move(**answer);
  }
  return Error{ErrorCode::kUnavailable,
               "device " + std::to_string(index) + ": the driver does not answer"};
}

std::vector<driver::ProcessUse> DriverWorker::processes(unsigned index) {
  const auto answer = std::make_shared<std::vector<driver::ProcessUse>>();
  const bool told =
      ask([answer, index](const driver::Nvml& nvml) { *answer = nvml.processes(index); });
  return told ? *answer : std::vector<driver::ProcessUse>();
}

std::vector<driver::ProcessTime> DriverWorker::processTimes(unsigned index) {
  const auto answer = std::make_shared<std::vector<driver::ProcessTime>>();
  const bool told =
      ask([answer, index](const driver::Nvml& nvml) { *answer = nvml.processTimes(index); });
  return told ? *answer : std::vector<driver::ProcessTime>();
}

}  // namespace divvy::agent
