#include "accounting/resident_charge.h"

#include <atomic>

#include "accounting/charge.h"
#include "ledger/atomic_word.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kDefaultRoomMs = 2000;

// True after the wait for the first order ended without one. The process does not wait for one
// again.
std::atomic<bool> unheard{false};

// Returns true if room can be made: there is an order, or an agent that may send one.
bool heard() {
  if (runtime().swap_board.order() != nullptr) return true;
  return runtime().tenant.control().header.agent_socket[0] != 0 &&
         !unheard.load(std::memory_order_relaxed);
}

bool fits(unsigned device, std::uint64_t bytes) {
  SwapReport& board = runtime().swap_board;
  const ledger::ResidencyLine* order = board.order();
  return order != nullptr && ledger::saturatingAdd(board.have(device), bytes) <=
                                 ledger::loadRelaxed(order->allowed[device]);
}

void awaitRoom(unsigned device, std::uint64_t bytes) {
  if (fits(device, bytes) || divvy_thread.callback || divvy_thread.forking || !heard()) return;
  const ErrnoKeeper keeper;
  SwapReport& board = runtime().swap_board;
  const std::uint32_t told = ledger::loadRelaxed(runtime().tenant.control().header.swap.room_ms);
  const std::uint64_t begun = sys::now();
  const std::uint64_t until = begun + (told != 0 ? told : kDefaultRoomMs) * kMillisecond;
  const std::uint32_t& bell = board.pages().residency().header.bell;
  board.beginWait(begun);
  for (;;) {
    const std::uint32_t seen = ledger::loadAcquire(bell);
    if (fits(device, bytes) || sys::now() >= until) break;
    sys::waitOn(&bell, seen, until, true);
  }
  board.endWait();
  if (board.order() == nullptr) unheard.store(true, std::memory_order_relaxed);
}

}  // namespace

bool reserveInRoom(unsigned device, std::uint64_t bytes) {
  // Also before the first swappable block: a context on a full card waits for room as any other
  // allocation does.
  if (bytes == 0 || !runtime().swap_board.claim()) return reserveShare(device, bytes);
  // Charged before it is requested: for a moment too much counts as pinned, never too little.
  if (!reserveShare(device, bytes)) return false;
  SwapReport& board = runtime().swap_board;
  board.addWant(device, static_cast<std::int64_t>(bytes));
  board.ring();
  awaitRoom(device, bytes);
  board.addWant(device, -static_cast<std::int64_t>(bytes));
  board.showPinned(device);
  return true;
}

}  // namespace divvy::interposer
