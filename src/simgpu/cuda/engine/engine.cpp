#include "cuda/engine/engine.h"

#include <algorithm>

#include "cuda/engine/engine_executor.h"

namespace divvy::simgpu {
namespace {

// A waiter checks at least this often, whatever the bound.
constexpr Nanos kLongestWait = 100'000'000;
// For a bound of "now" although the end has not come, because another context holds the engine.
constexpr Nanos kShortestWait = 50'000;

Nanos nextLook(Nanos bound, Nanos now) {
  return std::clamp(bound, bound > now ? now : now + kShortestWait, now + kLongestWait);
}

// Chains of markers, for more dependencies than one operation can have.
OpRef joinAll(EngineLock& lock, ExecContext& exec, std::vector<OpRef> deps, OpSpec* last) {
  OpRef join = 0;
  while (deps.size() + (join != 0) > kMaxDeps) {
    OpSpec spec;
    std::size_t used = 0;
    if (join != 0) spec.deps[used++] = join;
    while (used < kMaxDeps) {
      spec.deps[used++] = deps.back();
      deps.pop_back();
    }
    join = lock.line().submit(exec.lane, spec, lock.now());
    exec.payloads[slotOf(join)] = {.ref = join, .host_started = false, .task = {}};
  }
  std::copy(deps.begin(), deps.end(), last->deps.begin());
  if (join != 0) last->deps[deps.size()] = join;
  return join;
}

// Returns 0 if the lane has no room for the operation now.
OpRef tryPlace(EngineLock& lock, ExecContext& exec, Work& work, Placement& where) {
  std::vector<OpRef> deps;
  where.collect(lock.line(), &deps);
  deps.insert(deps.end(), work.after.begin(), work.after.end());
  std::erase_if(deps, [&](OpRef ref) { return lock.line().ended(ref); });
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  const std::size_t joins =
      deps.size() > kMaxDeps ? (deps.size() - kMaxDeps + kMaxDeps - 2) / (kMaxDeps - 1) : 0;
  Timeline& line = lock.line();
  if (!line.hasRoom(exec.lane, work.spec.kind) || line.room(exec.lane) <= joins) return 0;
  joinAll(lock, exec, std::move(deps), &work.spec);
  work.spec.owner_ends = work.task.needsOwner();
  work.spec.attention = work.spec.owner_ends || (work.task.effect != nullptr && !work.awaited);
  const OpRef ref = line.submit(exec.lane, work.spec, lock.now());
  if (work.task.completion != nullptr) {
    work.task.completion->ref = ref;
  }
  if (SharedEvent* event = lock.findEvent(work.task.records); event != nullptr) {
    event->end_ns = 0;
    event->ref = ref;
  }
  exec.payloads[slotOf(ref)] = {.ref = ref, .host_started = false, .task = std::move(work.task)};
  where.placed(ref);
  return ref;
}

bool roomFor(ExecContext& exec, IntervalKind kind) {
  EngineLock lock(exec.device.engine);
  return lock.line().hasRoom(exec.lane, kind);
}

}  // namespace

OpRef place(ExecContext& exec, Work work, Placement& where) {
  Executor& executor = Executor::get();
  for (;;) {
    const std::uint32_t seen = executor.progress().value();
    Nanos observe = 0;
    {
      EngineLock lock(exec.device.engine);
      const Nanos earliest = lock.now() + work.spec.cost;
      if (const OpRef ref = tryPlace(lock, exec, work, where); ref != 0) {
        const bool crowded = lock.line().room(exec.lane) < kOpsPerLane / 2;
        observe = work.spec.attention ? earliest : lock.now() + kLongestWait;
        executor.expect(crowded ? lock.now() : observe);
        return ref;
      }
      observe = nextLook(lock.line().earliestEnd(exec.lane), lock.now());
    }
    executor.drain(true);
    if (!roomFor(exec, work.spec.kind)) executor.progress().wait(seen, observe);
  }
}

bool hasEnded(ExecContext& exec, OpRef ref) {
  const auto observe = [&] {
    EngineLock lock(exec.device.engine);
    return lock.line().view(ref);
  };
  const OpView view = observe();
  if (view.released || view.state != OpState::kDone) return view.released;
  Executor::get().drain(false);
  return observe().released;
}

CUresult waitFor(ExecContext& exec, OpRef ref) {
  Executor& executor = Executor::get();
  for (;;) {
    // Poisoned by an injected fault: pending work will not run.
    if (const CUresult state = exec.context.sticky(); state != CUDA_SUCCESS) {
      fault(exec, state);
      return state;
    }
    const std::uint32_t seen = executor.progress().value();
    bool ended = false;
    Nanos observe = 0;
    {
      EngineLock lock(exec.device.engine);
      const OpView view = lock.line().view(ref);
      if (view.released) return exec.context.sticky();
      ended = view.state == OpState::kDone;
      if (!ended) observe = nextLook(lock.line().endBound(ref), lock.now());
    }
    if (ended) {
      executor.drain(true);
    } else {
      executor.progress().wait(seen, observe);
    }
  }
}

CUresult waitForAll(ExecContext& exec) {
  std::uint64_t until = 0;
  {
    EngineLock lock(exec.device.engine);
    until = lock.line().nextSeq(exec.lane);
  }
  // The newest first: the others have mostly ended by then, so one sleep suffices.
  for (;;) {
    OpRef newest = 0;
    {
      EngineLock lock(exec.device.engine);
      newest = lock.line().newestPending(exec.lane, until);
    }
    if (newest == 0) break;
    waitFor(exec, newest);
  }
  Executor::get().drain(true);
  return exec.context.sticky();
}

void fault(ExecContext& exec, CUresult error) {
  exec.context.poison(error);
  {
    EngineLock lock(exec.device.engine);
    lock.line().cancelPending(exec.lane, lock.now());
  }
  Executor::get().progressed();
}

}  // namespace divvy::simgpu
