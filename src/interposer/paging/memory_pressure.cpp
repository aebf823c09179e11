#include "paging/memory_pressure.h"

#include "ledger/atomic_word.h"
#include "ledger/refusal.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

// The most that the device can hold of this process; unknown before the first order.
std::uint64_t mostOn(unsigned device) {
  const ledger::ResidencyLine* order = runtime().swap_board.order();
  return order == nullptr ? UINT64_MAX : ledger::loadRelaxed(order->most[device]);
}

// Published to the agent while a thread waits.
class Pressed {
 public:
  Pressed() {
    SwapReport& board = runtime().swap_board;
    ledger::bumpShared(board.line().pressure_waits, 1);
    ledger::notePressureWait(runtime().tenant.account());
    if (runtime().pressure.waiting.fetch_add(1, std::memory_order_seq_cst) == 0) {
      board.raise(ledger::kSwapPressed);
    }
  }
  ~Pressed() {
    std::atomic<std::uint32_t>& waiting = runtime().pressure.waiting;
    if (waiting.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
    runtime().swap_board.lower(ledger::kSwapPressed);
    // A thread that began meanwhile may have set the bit before it was cleared.
    if (waiting.load(std::memory_order_seq_cst) != 0) {
      runtime().swap_board.raise(ledger::kSwapPressed);
    }
  }
  Pressed(const Pressed&) = delete;
  Pressed& operator=(const Pressed&) = delete;
};

}  // namespace

SwappableReservation::SwappableReservation(unsigned device, std::uint64_t bytes, bool patient)
    : device_(device),
      bytes_(bytes),
      granted_(add() || (patient && ((runtime().swappable.awaitFrees() && add()) || await()))) {}

SwappableReservation::~SwappableReservation() {
  if (granted_) runtime().swap_board.addSwappable(device_, -static_cast<std::int64_t>(bytes_));
}

// pinned() contains charged bytes that are not counted elsewhere yet; here these are the bytes
// themselves.
bool SwappableReservation::add() const {
  const std::uint64_t most = mostOn(device_);
  ledger::SwapDevice& figures = runtime().swap_board.device(device_);
  std::uint64_t swappable = ledger::loadAcquire(figures.swappable);
  do {
    if (ledger::saturatingAdd(swappable, runtime().swap_board.pinned(device_)) > most) return false;
  } while (!ledger::compareExchange(figures.swappable, swappable, swappable + bytes_));
  return true;
}

bool SwappableReservation::await() const {
  const std::uint64_t patience =
      ledger::loadRelaxed(runtime().tenant.control().header.swap.pressure_ms) * kMillisecond;
  if (patience == 0 || divvy_thread.callback || divvy_thread.forking) return false;
  const ErrnoKeeper keeper;
  SwapReport& board = runtime().swap_board;
  const std::uint32_t& bell = board.pages().residency().header.bell;
  const std::uint64_t until = sys::now() + patience;
  const auto bytes = static_cast<std::int64_t>(bytes_);
  board.addWant(device_, bytes);  // while this waits the bytes count as wanted
  const Pressed pressed;
  for (;;) {
    const std::uint32_t seen = ledger::loadAcquire(bell);
    board.addWant(device_, -bytes);
    if (add()) return true;
    if (sys::now() >= until) return false;
    board.addWant(device_, bytes);
    sys::waitOn(&bell, seen, until, true);
  }
}

}  // namespace divvy::interposer
