#include "paging/pager.h"

#include "paging/pager_pass.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/internal_thread.h"

namespace divvy::interposer {
namespace {

using ledger::loadAcquire;
using ledger::loadRelaxed;
using ledger::SwapRefusal;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kWatch = 100 * kMillisecond;
constexpr std::uint64_t kSoon = kMillisecond;
constexpr std::uint64_t kShortestPause = 10 * kMillisecond;
constexpr std::uint64_t kLongestPause = 1000 * kMillisecond;
// A failed drain delays launches for as long as it took, which is bounded. The pause after it is as
// long, and doubles with each further failure. So the application loses at first half of its time,
// in the long run a tenth.
constexpr std::uint64_t kLongestDrain = 2000 * kMillisecond;
constexpr std::uint64_t kDrainPauses = 10;
constexpr std::uint64_t kBackPauses = 10;  // times the duration of the last return from the host
constexpr std::uint64_t kStopPatience = 10 * kMillisecond;

bool any(unsigned device, ChunkState one, ChunkState other) {
  bool found = false;
  runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
    const ChunkState now = chunk.now();
    found = now == one || now == other;
    return !found;
  });
  return found;
}

bool away(unsigned device) {
  return any(device, ChunkState::kReserved, ChunkState::kSwappedOut);
}

enum class Missing : std::uint8_t { kNothing, kOnItsWay, kAway };

Missing missing() {
  Missing found = Missing::kNothing;
  runtime().chunks.forEach([&](std::uint32_t, Chunk& chunk) {
    const ChunkState now = chunk.now();
    if (now == ChunkState::kSwappingOut || now == ChunkState::kSwappingIn)
      found = Missing::kOnItsWay;
    const bool at_host = now == ChunkState::kHost && chunk.has(kHome);
    if (now == ChunkState::kReserved || now == ChunkState::kSwappedOut || at_host)
      found = Missing::kAway;
    return found != Missing::kAway;
  });
  return found;
}

// Returns true if memory at the host must come to the device and cannot wait.
bool homeless(unsigned device) {
  bool found = false;
  runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
    const ChunkState now = chunk.now();
    found = chunk.has(kHome) && !isMapped(now) && now != ChunkState::kFree;
    return !found;
  });
  return found;
}

// Returns true if a chunk that is used at the host fits on the device.
bool fitsBack(unsigned device, std::uint64_t room) {
  bool found = false;
  runtime().chunks.forEachOn(device, [&](std::uint32_t, Chunk& chunk) {
    found = chunk.now() == ChunkState::kHost && chunk.bytes <= room;
    return !found;
  });
  return found;
}

const std::uint32_t& bell() {
  return runtime().swap_board.pages().residency().header.bell;
}

}  // namespace

// ---- life --------------------------------------------------------------------------------------

bool Pagers::startOne(unsigned device) {
  Pager& pager = pagers_[device];
  if (pager.state.load(std::memory_order_acquire) == Pager::State::kRunning) return true;
  auto none = Pager::State::kNone;
  if (!pager.state.compare_exchange_strong(none, Pager::State::kStarting)) {
    return none != Pager::State::kMissing;
  }
  pager.device = device;
  const int failed = startOwnThread(run, &pager);
  pager.state.store(failed == 0 ? Pager::State::kRunning : Pager::State::kMissing,
                    std::memory_order_release);
  if (failed != 0) noteFault(Fault::kNoHelper, 0, static_cast<std::uint64_t>(failed));
  return failed == 0;
}

bool Pagers::start() {
  const ErrnoKeeper keeper;
  const Tenant& tenant = runtime().tenant;
  bool started = true;
  for (unsigned dev = 0; dev < tenant.deviceCount(); ++dev) {
    if (loadAcquire(tenant.control().devices[dev].swap.swappable) != 0) {
      started = startOne(dev) && started;
    }
  }
  return started;
}

// Pagers sleep on the agent's doorbell. Other processes of the tenant may sleep on it too; they
// check once.
void Pagers::wake() {
  if (!runtime().swap_board.claimed()) return;
  const ErrnoKeeper keeper;
  __atomic_fetch_add(&word_, 1, __ATOMIC_SEQ_CST);
  sys::wakeAll(&bell(), true);
}

void* Pagers::run(void* argument) {
  beginOwnThread("divvy-mover");
  runtime().pagers.loop(*static_cast<Pager*>(argument));
  return nullptr;
}

void Pagers::park(Pager& pager) {
  ledger::storeRelease(pager.parked, 1u);
  sys::wakeAll(&pager.parked, false);
  for (;;) sys::waitOn(&pager.parked, 1, 0, false);
}

void Pagers::loop(Pager& pager) {
  while (!stopping()) {
    const std::uint32_t rung = loadAcquire(bell());
    const std::uint32_t woken = loadAcquire(word_);
    const std::uint64_t next = step(pager, sys::now());
    if (loadAcquire(word_) != woken || stopping()) continue;
    sys::waitOn(&bell(), rung, next, true);
  }
  park(pager);
}

void Pagers::stop() {
  stop_.store(true, std::memory_order_release);
  wake();
  const std::uint64_t until = sys::now() + kStopPatience;
  for (Pager& pager : pagers_) {
    const Pager::State state = pager.state.load(std::memory_order_acquire);
    if (state != Pager::State::kRunning && state != Pager::State::kStarting) continue;
    while (loadAcquire(pager.parked) == 0 && sys::now() < until) {
      sys::waitOn(&pager.parked, 0, until, false);
    }
  }
}

void Pagers::forgetAfterFork() {
  for (Pager& pager : pagers_) {
    pager.state.store(Pager::State::kNone, std::memory_order_relaxed);
    pager.parked = 0;
    pager.seen_seq = pager.retry_at = pager.pause = pager.vain = pager.quiet_from = 0;
    pager.back_at = 0;
    pager.refused = SwapRefusal::kNone;
  }
  lease_.forgetAfterFork();
  stop_.store(false, std::memory_order_relaxed);
  closers_.store(0, std::memory_order_relaxed);
}

// ---- one step ----------------------------------------------------------------------------------

std::uint64_t Pagers::step(Pager& pager, std::uint64_t now) {
  SwapReport& board = runtime().swap_board;
  if (board.lost()) board.letGo();
  collect();
  runtime().last_use.advance(now);
  // The value depends on other threads, which do not publish it at once.
  if (loadRelaxed(board.device(pager.device).pinned) != board.pinned(pager.device)) {
    board.showPinned(pager.device);
  }
  std::uint64_t next = now + kWatch;
  const ledger::ResidencyLine* order = board.order();
  const bool silent = !lease_.alive(runtime().tenant.control().header.grant, now);
  if (silent && (board.waiting() != 0 || board.shows(ledger::kSwapSelfHelp))) {
    next = helpSelf(pager, now);
  } else if (order != nullptr) {
    const std::uint64_t seq = loadAcquire(order->seq);
    if (seq != pager.seen_seq) pager.retry_at = pager.pause = pager.vain = 0;
    const std::uint64_t allowed = loadRelaxed(order->allowed[pager.device]);
    const bool out = board.have(pager.device) > allowed;
    if (!out) board.lower(ledger::kSwapSelfHelp);
    next = out ? moveOut(pager, now) : moveIn(pager, now);
    if (!out && runtime().memory_gate.isOpen()) {
      const std::uint64_t ahead = runtime().host_ahead.step(pager, now);
      if (ahead < next) next = ahead;
    }
    if (seq != pager.seen_seq) {
      pager.seen_seq = seq;
      ledger::storeRelease(board.line().seen_seq, seq);
      board.ring();
    }
  }
  return tryOpen() || next < now + kSoon ? next : now + kSoon;
}

// Memory that was freed during captures has no owner to release it.
void Pagers::collect() {
  Runtime& state = runtime();
  if (state.captures.open() || !state.context_use.begin()) return;
  state.swappable.collect();
  state.context_use.end();
}

bool Pagers::resting(const Pager& pager, std::uint64_t now) {
  if (pager.retry_at <= now) return false;
  if (pager.refused == SwapRefusal::kCapturing) return runtime().captures.open();
  if (pager.refused != SwapRefusal::kNotDrained) return true;
  // The obstacle may have ended long ago. That is a guess; the next drain proves it.
  return now < pager.quiet_from || anyTouching() || !runtime().meter.usage().idle();
}

// When to check again whether the pause is over.
std::uint64_t Pagers::nextTry(const Pager& pager, std::uint64_t now) {
  if (pager.refused != SwapRefusal::kNotDrained) return pager.retry_at;
  const std::uint64_t look = now < pager.quiet_from ? pager.quiet_from : now + kWatch;
  return look < pager.retry_at ? look : pager.retry_at;
}

std::uint64_t Pagers::refuse(Pager& pager, SwapRefusal why) {
  pager.refused = why;
  SwapReport& board = runtime().swap_board;
  pager.pause = pager.pause == 0 ? kShortestPause : pager.pause * 2;
  if (pager.pause > kLongestPause) pager.pause = kLongestPause;
  ledger::storeRelaxed(board.line().refusal, static_cast<std::uint32_t>(why));
  ledger::bumpShared(board.line().aborts, 1);
  if (why == SwapRefusal::kCapturing) board.raise(ledger::kSwapCapturing);
  if (why != SwapRefusal::kCapturing && why != SwapRefusal::kNotDrained) {
    noteFault(Fault::kSwapRefused, 0, static_cast<std::uint64_t>(why));
  }
  board.ring();
  return pager.retry_at = sys::now() + pager.pause;
}

std::uint64_t Pagers::refuseDrain(Pager& pager, std::uint64_t took) {
  const std::uint64_t cost = took < kLongestDrain ? took : kLongestDrain;
  pager.vain = pager.vain == 0 ? 1 : pager.vain * 2;
  if (pager.vain > kDrainPauses) pager.vain = kDrainPauses;
  refuse(pager, SwapRefusal::kNotDrained);
  const std::uint64_t now = sys::now();
  pager.quiet_from = now + (cost > kShortestPause ? cost : kShortestPause);
  if (pager.retry_at < now + cost * pager.vain) pager.retry_at = now + cost * pager.vain;
  return nextTry(pager, now);
}

void Pagers::obeyed(Pager& pager) {
  SwapReport& board = runtime().swap_board;
  pager.retry_at = pager.pause = pager.vain = 0;
  ledger::storeRelaxed(board.line().refusal, static_cast<std::uint32_t>(SwapRefusal::kNone));
  board.lower(ledger::kSwapCapturing);
}

std::uint64_t Pagers::moveOut(Pager& pager, std::uint64_t now) {
  if (resting(pager, now)) return nextTry(pager, now);
  if (!any(pager.device, ChunkState::kDevice, ChunkState::kDevice)) return now + kWatch;
  const std::uint64_t next = whileClosed(pager, now, [](PagerPass& pass) { return pass.out(); });
  const SwapReport& board = runtime().swap_board;
  const bool rests = pager.retry_at != 0;
  // Swapped-out memory may be used at the host.
  return !rests && board.mayMapHost() && away(pager.device) ? now + kSoon : next;
}

template <typename Move>
std::uint64_t Pagers::whileClosed(Pager& pager, std::uint64_t now, Move move) {
  SwapReport& board = runtime().swap_board;
  // From here on no thread opens the gate.
  closers_.fetch_add(1, std::memory_order_seq_cst);
  SwapRefusal refused = runtime().memory_gate.close();
  const std::uint64_t drained = sys::now();
  ledger::bumpShared(board.line().drains, 1);
  ledger::bumpShared(board.line().drain_ns, drained - now);
  bool again = false;
  if (refused == SwapRefusal::kNone) {
    board.lower(ledger::kSwapReady);
    board.raise(ledger::kSwapClosed | ledger::kSwapMoving);
    PagerPass pass(pager);
    again = pass.interrupted();
    refused = pass.ready() ? move(pass) : again ? SwapRefusal::kNone : SwapRefusal::kDriver;
    again = again || pass.interrupted();
    board.lower(ledger::kSwapMoving);
  }
  closers_.fetch_sub(1, std::memory_order_seq_cst);
  if (refused == SwapRefusal::kNone) {
    obeyed(pager);
    return again ? drained + kSoon : now + kWatch;
  }
  return refused == SwapRefusal::kNotDrained ? refuseDrain(pager, drained - now)
                                             : refuse(pager, refused);
}

// No thread opens the gate meanwhile. If it is not closed, this does nothing.
SwapRefusal Pagers::preferHot(PagerPass& pass) {
  closers_.fetch_add(1, std::memory_order_seq_cst);
  const bool closed = runtime().memory_gate.closed();
  const SwapRefusal refused = closed ? pass.preferHot() : SwapRefusal::kNone;
  closers_.fetch_sub(1, std::memory_order_seq_cst);
  // Without space for it, it is used at the host.
  return refused == SwapRefusal::kNoHostMemory ? SwapRefusal::kNone : refused;
}

std::uint64_t Pagers::moveIn(Pager& pager, std::uint64_t now) {
  if (resting(pager, now)) return nextTry(pager, now);
  SwapReport& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  if (order == nullptr) return now + kWatch;
  const std::uint64_t allowed = loadRelaxed(order->allowed[pager.device]);
  const std::uint64_t have = board.have(pager.device);
  const bool hosts = board.mayMapHost();
  if (!away(pager.device)) return moveBack(pager, now);
  if (have >= allowed && !hosts) return now + kWatch;
  board.raise(ledger::kSwapMoving);
  SwapRefusal refused = SwapRefusal::kNone;
  bool again = false;
  {
    PagerPass pass(pager);
    again = pass.interrupted();
    if (!pass.ready()) refused = again ? SwapRefusal::kNone : SwapRefusal::kDriver;
    if (pass.ready() && hosts) refused = preferHot(pass);
    if (pass.ready() && refused == SwapRefusal::kNone) refused = pass.in();
    again = again || pass.interrupted();
    if (hosts && refused == SwapRefusal::kNone && !again) {
      refused = pass.toHost();
      again = pass.interrupted();
    }
  }
  board.lower(ledger::kSwapMoving);
  if (refused != SwapRefusal::kNone) return refuse(pager, refused);
  obeyed(pager);
  if (homeless(pager.device)) return moveBack(pager, now);
  return again ? sys::now() + kSoon : now + kWatch;
}

// Brings chunks that are used at the host to the device if they fit or must be there. Or exchanges
// them with chunks on the device that are not used.
std::uint64_t Pagers::moveBack(Pager& pager, std::uint64_t now) {
  SwapReport& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  const bool needed = homeless(pager.device);
  if (order == nullptr || (!needed && now < pager.back_at)) return now + kWatch;
  const std::uint64_t allowed = loadRelaxed(order->allowed[pager.device]);
  const std::uint64_t have = board.have(pager.device);
  const bool fits = have < allowed && fitsBack(pager.device, allowed - have);
  const bool may_exchange = board.mayMapHost() && !runtime().captures.open();
  const std::uint64_t exchanged = may_exchange ? PagerPass::worthExchanging(pager) : 0;
  if (!needed && !fits && exchanged == 0) return now + kWatch;
  const std::uint64_t next =
      whileClosed(pager, now, [=](PagerPass& pass) { return pass.backFromHost(exchanged); });
  const std::uint64_t later = sys::now();
  pager.back_at = later + kBackPauses * (later - now);
  return next;
}

// The agent is silent, and threads wait for memory. Takes the memory that the last order permits,
// then all or nothing of the card's free memory. Processes that try this at the same time do not
// retry in step with each other.
std::uint64_t Pagers::helpSelf(Pager& pager, std::uint64_t now) {
  if (resting(pager, now)) return nextTry(pager, now);
  if (!away(pager.device)) return now + kWatch;
  moveIn(pager, now);
  if (!away(pager.device)) return now + kWatch;
  SwapRefusal refused = SwapRefusal::kNone;
  {
    PagerPass pass(pager);
    if (!pass.ready()) return sys::now() + kSoon;
    refused = pass.inBeyond();
  }
  if (refused == SwapRefusal::kNone) return sys::now() + kSoon;
  refuse(pager, refused);
  const std::uint64_t later = sys::now();
  return pager.retry_at = later + kLongestPause / 2 + later % kLongestPause;
}

// Returns true if the gate is open, or if something must happen first that wakes the pagers.
bool Pagers::tryOpen() {
  ResidencyGate& gate = runtime().memory_gate;
  SwapReport& board = runtime().swap_board;
  const std::uint32_t seen = gate.word();
  if (!gate.isOpen()) {
    if (closers_.load(std::memory_order_seq_cst) != 0) return true;
    const Missing found = missing();
    if (found != Missing::kNothing) return found == Missing::kAway;
    if (!gate.reopen(seen)) return false;
  }
  board.lower(ledger::kSwapClosed);
  board.raise(ledger::kSwapReady);
  // A thread that closed it meanwhile may have cleared the bit before.
  if (!gate.isOpen()) board.lower(ledger::kSwapReady);
  return gate.isOpen();
}

}  // namespace divvy::interposer
