// The tenant's view of its two pages. Freestanding: no libstdc++, no malloc, no exceptions.
#pragma once

#include <cstdint>

#include "ledger/layout.h"
#include "ledger/work.h"

namespace divvy::ledger {

enum class OpenStatus : std::uint8_t {
  kOk,
  kAbsent,       // no such directory, or no control file in it: not a tenant
  kDenied,       // a file is there but cannot be opened or is no plain file
  kTruncated,    // a file is shorter than its header says
  kBadMagic,     // not one of our files
  kNewer,        // written by a later version than this build understands
  kOlder,        // written by a version older than the one before this build
  kOtherLayout,  // same version, other layout hash: a foreign or broken build
  kStaleBoot,    // left over from before the last reboot
  kMismatched,   // control and report are not of the same tenant and generation
  kBadValues,    // a count or limit in the control page is out of range
  kNoMemory,     // mmap refused
};

// A word for messages, never nullptr.
const char* openStatusName(OpenStatus status);

// Maps <dir>/control read-only, <dir>/report and <dir>/work read-write. Trivially copyable and
// trivially destructible: it lives in static storage of the interposer, zero meaning closed. Copies
// share the mapping. Mappings survive fork. Const member functions may be called from any thread.
class TenantPages {
 public:
  // Opens and validates; `out` is only written on kOk. Descriptors do not stay open. Truncating a
  // file after this is the tenant's own doing and gets its own processes SIGBUS.
  static OpenStatus open(const char* dir, TenantPages* out);

  // Unmaps. Nobody may be inside an Account that uses these pages.
  void close();

  bool isOpen() const { return control_ != nullptr; }
  const ControlPage& control() const { return *control_; }
  ReportPage& report() const { return *report_; }
  // Null where the directory is of a version without one, or it cannot be used: nobody arbitrates
  // then, and memory limits hold all the same. Lines of slots below slotsReady() may be touched.
  WorkPage* work() const { return work_; }

  // At most kMaxDevices; as found at open.
  unsigned deviceCount() const { return device_count_; }
  // Slots below this index may be touched; grows while the agent preallocates, at most kMaxSlots.
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

// Where this process' tenant directory is: /run/divvy/tenant where it exists (put there by the
// agent, beyond the tenant's reach), else the environment's DIVVY_TENANT_DIR (standalone mode),
// else nullptr. The pointer is to static or environment storage.
const char* findTenantDir();

// Reads a byte limit as DIVVY_MEMORY_LIMIT has it: digits, then nothing or one of Ki Mi Gi Ti k K M
// G T with an optional B after a binary suffix. False for anything else, for 0 and above 2^63-1.
bool parseByteLimit(const char* text, std::uint64_t* bytes);

}  // namespace divvy::ledger
