// The tenant's view of its control, report and work pages. Freestanding: no libstdc++, no malloc,
// no exceptions.
#pragma once

#include <cstdint>

#include "ledger/layout.h"
#include "ledger/work.h"

namespace divvy::ledger {

enum class OpenStatus : std::uint8_t {
  kOk,
  kAbsent,       // no such directory, or no control file in it: not a tenant
  kDenied,       // a file exists but cannot be opened, or is not a plain file
  kTruncated,    // a file is shorter than its header states
  kBadMagic,     // not one of our files
  kNewer,        // written by a later version than this build reads
  kOlder,        // written by a version older than the previous one
  kOtherLayout,  // same version, other layout hash: a foreign or broken build
  kStaleBoot,    // from before the last reboot
  kMismatched,   // control and report differ in tenant or generation
  kBadValues,    // a count or limit in the control page is out of range
  kNoMemory,     // mmap refused
};

// Returns a word for messages, never nullptr.
const char* openStatusName(OpenStatus status);

// Maps <dir>/control read-only, <dir>/report and <dir>/work read-write. Trivially copyable and
// trivially destructible: it lives in static storage of the interposer, and all zeros means closed.
// Copies share the mapping. Mappings survive fork. Any thread may call const member functions.
class TenantPages {
 public:
  // Opens and validates the pages; writes `out` only on kOk. Descriptors do not stay open. If the
  // tenant truncates a file later, its own processes get SIGBUS.
  static OpenStatus open(const char* dir, TenantPages* out);

  // Unmaps the pages. No thread may be inside an Account that uses them.
  void close();

  bool isOpen() const { return control_ != nullptr; }
  const ControlPage& control() const { return *control_; }
  ReportPage& report() const { return *report_; }
  // Null if the pages are of a version without a work page, or it cannot be used. Then no arbiter
  // gates the tenant; memory limits hold all the same. Lines of slots below slotsReady() may be
  // touched.
  WorkPage* work() const { return work_; }

  // At most kMaxDevices; as found at open.
  unsigned deviceCount() const { return device_count_; }
  // Slots below this index may be touched. Grows while the agent preallocates, up to kMaxSlots.
  unsigned slotsReady() const {
    const unsigned ready = loadAcquire(control_->header.slots_ready);
    return ready < slots_capacity_ ? ready : slots_capacity_;
  }

 private:
  const ControlPage* control_ = nullptr;
  ReportPage* report_ = nullptr;
  WorkPage* work_ = nullptr;
  unsigned device_count_ = 0;
  unsigned slots_capacity_ = 0;
};

// Returns this process's tenant directory: /run/divvy/tenant if it exists, else the environment's
// DIVVY_TENANT_DIR (standalone mode), else nullptr. The agent mounts the former, which the tenant
// cannot change. The string is in static or environment storage.
const char* findTenantDir();

// Parses a byte limit, as in DIVVY_MEMORY_LIMIT: digits, then nothing or one of Ki Mi Gi Ti k K M G
// T. A binary suffix may be followed by B. Returns false for anything else, for 0, and above
// 2^63-1.
bool parseByteLimit(const char* text, std::uint64_t* bytes);

}  // namespace divvy::ledger
