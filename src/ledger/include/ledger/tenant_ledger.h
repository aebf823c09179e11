// The agent's half of the ledger: creates a tenant's pages, changes its limits, frees the slots of
// dead processes.
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
  std::string name;                 // for display, at most 63 bytes
  std::vector<DeviceSpec> devices;  // 1 to kMaxDevices
  bool context_overhead_outside = false;
  // With context_overhead_outside: one context is outside the share, and further ones are charged.
  // False in pages of older agents: all contexts are outside.
  bool charges_contexts = true;
  std::uint32_t pressure_policy = kPressureRefuse;
  // Devices that an unrestricted process sees on the node. By it a tenant detects whether it has
  // all of them. 0: not set.
  unsigned node_devices = 0;
  std::uint64_t generation = 1;
  std::string driver_path;  // empty: the loader's choice
  std::string nvml_path;
  std::string agent_socket;  // at most 107 bytes; empty: none
  unsigned slots = 128;  // preallocated at first: processes that can start while the agent is away
};

// How a tenant's memory is swapped; see ledger::SwapTerms.
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
  std::vector<Device> devices;  // in the order of the tenant's devices
  SipKey ipc_key{};             // used if the files are made now; see ledger::ResidencyHeader
};

enum class ReapOutcome {
  kFreed,        // refunded by this call
  kAlreadyFree,  // nothing to do: free, retired before, or of another generation
  kRetired,      // its sequence numbers are impossible: never used again; its bytes stay counted
};

struct ReapResult {
  ReapOutcome outcome = ReapOutcome::kAlreadyFree;
  std::array<Bytes, kMaxDevices> refunded{};
};

class Mapping;

// Handle of one tenant's directory. Movable. Several threads may call member functions, but reap,
// ensureFreeSlots, adoptSlot and the setters must not run at the same time for one tenant. Only one
// agent process may hold a handle: the one that holds the runtime directory's lock. Every access to
// memory that the tenant could truncate runs under a SIGBUS guard; the first such call in the
// process installs the signal's handler.
class TenantLedger {
 public:
  // Makes `dir` (0700) with its three files, completely or not at all. kUsage: the spec is wrong,
  // or `dir` exists. kIo: the disk is full, the parent read-only, ...; nothing is left behind.
  static Result<TenantLedger> create(const std::filesystem::path& dir, const TenantSpec& spec);

  // Takes over the files of an earlier agent. kNotFound: no pages. kUnsupported: a newer or too old
  // version, or another layout. kUnavailable: from before a reboot, to be discarded. kCorrupt:
  // damaged.
  static Result<TenantLedger> adopt(const std::filesystem::path& dir);

  TenantLedger(TenantLedger&&) noexcept;
  TenantLedger& operator=(TenantLedger&&) noexcept;
  ~TenantLedger();

  // As created, with the present limits and number of preallocated slots.
  const TenantSpec& spec() const { return spec_; }
  const std::filesystem::path& dir() const { return dir_; }

  // Changes the limits of a running tenant. After it returns, no reservation above the new ceiling
  // can succeed, not even by a process that read the old ceiling and was stopped. kUsage: no such
  // device, ceiling 0 or below the guarantee. kCorrupt: a file was truncated.
  Result<void> setMemory(unsigned dev, Bytes guarantee, Bytes ceiling);
  Result<void> setHeadroom(unsigned dev, Bytes headroom);
  Result<void> setCores(unsigned dev, unsigned guarantee, unsigned ceiling);
  // Marks that another agent has taken over.
  Result<void> nextAgentEpoch();

  // Sets how memory is swapped from now on. If a device of it is swappable, missing swap files are
  // made first. Memory allocated on a device while it was swappable stays swappable. kUsage: the
  // spec is wrong. kIo: the disk is full, ...; nothing has changed then. kCorrupt: a file was
  // truncated.
  Result<void> setSwap(const SwapSpec& spec);
  // Makes missing swap files without announcing them to the tenant. For tenants that must be given
  // the files before it is known whether their memory is ever swapped. kIo.
  Result<void> makeSwapFiles(const SipKey& ipc_key);
  // The key in the files; zeros if there are no files.
  SipKey ipcKey() const;

  // Returns whether the slot is claimed, in this generation, by a process with this pid in its own
  // namespace. Reads only this slot, because it is called for every process that starts.
  Result<bool> claimedBy(unsigned slot, std::uint64_t generation, std::uint32_t pid) const;

  // Notes the agent's pid for the process in a slot. kNotFound: the slot is not live in this
  // generation.
  Result<void> adoptSlot(unsigned slot, std::uint64_t generation, std::uint32_t host_pid);

  // Refunds the bytes of a dead process and frees its slot: exactly once, even if the agent ends in
  // between. The process must be dead, whatever the slot's phase: its pidfd has become readable, or
  // findProcess does not find its owner. kUnavailable: the tenant kept changing the total; call
  // again. kCorrupt: the file was truncated.
  Result<ReapResult> reap(unsigned slot, std::uint64_t generation);

  // Copies and validates the report. Fails only if the file cannot be read (kIo), never because of
  // its content.
  Result<ReportSnapshot> readReport() const;

  // Preallocates slots until `wanted` are free or all kMaxSlots are ready. Returns the number of
  // free slots. kIo: no space in the file system; slots that were ready stay usable.
  Result<unsigned> ensureFreeSlots(unsigned wanted);

  // The mapped control page, for the grant, swap and pause words. Owned by the handle.
  ControlPage& control();

 private:
  TenantLedger();

  // Returns a device's entry in the control page; kUsage: no device of that index.
  Result<DeviceControl*> device(unsigned dev);
  // Backs one more chunk of slots with storage, above the first `ready` slots.
  Result<void> backSlots(unsigned ready);
  // Opens the swap files if they exist.
  void openSwap();
  // Makes every reservation under way read the limits again.
  Result<void> fence(unsigned dev);

  std::filesystem::path dir_;
  TenantSpec spec_;
  std::uint64_t fence_seq_ = 0;
  std::unique_ptr<Mapping> control_;
  std::unique_ptr<Mapping> report_;
  std::unique_ptr<Mapping> work_;  // null: pages of a version without it
  // Null: no memory of this tenant can be swapped.
  std::unique_ptr<Mapping> residency_;
  std::unique_ptr<Mapping> swap_;
};

}  // namespace divvy::ledger
