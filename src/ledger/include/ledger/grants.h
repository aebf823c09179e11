// The arbiter's access to one tenant's grant and work page: writes the grant, reads the processes'
// reports on their work.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "ledger/work.h"

namespace divvy::ledger {

// Copy of one process's line; see WorkLine. Its values are hostile: the caller must bound them.
struct WorkSample {
  std::uint32_t state = 0;  // kWork* bits
  std::uint32_t waiting = 0;
  std::uint64_t seen_seq = 0;
  std::uint64_t drained_seq = 0;
  std::uint64_t inflight_until = 0;
  std::uint64_t changed = 0;
  std::uint64_t last_launch = 0;
  std::uint64_t longest = 0;
  std::uint64_t launches = 0;
  std::uint64_t settles = 0;
  std::uint64_t waits = 0;
  std::uint64_t throttled = 0;
  std::uint64_t escapes = 0;
  std::uint64_t unmetered = 0;
  std::uint64_t cpu = 0;
  std::uint64_t turned = 0;
  std::array<std::uint64_t, kMaxDevices> busy{};
};

// The values of a grant besides its word; see ledger::Grant.
struct GrantOptions {
  GrantMode mode = GrantMode::kSolo;
  std::uint32_t inflight_us = 0;
  std::uint32_t quantum_us = 0;
  std::uint32_t idle_us = 0;
  std::uint32_t overlap_us = 0;
  std::uint32_t beat_ms = 0;
  std::uint32_t lease_ms = 0;
  std::uint32_t escape_ms = 0;
  std::uint32_t spin_us = 0;
  std::uint32_t card_permille = 1000;
  Backend backend = Backend::kInterposer;
  std::uint32_t weight = 0;
  bool reads_turned = false;
};

// Has mappings of its own, so that the arbiter's thread shares nothing with the agent's main
// thread. Not thread safe. Every access to memory that the tenant could truncate runs under a
// SIGBUS guard.
class GrantPages {
 public:
  // kNotFound: no such directory or no control page. kUnsupported: pages of another version or
  // layout, or from before minor 3; the tenant runs ungated. kCorrupt: the work page is missing or
  // too short. kIo.
  static Result<GrantPages> open(const std::filesystem::path& tenant_dir);

  GrantPages(GrantPages&&) noexcept;
  GrantPages& operator=(GrantPages&&) noexcept;
  ~GrantPages();

  unsigned devices() const { return devices_; }

  // Writes the state and terms under a new sequence, and wakes all waiting threads. Returns the
  // sequence, which keeps growing across restarts of the agent. An unchanged state gets a new
  // sequence too.
  std::uint64_t write(GateState state, const GrantOptions& terms);
  // Writes new terms under the same word.
  void amend(const GrantOptions& terms);
  void beat();
  GateState state() const;
  std::uint64_t seq() const;

  // Copies the line of a slot. Returns false if the process of this slot generation has not claimed
  // it. Also if the tenant truncated its file; broken() is then true from now on.
  bool read(unsigned slot, std::uint64_t generation, WorkSample* out);

  // For FUTEX_WAIT (shared): address and present value of the doorbell. The value is only compared.
  const std::uint32_t* bell() const;
  std::uint32_t bellValue();

  bool broken() const { return broken_; }

 private:
  struct Maps;
  explicit GrantPages(std::unique_ptr<Maps> maps);

  std::unique_ptr<Maps> maps_;
  unsigned devices_ = 0;
  bool broken_ = false;
};

}  // namespace divvy::ledger
