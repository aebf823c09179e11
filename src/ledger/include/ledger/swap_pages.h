// The tenant's view of the files through which its memory is swapped. Freestanding.
#pragma once

#include "ledger/account.h"
#include "ledger/pages.h"
#include "ledger/swap.h"

namespace divvy::ledger {

// Maps <dir>/residency read-only and <dir>/swap read-write. Like TenantPages it is trivial, lives
// in static storage, and all zeros means closed. Copies share the mapping; mappings survive fork.
class SwapPages {
 public:
  // Requires kSwapOn in the tenant's control page. Writes `out` only on kOk.
  static OpenStatus open(const char* dir, const ControlHeader& control, SwapPages* out);

  // Unmaps the pages. No thread may be reading or writing them.
  void close();

  bool isOpen() const { return residency_ != nullptr; }
  const ResidencyPage& residency() const { return *residency_; }
  // Lines of slots below TenantPages::slotsReady() may be touched.
  SwapPage& swap() const { return *swap_; }

 private:
  const ResidencyPage* residency_ = nullptr;
  SwapPage* swap_ = nullptr;
};

// Bytes charged to the process in `slot` that are neither swappable nor only wanted, at this
// instant. The `pinned` word that the process published may be older than `figures`.
inline std::uint64_t pinnedNow(const Account& account, unsigned slot, unsigned dev,
                               const SwapDevice& figures) {
  const std::uint64_t others =
      saturatingAdd(loadAcquire(figures.swappable), loadAcquire(figures.want));
  const std::uint64_t charged = account.processUsed(slot, dev);
  return charged > others ? charged - others : 0;
}

}  // namespace divvy::ledger
