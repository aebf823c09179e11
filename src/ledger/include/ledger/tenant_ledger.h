// The agent's half: creates a tenant's pages, changes its limits, cleans up after dead processes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ledger/liveness.h"
#include "ledger/report.h"
#include "ledger/siphash.h"

namespace divvy::ledger {

struct DeviceSpec {
  std::string uuid;        // "GPU-..." or "MIG-...", at most 47 characters
  std::string pci_bus_id;  // at most 16 characters
  Bytes guarantee{};
  Bytes ceiling{};  // >= guarantee, > 0
  Bytes headroom{};
  Bytes physical{};
  Bytes context{};  // expected cost of one context
  Bytes granule{512};
  unsigned cores_guarantee = 0;  // percent
  unsigned cores_ceiling = 100;
};

struct TenantSpec {
  std::string id;                   // 1 to 31 characters of [A-Za-z0-9._-]
  std::string name;                 // for people, at most 63 bytes
  std::vector<DeviceSpec> devices;  // 1 to kMaxDevices
  bool context_overhead_outside = false;
  // Then one context is outside, and further ones are charged. False in pages of older agents: all
  // contexts are outside.
  bool charges_contexts = true;
  std::uint32_t pressure_policy = kPressureRefuse;
  // Devices that an unrestricted process sees on the node, so that a tenant can tell whether it has
  // all of them. 0: not told.
  unsigned node_devices = 0;
  std::uint64_t generation = 1;
  std::string driver_path;  // empty: as the loader would choose
  std::string nvml_path;
  std::string agent_socket;  // at most 107 bytes; empty: none
  unsigned slots = 128;      // preallocated at first: processes that can start with the agent away
};

// How a tenant's memory is swapped; see ledger::SwapTerms for each.
struct SwapSpec {
  struct Device {
    bool swappable = false;
    unsigned overcommit_permille = 1000;
    Bytes budget{};
  };
  bool host_map = false;
  std::uint32_t drain_ms = 2000;
  Bytes chunk = mib(32);  // a power of two, 64 KiB to 256 MiB
  std::uint32_t silent_ms = 2000;
  std::uint32_t pressure_ms = 0;
  std::uint32_t ahead = 3;  // 1 to 16
  std::uint32_t room_ms = 2000;
  std::vector<Device> devices;  // in the order of the tenant's
  SipKey ipc_key{};             // where the files are made now; see ledger::ResidencyHeader
};

enum class ReapOutcome {
  kFreed,        // refunded now
  kAlreadyFree,  // the slot is free or of another generation: nothing to do
  kRetired,      // its sequence numbers make no sense: never used again, its bytes stay counted
};

struct ReapResult {
  ReapOutcome outcome = ReapOutcome::kAlreadyFree;
  std::array<Bytes, kMaxDevices> refunded{};
};

class Mapping;

// Handle of one tenant's directory. Movable. Member functions may be called from several threads
// except that reap, ensureFreeSlots, adoptSlot and the setters must not run at the same time as one
// another for one tenant. Exactly one agent process may hold a handle (it owns the runtime
// directory's lock). Every access to memory that the tenant could truncate runs under a SIGBUS
// guard; the first call in the process installs that signal's handler.
class TenantLedger {
 public:
  // Makes `dir` (0700) with its three files in it, complete or not at all. kUsage: the spec is
  // wrong, or dir exists; kIo: the disk is full, the parent read-only, ...; nothing is left behind.
  static Result<TenantLedger> create(const std::filesystem::path& dir, const TenantSpec& spec);

  // Takes over the inodes of an earlier agent. kNotFound: no pages; kUnsupported: of a newer, or
  // too old, version; kUnavailable: from before a reboot, to be discarded; kCorrupt: damaged.
  static Result<TenantLedger> adopt(const std::filesystem::path& dir);

  TenantLedger(TenantLedger&&) noexcept;
  TenantLedger& operator=(TenantLedger&&) noexcept;
  ~TenantLedger();

  // As created, with the limits and the number of preallocated slots as they are now.
  const TenantSpec& spec() const { return spec_; }
  const std::filesystem::path& dir() const { return dir_; }

  // New limits of a running tenant. When it returns, no reservation above the new ceiling can be
  // granted any more, not even by a process that read the old one and was stopped. kUsage: index,
  // ceiling 0 or below the guarantee.
  Result<void> setMemory(unsigned dev, Bytes guarantee, Bytes ceiling);
  Result<void> setHeadroom(unsigned dev, Bytes headroom);
  Result<void> setCores(unsigned dev, unsigned guarantee, unsigned ceiling);
  // Another agent has it from now on.
  Result<void> nextAgentEpoch();

  // How memory is swapped from now on. Where a device of it is swappable, the files for it are made
  // first if they are not there. A device that was swappable stays so for what was allocated.
  // kUsage; kIo: the disk is full, ...: nothing changed then.
  Result<void> setSwap(const SwapSpec& spec);
  // Makes the files for it if they are not there, and says nothing to the tenant: for those that
  // must be given them before it is known whether any of their memory is ever swapped. kIo.
  Result<void> makeSwapFiles(const SipKey& ipc_key);
  // That of the files; zero: there are none.
  SipKey ipcKey() const;

  // Whether the slot is claimed, in this generation, by a process that has this pid in its own
  // namespace. Looks at the slot alone: one of these is answered for every process that starts.
  Result<bool> claimedBy(unsigned slot, std::uint64_t generation, std::uint32_t pid) const;

  // Notes the agent's pid of the process in a slot. kNotFound: the slot is of another generation.
  Result<void> adoptSlot(unsigned slot, std::uint64_t generation, std::uint32_t host_pid);

  // Refunds the bytes of a dead process and frees its slot, exactly once whatever happens in
  // between, the death of the agent included. The process must be dead, whatever the slot's phase:
  // its pidfd has become readable, or findProcess does not find its owner. kUnavailable: the tenant
  // kept changing the total; call again. kCorrupt: the file was truncated.
  Result<ReapResult> reap(unsigned slot, std::uint64_t generation);

  // Copies and validates. Never fails because of what the bytes are, only when the file cannot be
  // read at all (kIo).
  Result<ReportSnapshot> readReport() const;

  // Preallocates until `wanted` slots are free or all kMaxSlots are ready. Returns how many are
  // free. kIo: no room on the file system; what was ready before stays usable.
  Result<unsigned> ensureFreeSlots(unsigned wanted);

  // The mapped control page, for the grant, swap and pause words. Owned by the handle.
  ControlPage& control();

 private:
  TenantLedger();

  // The control entry of a device; kUsage where the tenant has none of that index.
  Result<DeviceControl*> device(unsigned dev);
  // Storage for one more chunk of slots, above the first `ready` ones.
  Result<void> backSlots(unsigned ready);
  // The files for swapping, where they are.
  void openSwap();
  // Makes every reservation under way look at the limits again.
  Result<void> fence(unsigned dev);

  std::filesystem::path dir_;
  TenantSpec spec_;
  std::uint64_t fence_seq_ = 0;
  std::unique_ptr<Mapping> control_;
  std::unique_ptr<Mapping> report_;
  std::unique_ptr<Mapping> work_;  // null: of a version without one
  // Null: nothing of this tenant can be swapped.
  std::unique_ptr<Mapping> residency_;
  std::unique_ptr<Mapping> swap_;
};

}  // namespace divvy::ledger
