// The tenant's own live processes, to be told from all others in what the driver lists.
#pragma once

#include <cstdint>

#include "nvml/mmap_buffer.h"
#include "nvml/tenant.h"

namespace divvy::interposer {

struct TenantProcess {
  std::uint32_t pid;       // as the tenant knows it
  std::uint32_t host_pid;  // as the node knows it; 0 while the agent has not told
  std::uint32_t slot;
};

// False when the process has ended, another one with its number by now or not. For this pid
// namespace; true in doubt.
bool ownerSeemsAlive(const ledger::Owner& owner);

// A list taken at construction.
class TenantProcesses {
 public:
  explicit TenantProcesses(const ledger::Account& account);

  unsigned count() const { return count_; }
  const TenantProcess& operator[](unsigned i) const { return rows_.rows()[i]; }

  const TenantProcess* byPid(std::uint32_t pid) const;
  const TenantProcess* byHostPid(std::uint32_t host_pid) const;

 private:
  MmapBuffer<TenantProcess> rows_;
  unsigned count_ = 0;
};

// Drivers differ in whose process numbers they list: the node's, or those of the caller's pid
// namespace (newer ones, for some lists). One list never mixes them: if any entry is the node's
// number of an own process, all are the node's; else they are taken as the tenant's.
class PidTranslator {
 public:
  // `pidOf(i)` is the i-th entry of the driver's list.
  template <typename PidOf>
  PidTranslator(const TenantProcesses& own, unsigned count, PidOf pidOf) : own_(own) {
    for (unsigned i = 0; i < count && !node_numbers_; ++i) {
      const TenantProcess* process = own.byHostPid(pidOf(i));
      node_numbers_ = process != nullptr;
    }
  }

  // The own process that the driver calls `pid`, or nullptr: somebody else's.
  const TenantProcess* find(std::uint32_t pid) const {
    return node_numbers_ ? own_.byHostPid(pid) : own_.byPid(pid);
  }

 private:
  const TenantProcesses& own_;
  bool node_numbers_ = false;
};

}  // namespace divvy::interposer
