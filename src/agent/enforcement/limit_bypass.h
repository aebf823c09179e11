// Detects use of devices beyond the limits: compares the driver's figures with the ledgers. Pure.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/limit_bypass_policy.h"
#include "base/bytes.h"

namespace divvy::agent {

// A process with a context on a device, as the driver reports it.
struct DeviceProcess {
  unsigned device = 0;  // NVML index
  int pid = 0;
  std::string owner;        // a tenant's ID, or podOwner() of a pod without a tenant there
  bool registered = false;  // it has a slot of its tenant's ledger
  Bytes bytes;              // zero: the driver does not report it
  bool own_pages = true;    // the files at the path of its share's pages are those pages
};

// Never equals a tenant's ID.
inline std::string podOwner(const std::string& uid) {
  return "pod:" + uid;
}

// Bytes of devices that owners may use, contexts included. An owner without an entry may use none.
using Allowances = std::map<std::string, std::map<unsigned, Bytes>>;

enum class BypassKind : std::uint8_t {
  kOtherDevice,   // a device that is not allocated to it
  kUnregistered,  // a process without our library
  kPages,         // a process that finds other files at the path of its share's pages
  kMemory,        // more than its limit
  kFiles,         // it appends repeatedly to files that the agent created for it
};

struct Bypass {
  BypassKind kind = BypassKind::kOtherDevice;
  unsigned device = 0;
  int pid = 0;            // 0: all processes of the owner
  Bytes bytes, most;      // of kMemory
  std::string file = {};  // of kFiles: describe() of it
  friend bool operator==(const Bypass&, const Bypass&) = default;
};

// The container of a process cannot always be determined. Returns `owner`, unless it has no part of
// the device and another one of `same_pod` (IDs) has: then that one.
std::string ownerOn(unsigned device, const std::string& owner,
                    const std::vector<std::string>& same_pod, const Allowances& allowances);

// Bytes of an owner on a device as the driver reports them; missing: none.
using SeenBytes = std::map<std::string, std::map<unsigned, Bytes>>;
SeenBytes seenBytes(const std::vector<DeviceProcess>& processes);

// Reduces a former limit after a shrink: to the most that the driver reported in the last looks,
// never to the tenant's own figure.
class Shrinking {
 public:
  static constexpr unsigned kLooks = 5;  // a process can be missing in single looks
  // Returns the new value from the value before the look and the reported bytes.
  Bytes observe(Bytes stood, Bytes seen);

 private:
  Bytes highest_;
  unsigned looks_ = 0;
};

// Returns the most severe bypass of each owner, in the order of BypassKind.
std::map<std::string, Bypass> bypassesIn(const std::vector<DeviceProcess>& processes,
                                         const Allowances& allowances);

// "process 12 (python3)". `command`: the program's own name, any bytes; bytes that are not
// printable ASCII become '?'. Empty: it has ended.
std::string processWords(int pid, const std::string& command);
// "process 12 (python3) uses device 1, of which it was given nothing".
std::string describe(const Bypass& bypass, const std::string& command);

// Reports only bypasses that persist. Programs start and end during a query, and a process
// registers some time after its start.
class BypassDebouncer {
 public:
  struct Verdict {
    Bypass first;
    std::int64_t since = 0;  // seconds since 1970: first seen
  };
  static constexpr unsigned kLooks = 3;       // consecutive, until it is reported
  static constexpr unsigned kClearLooks = 5;  // consecutive, until it is over

  struct BypassChange {
    std::vector<std::string> begun, over;  // owners
  };
  // Takes the result of a look, about once a second. `wall`: seconds since 1970.
  BypassChange observe(const std::map<std::string, Bypass>& seen, std::int64_t wall);
  // Drops the owner's history, because its ID belongs to another tenant now.
  void forget(const std::string& owner);
  // By owner.
  const std::map<std::string, Verdict>& going() const { return going_; }
  // Returns true if bypasses from before the agent's start have been reported.
  bool settled() const { return looks_ > kLooks; }

 private:
  struct Count {
    Verdict first;
    unsigned bad = 0, good = 0;
  };
  std::map<std::string, Count> counts_;
  std::map<std::string, Verdict> going_;
  unsigned looks_ = 0;
};

}  // namespace divvy::agent
