// The tenant's view of the files by which its memory is swapped. Freestanding.
#pragma once

#include "ledger/account.h"
#include "ledger/pages.h"
#include "ledger/swap.h"

namespace divvy::ledger {

// Maps <dir>/residency read-only and <dir>/swap read-write. As TenantPages: trivial, static
// storage, zero means closed; copies share the mapping, mappings survive fork.
class SwapPages {
 public:
  // For a tenant whose control page says kSwapOn; `out` is only written on kOk.
  static OpenStatus open(const char* dir, const ControlHeader& control, SwapPages* out);

  // Unmaps. Nobody may be reading or writing.
  void close();

  bool isOpen() const { return residency_ != nullptr; }
  const ResidencyPage& residency() const { return *residency_; }
  // Lines of slots below TenantPages::slotsReady() may be touched.
  SwapPage& swap() const { return *swap_; }

 private:
  const ResidencyPage* residency_ = nullptr;
  SwapPage* swap_ = nullptr;
};

// Of what is charged to the process in that slot, all that is neither swappable nor only wanted, by
// the books at this instant. What the process shows as pinned may be older than its `figures`.
inline std::uint64_t pinnedNow(const Account& account, unsigned slot, unsigned dev,
                               const SwapDevice& figures) {
  const std::uint64_t others =
      saturatingAdd(loadAcquire(figures.swappable), loadAcquire(figures.want));
  const std::uint64_t charged = account.processUsed(slot, dev);
  return charged > others ? charged - others : 0;
}

}  // namespace divvy::ledger
