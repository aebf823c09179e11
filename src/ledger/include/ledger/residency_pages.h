// The arbiter's hand on what one tenant has on the devices: writes its orders, reads its reports.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "ledger/swap.h"

namespace divvy::ledger {

// One process' report, copied. Nothing in it is to be believed beyond what the caller bounds.
struct SwapSample {
  std::uint32_t state = 0;    // kSwap* bits
  std::uint32_t refusal = 0;  // SwapRefusal
  std::uint64_t seen_seq = 0;
  std::uint64_t changed = 0;
  std::uint64_t host_bytes = 0;
  std::uint64_t host_want = 0;
  std::uint64_t pin_reasons = 0;
  std::uint64_t last_need = 0;
  std::uint64_t chunks_out = 0;
  std::uint64_t chunks_in = 0;
  std::uint64_t aborts = 0;
  std::uint64_t drains = 0;
  std::uint64_t drain_ns = 0;
  std::uint64_t pressure_waits = 0;
  std::uint64_t self_helped = 0;
  std::uint64_t pressure_refusals = 0;
  std::array<SwapDevice, kMaxDevices> device{};
};

// What one process is told; see ResidencyLine.
struct ResidencyOrder {
  std::array<std::uint64_t, kMaxDevices> allowed{};
  std::array<std::uint64_t, kMaxDevices> most{};
  std::uint64_t host_allowed = 0;
  std::uint32_t flags = 0;
  ResidencyReason reason = ResidencyReason::kFits;
  bool operator==(const ResidencyOrder&) const = default;
};

// Mappings of its own, for the arbiter's thread alone. Not thread safe; every access to memory that
// the tenant could truncate runs under a SIGBUS guard.
class ResidencyPages {
 public:
  // kNotFound: nothing of this tenant can be swapped; kCorrupt, kIo.
  static Result<ResidencyPages> open(const std::filesystem::path& tenant_dir);

  ResidencyPages(ResidencyPages&&) noexcept;
  ResidencyPages& operator=(ResidencyPages&&) noexcept;
  ~ResidencyPages();

  // Tells the process of this slot generation, and wakes the tenant; an order that stands there
  // already does neither. `slot` is a ready one. The sequence under which it stands; 0: no slot.
  std::uint64_t order(unsigned slot, std::uint64_t generation, const ResidencyOrder& order);
  // The order that stands for this process; false: none.
  bool standing(unsigned slot, std::uint64_t generation, ResidencyOrder* out) const;

  // The report of a slot, if the process of this slot generation has claimed its line. False: not
  // claimed, or the tenant truncated its file (then broken() is true from now on).
  bool read(unsigned slot, std::uint64_t generation, SwapSample* out);

  bool broken() const { return broken_; }

 private:
  struct Maps;
  explicit ResidencyPages(std::unique_ptr<Maps> maps);

  std::unique_ptr<Maps> maps_;
  bool broken_ = false;
};

}  // namespace divvy::ledger
