// Work of the gate outside of the launch path.
#include "launch/launch_gate.h"
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
constexpr std::uint64_t kSoonest = 50 * kMicrosecond;       // between two ticks
constexpr std::uint64_t kInsideLook = 200 * kMicrosecond;   // for a thread's return from the driver
constexpr std::uint64_t kBusySoonest = 500 * kMicrosecond;  // while launches continue
constexpr std::uint64_t kSaturatedSoonest = 5 * kMillisecond;
constexpr std::uint64_t kSaturatedLatest = 100 * kMillisecond;
constexpr std::uint64_t kLatest = kMillisecond;
// maximum while work is in flight for that long
constexpr std::uint64_t kRunLatest = 5 * kMillisecond;
constexpr std::uint64_t kTicksPerClock = 16;
// While the grant is open, an idle thread sleeps on the grant. Otherwise it sleeps on its own word,
// which costs nothing at each turn of other processes. Both sleeps are bounded.
constexpr std::uint64_t kOpenWatch = 1000 * kMillisecond;
constexpr std::uint64_t kClosedWatch = 100 * kMillisecond;

std::uint64_t within(std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace

// The whole sequence number with the low bits of a word.
std::uint64_t LaunchGate::sequenceOf(std::uint32_t word) const {
  const std::uint64_t seq = ledger::loadAcquire(grant_->seq);
  // The writer changes seq first, so the word's sequence is found by counting back from it.
  const std::uint64_t ahead = (seq - (word >> 3)) & (~std::uint32_t{0} >> 3);
  return seq - ahead;
}

bool LaunchGate::servesFirst() const {
  return loadRelaxed(grant_->mode) == static_cast<std::uint32_t>(ledger::GrantMode::kLatency);
}

void LaunchGate::publish(std::uint64_t now) {
  const UsageMeter& meter = runtime().meter;
  ledger::WorkLine& line = board_.line();
  const std::uint64_t launches = countedMetered();
  if (launches != launches_seen_) {
    launches_seen_ = launches;
    quiet_since_ = now;
    storeRelaxed(line.last_launch, now);
    storeRelaxed(line.launches, launches);
  }
  const std::uint64_t until = inflightEnd();
  activated_seen_ = activated_.load(std::memory_order_relaxed);
  if (activated_seen_ > quiet_since_) quiet_since_ = activated_seen_ < now ? activated_seen_ : now;
  // Idle time counts from when the end was observed, not from when it occurred: a late observation
  // would make a short pause look idle. That is harmless for a tenant that takes precedence.
  if (until != 0) {
    quiet_since_ = now;
  } else if (busy_until_ != 0) {
    const std::uint64_t end = servesFirst() ? busy_until_ : now;
    quiet_since_ = within(end, quiet_since_, now);
  }
  busy_until_ = until;
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) {
    const std::uint64_t busy = meter.busy(dev);
    if (busy != loadRelaxed(line.busy[dev])) storeRelaxed(line.busy[dev], busy);
  }
  storeRelaxed(line.longest, meter.longest());
  storeRelaxed(line.settles, meter.settles());
  storeRelaxed(line.unmetered, meter.unmetered());
  storeRelaxed(line.inflight_until, until);
  if (ticks_++ % kTicksPerClock == 0 && !background_.missing()) {
    storeRelaxed(line.cpu, BackgroundThread::ownTime());
  }
}

// An estimate that has passed without an end proves nothing.
bool LaunchGate::endsInTime(std::uint64_t now) const {
  const std::uint64_t until = inflightEnd();
  if (until == 0) return true;
  return until > now && until - now <= loadRelaxed(grant_->overlap_us) * kMicrosecond;
}

// Returns true if it is proved that everything launched before the hold `word` has drained.
bool LaunchGate::proveDrained(std::uint32_t word, std::uint64_t now) {
  ledger::WorkLine& line = board_.line();
  const std::uint64_t seq = sequenceOf(word);
  ledger::raiseTo(line.seen_seq, seq);
  if (loadRelaxed(line.drained_seq) >= seq) return true;
  if (!endsInTime(now)) return false;
  fenceAllThreads(fences_);
  // The meter is read again for work that passed in the meantime.
  if (insideUnderOther(word) || !endsInTime(now)) return false;
  storeRelease(line.drained_seq, seq);
  board_.ring();
  return true;
}

// Clears kWorkInFlight. Returns false if a launch intervened. `drained`: the drain was proved, so
// other tenants have their turn.
bool LaunchGate::rest(std::uint64_t now, bool drained) {
  if (!board_.shows(ledger::kWorkInFlight)) return true;
  // Under a hold with a waiting thread no thread is about to launch.
  const bool held = gateState(word_seen_) == GateState::kHold && board_.shows(ledger::kWorkWaiting);
  const std::uint64_t pause = held ? 0 : loadRelaxed(grant_->idle_us) * kMicrosecond;
  if (insideUnderOther(0) || inflightEnd() != 0 || now - quiet_since_ < pause) return false;
  // A launch that still saw the state is inside or counted by now. One that was just admitted has
  // set activated_; later ones raise the state again.
  board_.turn(now);
  __atomic_fetch_and(&board_.line().state, ~ledger::kWorkInFlight, __ATOMIC_SEQ_CST);
  fenceAllThreads(fences_);
  if (insideUnderOther(0) || inflightEnd() != 0 || countedMetered() != launches_seen_ ||
      activated_.load(std::memory_order_relaxed) != activated_seen_) {
    board_.raise(ledger::kWorkInFlight);
    return false;
  }
  if (held && drained && loadRelaxed(grant_->reads_turned) != 0) {
    board_.note();
  } else {
    board_.ring();
  }
  return true;
}

// A thread waits until more may be in flight, and settles work meanwhile. No idleness can begin
// before the present work has ended, and other tenants do not need it earlier.
bool LaunchGate::saturated() const {
  return budget_waits_.load(std::memory_order_relaxed) != 0 &&
         loadRelaxed(grant_->mode) != static_cast<std::uint32_t>(ledger::GrantMode::kLatency);
}

std::uint64_t LaunchGate::nextLook(std::uint32_t word, bool draining, std::uint64_t now) const {
  const std::uint64_t until = inflightEnd();
  if (draining && until == 0) return now + kInsideLook;
  if (draining) {
    const std::uint64_t early = until - loadRelaxed(grant_->overlap_us) * kMicrosecond;
    return within(early, now + kSoonest, now + kLatest);
  }
  if (gateState(word) == GateState::kHold) {
    // A moment later, so that one tick suffices.
    return within(until + kSoonest, now + kSoonest, now + kRunLatest);
  }
  if (saturated()) return now + within(2 * inflightBound(), kSaturatedSoonest, kSaturatedLatest);
  if (until == 0) {
    const std::uint64_t idle = quiet_since_ + loadRelaxed(grant_->idle_us) * kMicrosecond;
    return within(idle, now + kSoonest, now + kLatest);
  }
  // A tenant that continues launching will be in flight for longer than is known now.
  const bool launching = gateState(word) == GateState::kRun && quiet_since_ == now &&
                         loadRelaxed(board_.line().last_launch) == now;
  // One tick for the end and for the pause after it.
  const std::uint64_t pause = servesFirst() ? loadRelaxed(grant_->idle_us) * kMicrosecond : 0;
  return within(until + pause, now + (launching ? kBusySoonest : kSoonest), now + kRunLatest);
}

// Work that passed the open gate is in flight until all events after it have completed. Returns
// false if there are no such events yet.
bool LaunchGate::noteClosed(std::uint64_t now) {
  if (mode_.load(std::memory_order_acquire) != Mode::kGated) return true;
  const std::uint32_t word = ledger::loadAcquire(grant_->word);
  word_seen_ = word;
  const std::uint64_t free = countedFree();
  if (word == 0 || free == free_watched_) return true;
  if (!noteGrant(word)) return false;
  ++divvy_thread.depth;
  const bool watched = runtime().meter.watchOlder();
  --divvy_thread.depth;
  if (!runtime().meter.idle()) {
    activated_.store(now, std::memory_order_relaxed);
    if (!board_.shows(ledger::kWorkInFlight)) board_.turn(now);
    board_.raise(ledger::kWorkInFlight);
  }
  if (watched) free_watched_ = free;
  return watched;
}

std::uint64_t LaunchGate::tick(std::uint64_t now) {
  if (ticking_.exchange(true, std::memory_order_acquire)) return now + kLatest;
  const ErrnoKeeper keeper;
  const bool known = noteClosed(now);
  if (!board_.claimed()) {
    ticking_.store(false, std::memory_order_release);
    return known ? 0 : now + kLatest;
  }
  if (runtime().tenant.account().slotOwner() != loadRelaxed(board_.line().owner)) {
    lose();
    ticking_.store(false, std::memory_order_release);
    return 0;
  }
  ++divvy_thread.depth;
  noteProgress(runtime().meter.settle(now), now);
  --divvy_thread.depth;
  publish(now);
  std::uint64_t next = 0;
  if (ungated()) {
    if (lease_.moved(*grant_)) regate();
    next = now + kWatch;
  }
  const std::uint32_t word = ungated() ? 0 : ledger::loadAcquire(grant_->word);
  if (word != 0 && !lease_.alive(*grant_, now)) ungate();
  word_seen_ = word;
  const bool draining = gateState(word) == GateState::kHold && !proveDrained(word, now);
  if (!rest(now, !draining)) next = nextLook(word, draining, now);
  if (!known && (next == 0 || next > now + kLatest)) next = now + kLatest;
  ticking_.store(false, std::memory_order_release);
  return next;
}

void LaunchGate::sleepUntil(std::uint64_t until, const std::uint32_t& wake,
                            std::uint32_t seen) const {
  if (mode_.load(std::memory_order_acquire) != Mode::kGated) {
    sys::waitOn(&wake, seen, until, false);
  } else if (until == 0 && word_seen_ != 0) {
    sys::waitOn(&wake, seen, sys::now() + kClosedWatch, false);
  } else {
    sys::waitOn(&grant_->word, word_seen_, until != 0 ? until : sys::now() + kOpenWatch, true);
  }
}

}  // namespace divvy::interposer
