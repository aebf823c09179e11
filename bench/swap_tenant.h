// A tenant whose memory is swapped, and the agent's part towards it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "card_run.h"
#include "command.h"
#include "ledger/account.h"
#include "ledger/grants.h"
#include "ledger/residency_pages.h"

namespace divvy::bench {

struct SwapPlan {
  std::string name;         // of its directory
  std::uint64_t bytes = 0;  // of device memory
  std::uint64_t chunk = 0;
  std::uint64_t seed = 1;  // of what it writes
  std::uint64_t hot = 0;   // of these it reads so many all the time; 0: none
};

// One process with all of its memory on the card, alone in a tenant of its own.
class SwapTenant {
 public:
  // Returns when it has its memory; throws std::runtime_error when that does not work. Tenants of
  // one `cards` share the card.
  SwapTenant(const CardFloor& floor, const SwapPlan& plan, const std::string& cards);
  ~SwapTenant();
  SwapTenant(const SwapTenant&) = delete;
  SwapTenant& operator=(const SwapTenant&) = delete;

  int pid() const;
  // How much of its memory may be on the card from now on, beside what is pinned. `at_host`: it
  // uses the rest where it is.
  void allow(std::uint64_t bytes, bool at_host = false);
  // From now on it reads other bytes.
  void changeHot() { process_->nudge(); }
  ledger::SwapSample sample();
  std::uint64_t mapped() { return sample().device[0].mapped; }
  bool ready() { return (sample().state & ledger::kSwapReady) != 0; }

  // Ends it; bytes that are not what it wrote. All of it has to be allowed.
  std::uint64_t mismatched();

 private:
  void makeTenant(const SwapPlan& plan, const std::string& profile);
  Command command(const CardFloor& floor, const SwapPlan& plan, const std::string& cards) const;
  void findSlot();

  std::string dir_;
  std::unique_ptr<Companion> process_;
  std::unique_ptr<ledger::GrantPages> grant_;
  std::unique_ptr<ledger::ResidencyPages> pages_;
  ledger::Account account_;
  unsigned slot_ = 0;
  std::uint64_t generation_ = 0;
};

// Until `done`, looking several times a millisecond; false: it takes too long.
bool waitFor(const std::function<bool()>& done);

}  // namespace divvy::bench
