// The bytes of a tenant's control page and report page. Both halves of the ledger take their
// meaning from here alone. Every offset is asserted, and layout_hash.h turns the offsets into the
// layout hash.
//
// Rules of the format: fixed-width integers in the host's byte order; 64-byte lines with one writer
// each; no libc types. Strings end with NUL inside their field. Reserved bytes are zero; a later
// minor version puts its fields there. Within a major version nothing ever moves, so a reader of
// minor N reads N-1 by finding zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger/atomic_word.h"

namespace divvy::ledger {

inline constexpr std::uint64_t kControlMagic = 0x4c54435956564944;  // "DIVVYCTL" in the file
inline constexpr std::uint64_t kReportMagic = 0x5450525956564944;   // "DIVVYRPT" in the file
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 4;
inline constexpr std::uint16_t kOldestMinor = kMinor - 1;

inline constexpr unsigned kMaxDevices = 16;
inline constexpr unsigned kMaxSlots = 4096;  // live processes of one tenant
inline constexpr unsigned kSlotChunk = 64;   // slots are preallocated in steps of 128 KiB
inline constexpr unsigned kLanes = 4;        // threads of one process inside the ledger at once
inline constexpr unsigned kOwnerBits = 4096;
inline constexpr unsigned kFaultEntries = 64;
inline constexpr unsigned kFaultKinds = 32;
inline constexpr unsigned kCounters = 32;

// Bits of ControlHeader::flags.
// The share does not include the cost of contexts. A library that does not know kOneContextOutside
// charges no context at all then.
inline constexpr std::uint32_t kContextOverheadOutside = 1u << 0;
// Together with kContextOverheadOutside: contexts are charged, and the limit is context_bytes above
// mem_ceiling. So one context is outside the share, and each further context inside.
inline constexpr std::uint32_t kOneContextOutside = 1u << 1;

// Values of ControlHeader::pressure_policy.
inline constexpr std::uint32_t kPressureRefuse = 0;  // beyond the share: out of memory
inline constexpr std::uint32_t kPressureSwap = 1;    // beyond the guarantee: may be swapped out

// Bits of `features` in both headers. Readers ignore unknown bits.
inline constexpr std::uint64_t kFeatureLaneCounters = 1u << 0;  // since minor 1
inline constexpr std::uint64_t kFeatureHeadroom = 1u << 1;      // since minor 1
inline constexpr std::uint64_t kFeatureOwnerMap = 1u << 2;      // since minor 2
inline constexpr std::uint64_t kFeatureGrant = 1u << 3;  // since minor 3: grant and work page
inline constexpr std::uint64_t kFeatureSwap = 1u << 4;   // since minor 4: swap terms
inline constexpr std::uint64_t kFeatures =
    kFeatureLaneCounters | kFeatureHeadroom | kFeatureOwnerMap | kFeatureGrant | kFeatureSwap;

// Written once at creation, before the file gets its name.
struct Identification {
  std::uint64_t magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t reserved;
  std::uint64_t size;  // of the whole file
  std::uint64_t layout_hash;
  std::uint64_t features;
  std::uint64_t generation;  // of the tenant directory: one per container start
  char boot_id[16];          // the kernel's boot ID, as 16 bytes
};

// ---- control: written by the agent, read-only for the tenant ----------------------------------

// Permission to use the devices' compute, for all processes and all devices of the tenant. Written
// only by the agent's arbiter, in this order: the values, `seq`, `word` (release), then a futex
// wake on `word`. All zero: the gate is always open, because no arbiter gates the tenant. Since
// minor 3.
struct alignas(64) Grant {
  std::uint32_t word;  // grantWord(): 0 open, else a gate state and the low bits of seq
  std::uint32_t mode;  // GrantMode, for display
  std::uint64_t seq;   // changes with every change of `word`
  // grows at least every beat_ms while word != 0; otherwise the agent counts as ended
  std::uint64_t beat;
  std::uint32_t inflight_us;  // limit on launched and unfinished work of one process
  std::uint32_t quantum_us;   // intended length of this grant; 0: until it is taken back
  std::uint32_t idle_us;      // nothing launched and nothing in flight for this long is idle
  std::uint32_t overlap_us;   // less than this in flight counts as drained
  alignas(64) std::uint32_t beat_ms;
  // if `beat` does not grow for this long, the agent counts as ended: run ungated
  std::uint32_t lease_ms;
  // If work in flight does not shrink for this long and a thread waits, let the thread pass.
  std::uint32_t escape_ms;
  std::uint32_t spin_us;        // read `word` for this long before sleeping on it
  std::uint32_t card_permille;  // speed of the devices' clock against CLOCK_MONOTONIC; 0: 1000
  std::uint32_t backend;        // Backend
  std::uint32_t weight;  // percent that the tenant gets while all other tenants want to run too
  // 1: the arbiter reads the end of work from WorkLine::turned, also later. So a process that has
  // drained and waits for its turn does not wake the arbiter. 0: an agent from before this field.
  std::uint32_t reads_turned;
  std::uint32_t reserved[8];
};

enum class GateState : std::uint32_t { kOpen = 0, kRun = 1, kHold = 2 };
enum class GrantMode : std::uint32_t {
  kSolo = 0,        // alone and without a cap
  kShare = 1,       // takes turns
  kCap = 2,         // alone, held at its cap
  kLatency = 3,     // lower classes leave the device for it
  kBestEffort = 4,  // runs in the gaps of higher classes
};
// The mechanism that enforces a tenant's compute share.
enum class Backend : std::uint32_t { kInterposer = 0, kMps = 1, kTimeslice = 2 };

constexpr std::uint32_t grantWord(GateState state, std::uint64_t seq) {
  return state == GateState::kOpen
             ? 0
             : static_cast<std::uint32_t>(seq << 3) | static_cast<std::uint32_t>(state);
}
constexpr GateState gateState(std::uint32_t word) {
  return static_cast<GateState>(word & 7);
}

// Bits of SwapTerms::flags.
inline constexpr std::uint32_t kSwapOn = 1u << 0;  // the files residency and swap exist
// Host memory may stand in for device memory.
inline constexpr std::uint32_t kSwapHostMap = 1u << 1;

// How this tenant's memory is swapped out and in. Written by the agent. Since minor 4.
struct alignas(64) SwapTerms {
  std::uint32_t flags;        // kSwap* bits
  std::uint32_t drain_ms;     // a longer drain is given up and tried again; 0: 2000
  std::uint64_t chunk_bytes;  // of large blocks; a power of two; 0: 32 MiB
  // If the agent is silent for this long, a swapped-out process brings its own memory in; 0: 2000.
  std::uint32_t silent_ms;
  // Longest wait of an allocation if the device is short of memory; 0: no wait.
  std::uint32_t pressure_ms;
  std::uint32_t ahead;    // copies in flight in each direction; 0: 3
  std::uint32_t room_ms;  // longest wait of memory that cannot be swapped; 0: 2000
  std::uint32_t reserved[8];
};

// Since minor 4.
struct alignas(64) DeviceSwapTerms {
  std::uint32_t swappable;            // 1: from now on the tenant's allocations here can be swapped
  std::uint32_t overcommit_permille;  // for display; 0: 1000
  std::uint64_t budget_bytes;         // of all tenants of the device together, for display
  std::uint32_t reserved[12];
};

struct alignas(64) ControlHeader {
  Identification id;
  char tenant_id[32];
  char name[64];
  std::uint32_t device_count;
  std::uint32_t slots_capacity;
  std::uint32_t pressure_policy;
  std::uint32_t flags;
  std::uint32_t node_devices;  // devices of the node's driver; 0: not set
  char reserved_a[76];
  // Fields that change while the tenant runs.
  alignas(64) std::uint64_t agent_epoch;  // grows with every start of the agent
  std::uint32_t slots_ready;              // slots below this index are backed by storage
  std::uint32_t reserved_b;
  std::uint64_t fence_seq;  // last sequence used in an agent's own tag (see account/lane.h)
  char reserved_c[40];
  char driver_path[256];  // the node's libcuda; empty: the loader's choice
  char nvml_path[256];
  char agent_socket[112];  // registration socket; empty: none
  char reserved_d[16];
  Grant grant;
  SwapTerms swap;
  char reserved_e[896];
};

struct alignas(64) DeviceControl {
  char uuid[48];        // "GPU-..." or "MIG-..."
  char pci_bus_id[16];  // "00000000:3B:00.0", without its NUL where it fills the field
  std::uint64_t physical_bytes;
  std::uint64_t context_bytes;  // expected cost of one context
  std::uint64_t alloc_granule;
  char reserved_a[40];
  // Limits. Each is read by itself; mem_guarantee <= mem_ceiling at rest.
  alignas(64) std::uint64_t mem_guarantee;
  std::uint64_t mem_ceiling;
  std::uint64_t headroom_bytes;   // since minor 1: kept back for the driver's own growth
  std::uint32_t cores_guarantee;  // percent
  std::uint32_t cores_ceiling;
  char reserved_b[32];
  // Compute grant. The word has 32 bits because a futex has.
  alignas(64) std::uint32_t grant_word;
  std::uint32_t pause_seq;
  std::uint64_t grant_seq;
  std::uint32_t quantum_us;
  std::uint32_t inflight_us;
  std::uint32_t idle_us;
  char reserved_c[36];
  // Never used: swap.h has the memory that each process may have on the device.
  alignas(64) std::uint64_t swap_seq;
  std::uint64_t swap_bytes;
  char reserved_d[48];
  DeviceSwapTerms swap;
  char reserved_e[128];
};

struct ControlPage {
  ControlHeader header;
  DeviceControl devices[kMaxDevices];
  char reserved[2048];
};

// ---- report: written by the tenant, hostile for the agent -------------------------------------

struct FaultEntry {
  std::uint64_t seq;  // 1 + its number; written last
  std::uint32_t code;
  std::uint32_t site;
  std::uint64_t detail;
  std::uint64_t arg;
};

struct alignas(64) ReportHeader {
  Identification id;
  char tenant_id[32];
  char reserved_a[96];
  alignas(64) std::uint64_t fault_head;  // number of faults ever written to the ring
  char reserved_b[56];
  std::uint64_t fault_counts[kFaultKinds];  // by code; only grow
  std::uint64_t counters[kCounters];        // of the tenant; only grow
  std::uint64_t spare_map[kMaxSlots / 64];  // bit: the slot may have spare bytes
  // Since minor 2: the bits ownerBit() of all processes that ever claimed a slot. If its bit is
  // clear, a new process need not search for a slot of its earlier program image.
  std::uint64_t owner_map[kOwnerBits / 64];
  std::uint32_t claim_hint;  // since minor 2: where a search for a free slot may begin; any value
  char reserved_c[252];
  FaultEntry faults[kFaultEntries];
};

// A tenant's use of one device.
struct alignas(64) DeviceReport {
  Pair total;  // low: bytes admitted, spare included; high: tag of the last operation
  char reserved_a[48];
  // Never used, like swap_seq above.
  alignas(64) std::uint64_t resident_bytes;
  std::uint64_t swapped_bytes;
  std::uint64_t swap_ack;
  std::uint64_t pause_ack;
  char reserved_b[32];
  char reserved_c[128];
};

// Has one writer at a time: the thread that holds the lane's process-local lock, or the agent after
// the process's death. Only `spare` has further writers.
struct alignas(64) Lane {
  std::uint64_t seq;   // last operation started; never starts over, across all owners of the slot
  std::uint64_t done;  // last operation finished; seq - done is 0 or 1
  std::uint64_t used_after;  // value of used[device] when operation `seq` is finished
  std::uint32_t device;      // of operation `seq`
  std::uint32_t word;        // word that operation `seq` changes: see wordAt() in account/lane.h
  std::uint64_t moving;      // 1: spare bytes move through this lane to the total
  std::uint64_t grants;      // since minor 1: operations by outcome; only grow, across all owners
  std::uint64_t releases;
  std::uint64_t refusals;           // of the process, in its lane 0
  std::uint64_t used[kMaxDevices];  // bytes
  // Low: bytes that this lane released and that stay counted in the total, so that they can be
  // reserved again without touching it. High: tag, as in DeviceReport::total. Any process in need
  // may take them.
  Pair spare[kMaxDevices];
};

enum class Phase : std::uint64_t { kFree = 0, kLive = 1, kReaping = 2, kRetired = 3 };

// Index of Slot::counters. Libraries from before a counter leave it 0.
enum class SlotCounter : unsigned {
  kDeviceFull = 0,     // requests within the limit that the device had no memory for
  kPressureWaits = 1,  // allocations that waited for the device's memory
};

struct alignas(64) Slot {
  // Claimed and freed in one 16-byte compare-and-swap, so a claimed slot always has an owner.
  Pair state;  // low: generation and phase; high: owner (see ledger/packed_words.h)
  std::uint64_t adopted_generation;  // 1 + the generation of the slot to which host_pid belongs
  std::uint32_t host_pid;            // written by the agent
  std::uint32_t flags;
  std::uint64_t context_bytes;   // of this process, all devices
  std::uint64_t last_launch_ns;  // CLOCK_MONOTONIC
  std::uint64_t exec_id;         // of the program image that claimed the slot; 0: not set
  // Bytes of the last request beyond the limit, by any owner; 0: none, or not known.
  std::uint64_t over_limit_bytes;
  // Highest sequence of each lane that is known to have committed. Raised before a tag is
  // overwritten; see account/lane.cpp.
  alignas(64) std::uint64_t committed[kLanes];
  // Bytes of the last request within the limit that the device had no memory for; as above.
  std::uint64_t device_full_bytes;
  char reserved_b[24];
  std::uint64_t counters[16];  // by SlotCounter; only grow, across all owners
  Lane lanes[kLanes];
};

struct ReportPage {
  ReportHeader header;
  DeviceReport devices[kMaxDevices];
  Slot slots[kMaxSlots];
};

static_assert(sizeof(Pair) == 16 && alignof(Pair) == 16);
static_assert(sizeof(Identification) == 64 && offsetof(Identification, boot_id) == 48);
static_assert(sizeof(ControlHeader) == 2048);
static_assert(offsetof(ControlHeader, tenant_id) == 64);
static_assert(offsetof(ControlHeader, device_count) == 160);
static_assert(offsetof(ControlHeader, agent_epoch) == 256);
static_assert(offsetof(ControlHeader, slots_ready) == 264);
static_assert(offsetof(ControlHeader, driver_path) == 320);
static_assert(offsetof(ControlHeader, nvml_path) == 576);
static_assert(offsetof(ControlHeader, agent_socket) == 832);
static_assert(offsetof(ControlHeader, grant) == 960 && sizeof(Grant) == 128);
static_assert(offsetof(Grant, beat_ms) == 64);
static_assert(offsetof(ControlHeader, swap) == 1088 && sizeof(SwapTerms) == 64);
static_assert(sizeof(DeviceControl) == 512);
static_assert(offsetof(DeviceControl, physical_bytes) == 64);
static_assert(offsetof(DeviceControl, mem_guarantee) == 128);
static_assert(offsetof(DeviceControl, mem_ceiling) == 136);
static_assert(offsetof(DeviceControl, grant_word) == 192);
static_assert(offsetof(DeviceControl, swap_seq) == 256);
static_assert(offsetof(DeviceControl, swap) == 320 && sizeof(DeviceSwapTerms) == 64);
static_assert(sizeof(ControlPage) == 12288 && offsetof(ControlPage, devices) == 2048);
static_assert(sizeof(FaultEntry) == 32);
static_assert(sizeof(ReportHeader) == 4096);
static_assert(offsetof(ReportHeader, fault_head) == 192);
static_assert(offsetof(ReportHeader, fault_counts) == 256);
static_assert(offsetof(ReportHeader, counters) == 512);
static_assert(offsetof(ReportHeader, spare_map) == 768);
static_assert(offsetof(ReportHeader, owner_map) == 1280);
static_assert(offsetof(ReportHeader, claim_hint) == 1792);
static_assert(offsetof(ReportHeader, faults) == 2048);
static_assert(sizeof(DeviceReport) == 256 && offsetof(DeviceReport, resident_bytes) == 64);
static_assert(sizeof(Lane) == 448 && offsetof(Lane, used) == 64);
static_assert(offsetof(Lane, spare) == 192);
static_assert(sizeof(Slot) == 2048);
static_assert(offsetof(Slot, committed) == 64);
static_assert(offsetof(Slot, counters) == 128);
static_assert(offsetof(Slot, lanes) == 256);
static_assert(offsetof(ReportPage, devices) == 4096);
static_assert(offsetof(ReportPage, slots) == 8192);
static_assert(sizeof(ReportPage) == 8192 + 4096 * 2048);

}  // namespace divvy::ledger
