// One tenant's pages and what the agent does with them, step by step, with the time that it takes.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rate_limit.h"
#include "fuzz_input.h"
#include "ledger/pages.h"
#include "ledger/registration.h"
#include "ledger/swap_pages.h"
#include "ledger/tenant_ledger.h"
#include "reports/activity_reader.h"
#include "reports/residency_reader.h"
#include "tenant/tenant_processes.h"

namespace divvy::agent {

// Steps, by the first byte of each modulo 8, with what follows it:
//   0 a packet: slot (4 bytes), pid (1), generation (1), flaws (1: bits 0 magic, 1 length)
//   1 the tenant writes 8 bytes into a slot: slot (2), offset in units of 8 bytes (1), value (8)
//   2 the tenant writes 8 bytes of the report's header: offset in units of 8 bytes (2), value (8)
//   3 the tenant claims slots: first (2), how many (2), pid (1), generation (1)
//   4 the tenant writes 8 bytes of a line: 0 work, 1 swap (1), slot (2), offset (1), value (8)
//   5 the agent sweeps: reads the report, and adopts 256 slots that it does not know
//   6 a process ends: pid (1)
//   7 the agent reads the work and swap lines of the slots that it knows
class AgentPages {
 public:
  static constexpr unsigned kSlots = 2048;

  AgentPages();
  ~AgentPages();
  AgentPages(const AgentPages&) = delete;
  AgentPages& operator=(const AgentPages&) = delete;

  // From a tenant without processes. The processor time of each step of the agent; what the tenant
  // does is free. Ends the program where a value is outside its bounds.
  std::vector<std::chrono::nanoseconds> run(FuzzInput in);

 private:
  static constexpr std::size_t kMaxSteps = 32;

  void reset();
  void write(unsigned kind, FuzzInput* in);
  void claim(FuzzInput* in);
  void packet(FuzzInput* in);
  void sweep();
  void end(unsigned pid);
  void read();
  void recover(const SlotKey& key, std::uint32_t pid);

  std::filesystem::path parent_;
  std::optional<ledger::TenantLedger> ledger_;
  ledger::TenantPages tenant_;
  ledger::SwapPages swap_lines_;
  std::vector<char> header_;  // of the report of a tenant without processes
  std::set<unsigned> touched_;
  // The agent's.
  std::optional<TenantProcesses> processes_;
  std::optional<RateLimit> limit_;
  std::optional<ResidencyReader> swap_;
  std::optional<ActivityReader> work_;
  std::chrono::steady_clock::time_point now_;
};

}  // namespace divvy::agent
