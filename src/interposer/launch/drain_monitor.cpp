#include "launch/drain_monitor.h"

#include "runtime.h"
#include "support/syscalls.h"
#include "threads/drain.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;
using ledger::gateState;
using ledger::loadRelaxed;
using ledger::storeRelaxed;
using ledger::storeRelease;

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kWatch = 100 * kMillisecond;        // for the agent's return
constexpr std::uint64_t kSoonest = 50 * kMicrosecond;       // between two looks
constexpr std::uint64_t kInsideLook = 200 * kMicrosecond;   // for a thread's return from the driver
constexpr std::uint64_t kBusySoonest = 500 * kMicrosecond;  // while more is being launched
constexpr std::uint64_t kSaturatedSoonest = 5 * kMillisecond;
constexpr std::uint64_t kSaturatedLatest = 100 * kMillisecond;
constexpr std::uint64_t kLatest = kMillisecond;
constexpr std::uint64_t kRunLatest = 5 * kMillisecond;  // with work for that long in flight
constexpr std::uint64_t kTicksPerClock = 16;
// A thread that is idle sleeps on the grant while that is open, and on its own word, which costs
// nothing at each turn of other processes, while it is not. Both with a bound.
constexpr std::uint64_t kOpenWatch = 1000 * kMillisecond;
constexpr std::uint64_t kClosedWatch = 100 * kMillisecond;

std::uint64_t within(std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace

// An estimate that has passed without an end proves nothing.
bool DrainMonitor::endsInTime(std::uint64_t now) const {
  const std::uint64_t until = InflightLimit::end();
  if (until == 0) return true;
  return until > now && until - now <= loadRelaxed(grant_.terms()->overlap_us) * kMicrosecond;
}

// Returns whether everything that was launched before the hold `word` is proved to have drained.
bool DrainMonitor::proveDrained(std::uint32_t word, std::uint64_t now) {
  ledger::WorkLine& line = report_.line();
  const std::uint64_t seq = grant_.sequenceOf(word);
  ledger::raiseTo(line.seen_seq, seq);
  if (loadRelaxed(line.drained_seq) >= seq) return true;
  if (!endsInTime(now)) return false;
  fenceAllThreads(grant_.fences());
  // The meter again, for launches in the meantime.
  if (insideUnderOther(word) || !endsInTime(now)) return false;
  storeRelease(line.drained_seq, seq);
  report_.ring();
  return true;
}

// Clears kWorkInFlight. Returns false if a launch came in between. `drained`: the drain is proved,
// so other tenants have their turn.
bool DrainMonitor::rest(std::uint64_t now, bool drained) {
  if (!report_.shows(ledger::kWorkInFlight)) return true;
  // Under a hold at which a thread waits, no thread is about to launch more.
  const bool held =
      gateState(word_seen_) == GateState::kHold && report_.shows(ledger::kWorkWaiting);
  const std::uint64_t pause = held ? 0 : loadRelaxed(grant_.terms()->idle_us) * kMicrosecond;
  if (insideUnderOther(0) || InflightLimit::end() != 0 || now - idle_.quietSince() < pause)
    return false;
  // A launch that still saw the bit is inside or counted by now. One that was admitted a moment ago
  // has noted its activation. Later launches set the bit again.
  report_.turn(now);
  __atomic_fetch_and(&report_.line().state, ~ledger::kWorkInFlight, __ATOMIC_SEQ_CST);
  fenceAllThreads(grant_.fences());
  if (insideUnderOther(0) || InflightLimit::end() != 0 || !idle_.unchanged()) {
    report_.raise(ledger::kWorkInFlight);
    return false;
  }
  if (held && drained && loadRelaxed(grant_.terms()->reads_turned) != 0) {
    report_.note();
  } else {
    report_.ring();
  }
  return true;
}

std::uint64_t DrainMonitor::nextLook(std::uint32_t word, bool draining, std::uint64_t now) const {
  const std::uint64_t until = InflightLimit::end();
  if (draining && until == 0) return now + kInsideLook;
  if (draining) {
    const std::uint64_t early = until - loadRelaxed(grant_.terms()->overlap_us) * kMicrosecond;
    return within(early, now + kSoonest, now + kLatest);
  }
  if (gateState(word) == GateState::kHold) {
    // A moment later, so that one look is enough.
    return within(until + kSoonest, now + kSoonest, now + kRunLatest);
  }
  if (inflight_.saturated())
    return now + within(2 * grant_.inflightBound(), kSaturatedSoonest, kSaturatedLatest);
  if (until == 0) {
    const std::uint64_t idle =
        idle_.quietSince() + loadRelaxed(grant_.terms()->idle_us) * kMicrosecond;
    return within(idle, now + kSoonest, now + kLatest);
  }
  // A process that launches on will be in flight for longer than is known now.
  const bool launching = gateState(word) == GateState::kRun && idle_.quietSince() == now &&
                         loadRelaxed(report_.line().last_launch) == now;
  // One look for the end and for the pause behind it.
  const std::uint64_t pause =
      servesFirst(*grant_.terms()) ? loadRelaxed(grant_.terms()->idle_us) * kMicrosecond : 0;
  return within(until + pause, now + (launching ? kBusySoonest : kSoonest), now + kRunLatest);
}

// Launches through the open gate are in flight until events behind them all have come. False: there
// are no such events yet.
bool DrainMonitor::noteClosed(std::uint64_t now) {
  if (!grant_.gated(std::memory_order_acquire)) return true;
  const std::uint32_t word = ledger::loadAcquire(grant_.terms()->word);
  word_seen_ = word;
  const std::uint64_t free = countedFree();
  if (word == 0 || free == free_watched_) return true;
  if (!grant_.note(word)) return false;
  ++divvy_thread.depth;
  const bool watched = runtime().meter.watchOlder();
  --divvy_thread.depth;
  if (!runtime().meter.usage().idle()) {
    idle_.noteActivation(now);
    if (!report_.shows(ledger::kWorkInFlight)) report_.turn(now);
    report_.raise(ledger::kWorkInFlight);
  }
  if (watched) free_watched_ = free;
  return watched;
}

std::uint64_t DrainMonitor::tick(std::uint64_t now) {
  if (ticking_.exchange(true, std::memory_order_acquire)) return now + kLatest;
  const ErrnoKeeper keeper;
  const bool known = noteClosed(now);
  if (!report_.claimed()) {
    ticking_.store(false, std::memory_order_release);
    return known ? 0 : now + kLatest;
  }
  if (runtime().tenant.account().slotOwner() != loadRelaxed(report_.line().owner)) {
    grant_.lose();
    ticking_.store(false, std::memory_order_release);
    return 0;
  }
  ++divvy_thread.depth;
  inflight_.noteProgress(runtime().meter.settle(now), now);
  --divvy_thread.depth;
  idle_.publish(now);
  if (ticks_++ % kTicksPerClock == 0 && !background_.missing()) {
    storeRelaxed(report_.line().cpu, BackgroundThread::ownTime());
  }
  std::uint64_t next = 0;
  if (grant_.ungated()) {
    grant_.standsOpen();
    next = now + kWatch;
  }
  const std::uint32_t word = grant_.ungated() ? 0 : ledger::loadAcquire(grant_.terms()->word);
  if (word != 0 && !grant_.alive(now)) grant_.ungate();
  word_seen_ = word;
  const bool draining = gateState(word) == GateState::kHold && !proveDrained(word, now);
  if (!rest(now, !draining)) next = nextLook(word, draining, now);
  if (!known && (next == 0 || next > now + kLatest)) next = now + kLatest;
  ticking_.store(false, std::memory_order_release);
  return next;
}

void DrainMonitor::sleepUntil(std::uint64_t until, const std::uint32_t& wake,
                              std::uint32_t seen) const {
  if (!grant_.gated(std::memory_order_acquire)) {
    sys::waitOn(&wake, seen, until, false);
  } else if (until == 0 && word_seen_ != 0) {
    sys::waitOn(&wake, seen, sys::now() + kClosedWatch, false);
  } else {
    grant_.waitWhile(word_seen_, until != 0 ? until : sys::now() + kOpenWatch);
  }
}

void DrainMonitor::forgetAfterFork() {
  idle_.forgetAfterFork();
  ticking_.store(false, std::memory_order_relaxed);
  free_watched_ = ticks_ = 0;
}

}  // namespace divvy::interposer
