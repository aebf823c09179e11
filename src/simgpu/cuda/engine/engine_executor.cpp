#include "cuda/engine/engine_executor.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include "cuda/context/runtime.h"

namespace divvy::simgpu {
namespace {

// Interval at which the card is advanced while work is pending, so that NVML and the log stay
// current. In real time.
constexpr Nanos kHeartbeat = 100'000'000;
constexpr Nanos kShortestPoll = 20'000;
constexpr Nanos kLongestPoll = 500'000;

thread_local bool calling_thread = false;

// These threads must never run the program's signal handlers.
template <typename Body>
void spawn(const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([name, body] {
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    body();
  });
  thread.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Executor& Executor::get() {
  static Executor* const executor = new Executor;  // never destroyed: its threads outlive exit()
  return *executor;
}

void Executor::start() {
  std::call_once(started_, [this] {
    spawn("simgpu-engine", [this] { work(); });
    spawn("simgpu-host", [this] { call(); });
  });
}

ExecDevice* Executor::device(Device& device) {
  const std::lock_guard guard(effects_);
  for (const auto& known : devices_) {
    if (&known->device == &device) return known.get();
  }
  auto fresh = std::make_unique<ExecDevice>(device);
  if (!fresh->engine.open(device.card, Runtime::get().directory(), device.card_index,
                          engineConfig(*device.profile))) {
    return nullptr;
  }
  devices_.push_back(std::move(fresh));
  return devices_.back().get();
}

void Executor::add(ExecContext& exec) {
  const std::lock_guard guard(effects_);
  exec.device.contexts.push_back(&exec);
}

void Executor::remove(ExecContext& exec) {
  {
    const std::lock_guard guard(effects_);
    std::erase(exec.device.contexts, &exec);
    std::erase_if(polls_, [&](const PendingPoll& pending) { return pending.exec == &exec; });
    exec.device.engine.dropLane(exec.lane);
  }
  progressed();
  std::unique_lock lock(calls_mutex_);
  std::erase_if(calls_, [&](const HostCall& call) { return call.exec == &exec; });
  calls_ready_.wait(lock, [&] { return calling_ != &exec; });
}

CUresult Executor::waitForDevice(Device& device) {
  std::vector<ExecContext*> contexts;
  {
    const std::lock_guard guard(effects_);
    for (const auto& known : devices_) {
      if (&known->device == &device) contexts = known->contexts;
    }
  }
  for (ExecContext* exec : contexts) waitForAll(*exec);
  return CUDA_SUCCESS;
}

void Executor::expect(Nanos when) {
  start();
  if (when < sleeping_until_.load(std::memory_order_seq_cst)) wake_.bump();
}

void Executor::progressed() {
  progress_.bump();
  wake_.bump();
}

void Executor::drain(bool wait) {
  std::unique_lock guard(effects_, std::defer_lock);
  if (wait) {
    guard.lock();
  } else if (!guard.try_lock()) {
    return;
  }
  drainDevices();
}

void Executor::drainDevices() {
  for (const auto& device : devices_) {
    if (!device->contexts.empty()) drainDevice(*device);
  }
}

void Executor::betweenEffects(const std::function<void()>& change) {
  const std::lock_guard guard(effects_);
  drainDevices();
  change();
}

std::vector<ExecContext*> Executor::disturbedContexts(Device& device, const MemorySpan& range,
                                                      bool any) {
  std::vector<ExecContext*> disturbed;
  for (const auto& known : devices_) {
    if (&known->device != &device) continue;
    EngineLock lock(known->engine);
    for (ExecContext* exec : known->contexts) {
      bool found = false;
      lock.line().forEachPending(exec->lane, [&](OpRef ref, IntervalKind kind) {
        const bool computes = kind == IntervalKind::kKernel || kind == IntervalKind::kMemset;
        const MemoryUse& uses = exec->payloads[slotOf(ref)].task.uses;
        found |= uses.disturbedBy(range, computes) || (any && computes);
      });
      if (found) disturbed.push_back(exec);
    }
  }
  return disturbed;
}

// The earliest completion among this process's contexts that has something to run. Completions
// without anything to run are handled here.
bool Executor::popFinished(ExecDevice& device, EngineLock& lock, std::uint64_t before,
                           FinishedOp* out) {
  for (;;) {
    FinishedOp first{};
    std::uint64_t order = before;
    for (ExecContext* exec : device.contexts) {
      const OpRef ref = lock.line().firstDone(exec->lane);
      if (ref == 0 || lock.line().doneOrder(ref) >= order) continue;
      order = lock.line().doneOrder(ref);
      first = {.exec = exec, .ref = ref};
    }
    if (first.ref == 0) return false;
    *out = first;
    const Task& task = first.exec->payloads[slotOf(first.ref)].task;
    if (task.effect != nullptr || task.host != nullptr) return true;
    finishDone(lock, first);
  }
}

void Executor::finishDone(EngineLock& lock, const FinishedOp& done) {
  ExecContext::Payload& payload = done.exec->payloads[slotOf(done.ref)];
  if (payload.task.completion != nullptr) {
    payload.task.completion->end_ns = lock.line().view(done.ref).end_ns;
    payload.task.completion->done = true;
  }
  SharedEvent* event = lock.findEvent(payload.task.records);
  if (event != nullptr && event->ref == done.ref) event->end_ns = lock.line().view(done.ref).end_ns;
  retired_.push_back(std::move(payload.task));
  payload = {};
  lock.line().release(done.ref);
}

// Must be called without any card's lock.
void Executor::destroyRetired() {
  std::vector<Task> dead;
  dead.swap(retired_);
}

void Executor::drainDevice(ExecDevice& device) {
  std::optional<EngineLock> lock(std::in_place, device.engine);
  // Later ends wait for the next round, so draining is bounded.
  const std::uint64_t before = lock->line().state().next_done_order;
  FinishedOp done{};
  while (popFinished(device, *lock, before, &done)) {
    // The slot belongs to this thread until it is released, so its task may be used without the
    // lock.
    ExecContext::Payload& payload = done.exec->payloads[slotOf(done.ref)];
    lock.reset();
    destroyRetired();
    CUresult state = done.exec->context.sticky();
    if (payload.task.effect != nullptr && state == CUDA_SUCCESS) {
      state = payload.task.effect();
      if (state != CUDA_SUCCESS) fault(*done.exec, state);
    }
    if (payload.task.host != nullptr && !payload.host_started && payload.task.host_always) {
      queueCall({.exec = done.exec, .ref = 0, .host = std::move(payload.task.host)});
    }
    lock.emplace(device.engine);
    finishDone(*lock, done);
  }
  lock.reset();
  destroyRetired();
}

// Collects the owner-ended operations that have begun since the last time. Returns the next instant
// at which this thread may be needed.
Nanos Executor::collectBegun(std::vector<HostCall>* calls) {
  const std::lock_guard guard(effects_);
  Nanos next = kNever;
  for (const auto& device : devices_) {
    if (device->contexts.empty()) continue;
    EngineLock lock(device->engine);
    for (ExecContext* exec : device->contexts) {
      for (const ListId list : {ListId::kHost, ListId::kOpen}) {
        for (OpRef ref = lock.line().firstBegun(exec->lane, list); ref != 0;
             ref = lock.line().nextBegun(ref)) {
          ExecContext::Payload& payload = exec->payloads[slotOf(ref)];
          if (payload.host_started) continue;
          payload.host_started = true;
          lock.line().noticed(ref);
          if (payload.task.host != nullptr) {
            calls->push_back({.exec = exec, .ref = ref, .host = std::move(payload.task.host)});
            payload.task.host = nullptr;
          } else if (payload.task.poll != nullptr) {
            polls_.push_back({exec, ref, payload.task.poll, payload.task.poll_end});
            poll_pause_ = kShortestPoll;
          }
        }
      }
      next = std::min(next, lock.line().attentionBound(exec->lane));
      if (lock.line().anyPending(exec->lane)) {
        next = std::min(next, lock.now() + cardDuration(kHeartbeat));
      }
    }
  }
  return next;
}

// Returns true if the poll is over.
bool Executor::pollOne(PendingPoll& pending) {
  if (pending.exec->context.sticky() != CUDA_SUCCESS) return true;
  const Polled answer = pending.poll();
  if (answer == Polled::kNotYet) return false;
  if (answer == Polled::kFault) {
    fault(*pending.exec, CUDA_ERROR_ILLEGAL_ADDRESS);
    return true;
  }
  const Nanos end = pending.poll_end != nullptr ? pending.poll_end() : 0;
  EngineLock lock(pending.exec->device.engine);
  return lock.line().finish(pending.ref, end != 0 ? end : lock.now(), lock.now());
}

Nanos Executor::serve() {
  std::vector<HostCall> calls;
  Nanos next = collectBegun(&calls);
  drain(true);  // dependencies of the operations that have begun
  for (HostCall& one : calls) queueCall(std::move(one));
  const std::lock_guard guard(effects_);
  const std::size_t before = polls_.size();
  std::erase_if(polls_, [this](PendingPoll& pending) { return pollOne(pending); });
  if (polls_.size() != before) {
    progressed();
    poll_pause_ = kShortestPoll;
  } else {
    poll_pause_ = std::min(poll_pause_ + poll_pause_ / 2, kLongestPoll);
  }
  return polls_.empty() ? next : std::min(next, clockNow() + cardDuration(poll_pause_));
}

void Executor::work() {
  for (;;) {
    const std::uint32_t seen = wake_.value();
    sleeping_until_.store(kNever, std::memory_order_seq_cst);
    drain(true);
    const Nanos next = serve();
    sleeping_until_.store(next, std::memory_order_seq_cst);
    wake_.wait(seen, next);
  }
}

void Executor::queueCall(HostCall call) {
  {
    const std::lock_guard guard(calls_mutex_);
    calls_.push_back(std::move(call));
  }
  calls_ready_.notify_all();
}

void Executor::callSoon(std::function<void()> call) {
  start();
  queueCall({.exec = nullptr, .ref = 0, .host = [call = std::move(call)](CUresult) { call(); }});
}

bool Executor::isCalling() {
  return calling_thread;
}

void Executor::call() {
  calling_thread = true;
  std::unique_lock lock(calls_mutex_);
  for (;;) {
    calls_ready_.wait(lock, [this] { return !calls_.empty(); });
    const HostCall call = std::move(calls_.front());
    calls_.pop_front();
    calling_ = call.exec;
    lock.unlock();
    call.host(call.exec != nullptr ? call.exec->context.sticky() : CUDA_SUCCESS);
    if (call.ref != 0) {
      EngineLock engine(call.exec->device.engine);
      engine.line().finish(call.ref, engine.now(), engine.now());
    }
    progressed();
    lock.lock();
    calling_ = nullptr;
    calls_ready_.notify_all();
  }
}

}  // namespace divvy::simgpu
