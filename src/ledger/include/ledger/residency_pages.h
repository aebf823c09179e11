// The arbiter's access to one tenant's residency and swap pages: writes orders, reads reports.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "ledger/swap.h"

namespace divvy::ledger {

// Copy of one process's line; see SwapLine. Its values are hostile: the caller must bound them.
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

// Order to one process; see ResidencyLine.
struct ResidencyOrder {
  std::array<std::uint64_t, kMaxDevices> allowed{};
  std::array<std::uint64_t, kMaxDevices> most{};
  std::uint64_t host_allowed = 0;
  std::uint32_t flags = 0;
  ResidencyReason reason = ResidencyReason::kFits;
  bool operator==(const ResidencyOrder&) const = default;
};

// Has mappings of its own, for the arbiter's thread alone. Not thread safe. Every access to memory
// that the tenant could truncate runs under a SIGBUS guard.
class ResidencyPages {
 public:
  // kNotFound: no memory of this tenant can be swapped. kCorrupt, kIo.
  static Result<ResidencyPages> open(const std::filesystem::path& tenant_dir);

  ResidencyPages(ResidencyPages&&) noexcept;
  ResidencyPages& operator=(ResidencyPages&&) noexcept;
  ~ResidencyPages();

  // Writes an order to the process of this slot generation and wakes the tenant's waiting threads.
  // An order equal to the one in force is not written again. `slot` must be ready. Returns the
  // order's sequence; 0: no such slot.
  std::uint64_t order(unsigned slot, std::uint64_t generation, const ResidencyOrder& order);
  // Copies the order in force for this process. Returns false if there is none.
  bool readOrder(unsigned slot, std::uint64_t generation, ResidencyOrder* out) const;

  // Copies the report of a slot. Returns false if the process of this slot generation has not
  // claimed its line. Also if the tenant truncated its file; broken() is then true from now on.
  bool read(unsigned slot, std::uint64_t generation, SwapSample* out);

  bool broken() const { return broken_; }

 private:
  struct Maps;
  explicit ResidencyPages(std::unique_ptr<Maps> maps);

  std::unique_ptr<Maps> maps_;
  bool broken_ = false;
};

}  // namespace divvy::ledger
