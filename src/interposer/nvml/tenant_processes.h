// The tenant's own live processes, to distinguish them from others in the driver's lists.
#pragma once

#include <cstdint>

#include "nvml/mmap_buffer.h"
#include "nvml/tenant.h"

namespace divvy::interposer {

struct TenantProcess {
  std::uint32_t pid;       // in the tenant's pid namespace
  std::uint32_t host_pid;  // in the node's; 0 before the agent has published it
  std::uint32_t slot;
};

// Returns false if the process has ended, even if another process has its pid now. For this pid
// namespace; true if unknown.
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

// Drivers differ in the pids that they list: the node's, or those of the caller's pid namespace
// (newer drivers, for some lists). One list never mixes them. If any entry is the node's pid of an
// own process, all entries are taken as the node's pids. Otherwise they are taken as the tenant's.
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

  // Returns the own process that the driver calls `pid`; nullptr for other processes.
  const TenantProcess* find(std::uint32_t pid) const {
    return node_numbers_ ? own_.byHostPid(pid) : own_.byPid(pid);
  }

 private:
  const TenantProcesses& own_;
  bool node_numbers_ = false;
};

}  // namespace divvy::interposer
