// The file of one simulated card, as mapped by every process that uses it. Fixed width throughout;
// a layout change changes kCardVersion, and a file of another version is not opened.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "simgpu/card_reader.h"

namespace divvy::simgpu {

inline constexpr std::uint64_t kCardMagic = 0x3144524143475344;  // "DSGCARD1"
inline constexpr std::uint32_t kCardVersion = 7;
inline constexpr std::uint64_t kFirstBlockId = 1;
inline constexpr int kMaxProcesses = 1024;
inline constexpr int kMaxSharedBlocks = 1024;
inline constexpr int kEventRing = 64;

// NVML samples utilisation in windows of 1/6 s to 1 s; use is recorded in the finest of them.
inline constexpr std::uint64_t kBusyBucketNs = 166'666'667;
inline constexpr int kBusyBuckets = 32;

// Busy time of one process in one window, all engines of a kind merged. `window`: number of the
// window (the card's clock / kBusyBucketNs); the figures of an older one count as zero.
struct BusyBucket {
  std::uint64_t window;
  std::uint64_t compute_ns;
  std::uint64_t copy_ns;
};

// State of a process's checkpoint (checkpoint.h). `state` and `calls` are valid in the record on
// the first of its cards only. Written under the card's mutex, except for those two.
struct CheckpointRecord {
  std::atomic<std::uint32_t> state;  // a CUprocessState or kStateLocking; a futex
  std::atomic<std::uint32_t> calls;  // of the process that are inside the driver
  std::uint32_t poisoned;            // a restore found no room: none will succeed any more
  std::uint32_t managed;             // managed allocations, wherever their pages are
  std::uint32_t saved_contexts;
  std::uint32_t reserved;
  std::uint64_t saved[kChargeKinds];  // former value of `bytes`
};
// Calls wait already, but not everything has drained; seen from outside, the process runs.
inline constexpr std::uint32_t kStateLocking = 0x100;

// One process on this card. Written only under the card's mutex, except where stated. A file lock
// (card.h), not the record, shows whether the owner lives, so nothing has to be undone.
struct ProcessRecord {
  std::uint32_t claimed;  // 0: free
  std::uint32_t pid;
  std::uint64_t start_time;  // field 22 of /proc/<pid>/stat
  std::uint64_t generation;  // of this record: grows with every claim
  std::uint64_t bytes[kChargeKinds];
  std::uint64_t peak_bytes;
  std::uint32_t contexts;
  std::uint32_t contexts_made;
  std::uint64_t claimed_ns;  // CLOCK_REALTIME
  std::uint64_t busy_ns;     // compute time since then
  char name[64];
  BusyBucket busy[kBusyBuckets];
  CheckpointRecord checkpoint;
};

// Memory with holders in several processes. Exported handles, pools and IPC blocks move here from
// their owner's record when they are exported. They are charged while one holder lives.
struct SharedBlock {
  std::uint64_t id;  // 0: free
  std::uint64_t bytes;
  std::uint64_t holders[kMaxProcesses / 64];  // one bit per process record
  std::uint32_t owner;  // record index of the exporter, for per-process figures
  std::uint32_t kind;
};

// Something NVML's event calls report (Xid, ECC).
struct CardEvent {
  std::uint64_t sequence;  // 0: never written
  std::uint64_t type;      // nvmlEventType bit
  std::uint64_t data;      // the Xid
  std::uint64_t time_ns;
};

// NVML's accounting data of a process that has ended.
inline constexpr int kAccountingRing = 128;
struct AccountingEntry {
  std::uint32_t pid;  // 0: never written
  std::uint32_t padding;
  std::uint64_t peak_bytes;
  std::uint64_t begin_ns;  // CLOCK_REALTIME
  std::uint64_t end_ns;
  std::uint64_t busy_ns;
};

struct CardFile {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t index;
  std::uint64_t file_bytes;
  std::uint64_t capacity;  // the limit of all processes together
  char profile[32];
  pthread_mutex_t mutex;    // robust, process-shared
  std::uint64_t used;       // cache of the sum over records and blocks; recomputed after EOWNERDEAD
  std::uint64_t peak_used;  // the most that living processes ever held together
  std::uint64_t next_generation;
  std::uint64_t next_block;
  std::atomic<std::uint32_t> lost;                 // fallen off the bus: every call answers "lost"
  std::atomic<std::uint64_t> unmapped_under_work;  // see CardView
  std::int32_t records;           // of `processes`, those below this were used at some time
  std::uint32_t time_scale;       // of the card's clock, in thousandths
  std::uint64_t ecc_volatile[2];  // single-bit, double-bit
  std::uint64_t ecc_aggregate[2];
  std::uint32_t rows_pending;  // 1: memory is replaced when the card is reset
  std::uint32_t rows_failed;   // 1: memory could not be replaced
  std::uint64_t next_event;
  CardEvent events[kEventRing];
  std::uint64_t accounting;  // 1: on
  std::uint64_t next_account;
  AccountingEntry accounts[kAccountingRing];
  SharedBlock blocks[kMaxSharedBlocks];
  ProcessRecord processes[kMaxProcesses];
};

}  // namespace divvy::simgpu
