#include "ledger/swap_pages.h"

#include <sys/mman.h>

#include "files/mapped_file.h"
#include "process/syscalls.h"

namespace divvy::ledger {

OpenStatus SwapPages::open(const char* dir, const ControlHeader& control, SwapPages* out) {
  const ErrnoKeeper keeper;
  const MappedFile residency =
      mapFile(dir, "residency", false, kResidencyMagic, sizeof(ResidencyPage));
  if (residency.status != OpenStatus::kOk) return residency.status;
  SwapPages pages;
  pages.residency_ = static_cast<const ResidencyPage*>(residency.memory);
  const MappedFile swap = mapFile(dir, "swap", true, kSwapMagic, sizeof(SwapPage));
  pages.swap_ = static_cast<SwapPage*>(swap.memory);
  OpenStatus status = swap.status;
  if (status == OpenStatus::kOk && (!sameTenant(control, pages.residency_->header) ||
                                    !sameTenant(control, pages.swap_->header))) {
    status = OpenStatus::kMismatched;
  }
  if (status == OpenStatus::kOk) {
    *out = pages;
  } else {
    pages.close();
  }
  return status;
}

void SwapPages::close() {
  if (residency_ != nullptr) munmap(const_cast<ResidencyPage*>(residency_), sizeof(ResidencyPage));
  if (swap_ != nullptr) munmap(swap_, sizeof(SwapPage));
  *this = SwapPages();
}

}  // namespace divvy::ledger
