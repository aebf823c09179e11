// Tests of swapping: this process is the tenant, and plays the agent's part too.
#pragma once

#include <optional>
#include <vector>

#include "gate_fixture.h"
#include "ledger/pins.h"
#include "ledger/residency_pages.h"

namespace divvy::interposer {

class SwapTest : public GateTest {
 protected:
  static constexpr std::uint64_t kEverything = std::uint64_t{1} << 40;

  // A tenant whose memory can be swapped, on a card where it is fatal to take memory away from
  // under work.
  static Tenancy swappable();

  // makeReady(), and orders and a grant that let everything be. The lease outlives the test.
  static void makeSwappable(ledger::GateState state = ledger::GateState::kOpen);

  // What of its chunks this process may have on the card from now on, beside what is pinned.
  static void allow(std::uint64_t bytes, std::uint64_t host_bytes = kGiB, std::uint32_t flags = 0);

  // What of its memory is pinned, by its books: what it shows may be older.
  static std::uint64_t pinned();
  // Has it show something else, for as long as its mover does not look.
  static void showPinned(std::uint64_t bytes);

  // What it shows; nothing before it has a line.
  static std::optional<ledger::SwapSample> shown();
  // The same in words, for messages.
  static std::string said();
  static bool shows(std::uint32_t bits) { return shown() && (shown()->state & bits) == bits; }
  static bool refuses(ledger::SwapRefusal why) {
    return shown() && shown()->refusal == static_cast<std::uint32_t>(why);
  }

  // Something of it stays on the card for that reason.
  static bool pinnedFor(ledger::PinReason why) {
    return shown() && (shown()->pin_reasons & ledger::bitOf(why)) != 0;
  }

  // Bytes of chunks on the card, by the card's books.
  static std::uint64_t resident() { return booked(Charge::kVmm); }
  // Whether it comes to that, with a bound, and the pager has finished its pass: the card's books
  // change before the figures that it publishes.
  static bool becomesResident(std::uint64_t bytes) {
    return eventually([=] { return resident() == bytes && !shows(ledger::kSwapMoving); });
  }
  // A moment in which the mover would have looked several times.
  static bool staysResident(std::uint64_t bytes) {
    return !eventually([=] { return resident() != bytes; }, std::chrono::milliseconds(300));
  }

  // A block filled with bytes that follow from `seed`, and whether it holds them still.
  static CUdeviceptr filled(std::uint64_t bytes, unsigned seed);
  static bool holds(CUdeviceptr block, std::uint64_t bytes, unsigned seed);
  static std::vector<std::uint32_t> pattern(std::uint64_t bytes, unsigned seed);

  // Memory that was taken away from under work, ever.
  static std::uint64_t takenUnderWork();
};

}  // namespace divvy::interposer
