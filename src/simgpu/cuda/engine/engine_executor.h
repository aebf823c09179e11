// Runs what operations mean: effects in the order of completion, polls, host functions. One per
// process, with a worker and a callback thread that exist from the first submission on.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/engine/engine.h"

namespace divvy::simgpu {

class Executor {
 public:
  static Executor& get();

  // The device's execution state, its engine file opened; nullptr if that is impossible.
  ExecDevice* device(Device& device);

  void add(ExecContext& exec);
  // After it nothing of the context runs any more: pending work is dropped.
  void remove(ExecContext& exec);

  // Waits for everything this process gave the device before the call.
  CUresult waitForDevice(Device& device);

  // Runs the effects of everything that has ended. With `wait` false, only if no other thread is
  // doing so.
  void drain(bool wait);
  // See exec::betweenEffects.
  void betweenEffects(const std::function<void()>& change);
  // Only within betweenEffects: contexts with pending work that touches memory about to be
  // unmapped, or may. `any`: with a pending kernel or memset, whatever it touches.
  std::vector<ExecContext*> disturbedContexts(Device& device, const MemorySpan& range, bool any);

  // Something that needs the worker may happen at `when` at the earliest.
  void expect(Nanos when);
  // Wakes threads that wait for something without a known time.
  void progressed();
  // Runs `call` on the callback thread.
  void callSoon(std::function<void()> call);
  // True on the callback thread.
  static bool isCalling();
  WaitWord& progress() { return progress_; }

 private:
  struct PendingPoll {
    ExecContext* exec;
    OpRef ref;
    std::function<Polled()> poll;
    std::function<Nanos()> poll_end;
  };
  struct FinishedOp {
    ExecContext* exec;
    OpRef ref;
  };
  struct HostCall {
    ExecContext* exec;  // nullptr: of no context
    OpRef ref;          // 0: only to be called, the operation ended without it
    std::function<void(CUresult)> host;
  };

  Executor() = default;
  void start();
  [[noreturn]] void work();
  [[noreturn]] void call();
  void drainDevices();
  void drainDevice(ExecDevice& device);
  bool popFinished(ExecDevice& device, EngineLock& lock, std::uint64_t before, FinishedOp* out);
  void finishDone(EngineLock& lock, const FinishedOp& done);
  void destroyRetired();
  Nanos collectBegun(std::vector<HostCall>* calls);
  Nanos serve();
  bool pollOne(PendingPoll& pending);
  void queueCall(HostCall call);

  std::mutex effects_;  // held while effects run; taken before any card's lock
  std::vector<std::unique_ptr<ExecDevice>> devices_;
  std::vector<Task> retired_;       // to be destroyed without the card's lock, which that may need
  std::vector<PendingPoll> polls_;  // guarded by effects_, as is devices_
  Nanos poll_pause_ = 0;

  std::mutex calls_mutex_;
  std::condition_variable calls_ready_;
  std::deque<HostCall> calls_;
  ExecContext* calling_ = nullptr;  // the context of the host function that runs now

  std::once_flag started_;
  WaitWord wake_;
  std::atomic<Nanos> sleeping_until_{0};
  WaitWord progress_;
};

}  // namespace divvy::simgpu
