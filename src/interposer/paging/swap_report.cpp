#include "paging/swap_report.h"

#include <string.h>

#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using ledger::loadAcquire;
using ledger::loadRelaxed;
using ledger::storeRelease;

constexpr std::uint32_t kFree = 0;
constexpr std::uint32_t kBusy = 1;
constexpr std::uint32_t kNever = 2;

// Limit for another thread that claims the line: 0.1 s in all.
constexpr int kPatience = 1000;
constexpr long kNap = 100'000;

// Moves a figure that was counted before there was a line. Only a thread between finding no line
// and counting still adds to the old one. SwapReport::claim() precedes everything that is counted.
void moveFigure(std::uint64_t& from, std::uint64_t& to) {
  const std::uint64_t value = __atomic_exchange_n(&from, 0, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&to, value, __ATOMIC_SEQ_CST);
}

void moveFigures(ledger::SwapLine& from, ledger::SwapLine& to) {
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) {
    moveFigure(from.device[dev].swappable, to.device[dev].swappable);
    moveFigure(from.device[dev].want, to.device[dev].want);
  }
  __atomic_fetch_or(&to.pin_reasons, ledger::loadRelaxed(from.pin_reasons), __ATOMIC_SEQ_CST);
  __atomic_fetch_or(&to.state, loadRelaxed(from.state) & ledger::kSwapMapsHost, __ATOMIC_SEQ_CST);
}

void copyFigures(const ledger::SwapDevice& from, ledger::SwapDevice& to) {
  storeRelease(to.swappable, loadRelaxed(from.swappable));
  storeRelease(to.mapped, loadRelaxed(from.mapped));
  storeRelease(to.pinned, loadRelaxed(from.pinned));
  storeRelease(to.want, loadRelaxed(from.want));
}

}  // namespace

bool SwapReport::claim() {
  if (claimed()) return true;
  std::uint32_t seen = kFree;
  if (!claiming_.compare_exchange_strong(seen, kBusy, std::memory_order_acq_rel)) {
    for (int i = 0; i < kPatience && seen == kBusy && !claimed(); ++i) {
      sys::nap(kNap);
      seen = claiming_.load(std::memory_order_acquire);
    }
    return claimed();
  }
  const ErrnoKeeper keeper;
  const bool taken = take();
  claiming_.store(taken ? kFree : kNever, std::memory_order_release);
  if (!taken) noteFault(Fault::kSwapUnusable, 0);
  return taken;
}

bool SwapReport::take() {
  Tenant& tenant = runtime().tenant;
  if (!tenant.ready() || (loadAcquire(tenant.control().header.swap.flags) & ledger::kSwapOn) == 0 ||
      tenant.account().pages().work() == nullptr) {
    return false;
  }
  const char* dir = ledger::findTenantDir();
  if (!pages_.isOpen() &&
      (dir == nullptr ||
       ledger::SwapPages::open(dir, tenant.control().header, &pages_) != ledger::OpenStatus::kOk)) {
    return false;
  }
  ledger::Account& account = tenant.account();
  if (account.claim() != ledger::Admission::kGranted) return false;
  owner_ = account.slotOwner();
  slot_ = account.slot();
  if (owner_ == 0) return false;
  ledger::SwapLine& line = pages_.swap().lines[slot_];
  storeRelease(line.owner, std::uint64_t{0});
  ::memset(reinterpret_cast<char*>(&line) + sizeof line.owner, 0, sizeof line - sizeof line.owner);
  line_.store(&line, std::memory_order_seq_cst);
  moveFigures(own_, line);
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) line.device[dev].pinned = pinned(dev);
  storeRelease(line.owner, owner_);
  ring();
  return true;
}

bool SwapReport::lost() const {
  return claimed() && runtime().tenant.account().slotOwner() != owner_;
}

void SwapReport::letGo() {
  claiming_.store(kNever, std::memory_order_release);
  ledger::SwapLine* line = line_.exchange(nullptr, std::memory_order_seq_cst);
  if (line == nullptr) return;
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) {
    copyFigures(line->device[dev], own_.device[dev]);
  }
  own_.state = loadRelaxed(line->state);
  noteFault(Fault::kSwapUnusable, 0, 1);
}

const ledger::ResidencyLine* SwapReport::order() const {
  if (!claimed()) return nullptr;
  const ledger::ResidencyLine& order = pages_.residency().lines[slot_];
  return loadAcquire(order.owner) == owner_ ? &order : nullptr;
}

std::uint64_t SwapReport::pinned(unsigned dev) {
  return ledger::pinnedNow(runtime().tenant.account(), slot_, dev, device(dev));
}

void SwapReport::showPinned(unsigned dev) {
  std::uint64_t& shown = device(dev).pinned;
  // Repeated until the value is right after the store, because another thread may be about to store
  // an older one.
  for (std::uint64_t now = pinned(dev);;) {
    storeRelease(shown, now);
    const std::uint64_t then = pinned(dev);
    if (then == now) break;
    now = then;
  }
  ring();
}

std::uint64_t SwapReport::have(unsigned dev) {
  return ledger::saturatingAdd(loadAcquire(device(dev).mapped), pinned(dev));
}

bool SwapReport::takeRoom(unsigned dev, std::uint64_t bytes) {
  const ledger::ResidencyLine* told = order();
  if (told == nullptr) return false;
  const std::uint64_t most = loadAcquire(told->allowed[dev]);
  ledger::SwapDevice& figures = device(dev);
  std::uint64_t mapped = loadAcquire(figures.mapped);
  do {
    const std::uint64_t have = ledger::saturatingAdd(mapped, pinned(dev));
    if (have > most || bytes > most - have) return false;
  } while (!ledger::compareExchange(figures.mapped, mapped, mapped + bytes));
  // The arbiter writes an order, fences and reads our bytes. So it saw these bytes, or we see that
  // order.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  const std::uint64_t now = order() == told ? loadAcquire(told->allowed[dev]) : 0;
  if (ledger::saturatingAdd(mapped + bytes, pinned(dev)) <= now) return true;
  giveRoom(dev, bytes);
  return false;
}

void SwapReport::takeBeyond(unsigned dev, std::uint64_t bytes) {
  ledger::bumpShared(line().self_helped, bytes);
  add(device(dev).mapped, static_cast<std::int64_t>(bytes));
}

void SwapReport::giveRoom(unsigned dev, std::uint64_t bytes) {
  add(device(dev).mapped, -static_cast<std::int64_t>(bytes));
  ring();
}

// ---- memory of the host ------------------------------------------------------------------------

bool SwapReport::takeHost(std::uint64_t bytes, bool staged) {
  const ledger::ResidencyLine* told = order();
  if (told == nullptr) return false;
  SwapStore& store = runtime().host_store;
  const std::uint64_t limit = loadRelaxed(told->host_allowed);
  const std::uint64_t most = ledger::saturatingAdd(limit, staged ? bytes : 0);
  std::uint64_t hosted = hosted_.load(std::memory_order_relaxed);
  do {
    const std::uint64_t all = ledger::saturatingAdd(hosted, bytes);
    store.trim(most > all ? most - all : 0);
    if (ledger::saturatingAdd(all, store.bytes()) > most) {
      showHostBytes();
      return false;
    }
  } while (!hosted_.compare_exchange_weak(hosted, hosted + bytes, std::memory_order_relaxed));
  raise(ledger::kSwapHostMapped);
  return true;
}

void SwapReport::giveHost(std::uint64_t bytes) {
  if (hosted_.fetch_sub(bytes, std::memory_order_relaxed) == bytes) {
    lower(ledger::kSwapHostMapped);
    // A thread that took some meanwhile may have set the bit before it was cleared.
    if (hosted_.load(std::memory_order_relaxed) != 0) raise(ledger::kSwapHostMapped);
  }
  showHostBytes();
}

std::uint64_t SwapReport::storeLimit() const {
  const ledger::ResidencyLine* told = order();
  const std::uint64_t limit = told == nullptr ? 0 : loadRelaxed(told->host_allowed);
  const std::uint64_t hosted = hosted_.load(std::memory_order_relaxed);
  return limit > hosted ? limit - hosted : 0;
}

bool SwapReport::mayMapHost() const {
  const ledger::ResidencyLine* told = order();
  return told != nullptr && (loadRelaxed(told->flags) & ledger::kMayHostMap) != 0;
}

void SwapReport::showHostBytes() {
  ledger::storeRelaxed(line().host_bytes,
                       runtime().host_store.bytes() + hosted_.load(std::memory_order_relaxed));
}

bool SwapReport::raise(std::uint32_t bits) {
  if ((__atomic_fetch_or(&line().state, bits, __ATOMIC_SEQ_CST) & bits) == bits) return false;
  ring();
  return true;
}

bool SwapReport::lower(std::uint32_t bits) {
  if ((__atomic_fetch_and(&line().state, ~bits, __ATOMIC_SEQ_CST) & bits) == 0) return false;
  ring();
  return true;
}

void SwapReport::ring() {
  if (!claimed()) return;
  const ErrnoKeeper keeper;
  ledger::bumpShared(line().changed, 1);
  std::uint32_t& bell = runtime().tenant.account().pages().work()->header.bell;
  __atomic_fetch_add(&bell, 1, __ATOMIC_RELEASE);
  sys::wakeAll(&bell, true);
}

void SwapReport::beginWait(std::uint64_t now) {
  ledger::storeRelaxed(line().last_need, now);
  if (waiting_.fetch_add(1, std::memory_order_seq_cst) == 0) raise(ledger::kSwapWanted);
}

void SwapReport::endWait() {
  if (waiting_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  lower(ledger::kSwapWanted);
  // A thread that began meanwhile may have set the bit before it was cleared.
  if (waiting() != 0) raise(ledger::kSwapWanted);
}

void SwapReport::forgetAfterFork() {
  line_.store(nullptr, std::memory_order_relaxed);
  claiming_.store(kFree, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  hosted_.store(0, std::memory_order_relaxed);
  ::memset(static_cast<void*>(&own_), 0, sizeof own_);
}

}  // namespace divvy::interposer
