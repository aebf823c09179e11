// Who uses devices past what limits him: what the driver sees against what the ledgers say. Pure.
// Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/limit_bypass_policy.h"
#include "base/bytes.h"

namespace divvy::agent {

// A process with a context on a device, as the driver tells.
struct DeviceProcess {
  unsigned device = 0;  // NVML index
  int pid = 0;
  std::string owner;        // a tenant's id, or podOwner() of a pod that has no tenant there
  bool registered = false;  // it has a slot of its tenant's ledger
  Bytes bytes;              // zero: the driver does not tell
  bool own_pages = true;    // what it finds at the place of its share's pages are these
};

// Never a tenant's id.
inline std::string podOwner(const std::string& uid) {
  return "pod:" + uid;
}

// Bytes that owners may have of devices, contexts included. An owner without any was given nothing.
using Allowances = std::map<std::string, std::map<unsigned, Bytes>>;

enum class BypassKind : std::uint8_t {
  kOtherDevice,   // a device that it was not given
  kUnregistered,  // a process without our library
  kPages,         // a process that finds other files at the place of its share's pages
  kMemory,        // more than it may have
  kFiles,         // it appends to the files that the agent made for it, again and again
};

struct Bypass {
  BypassKind kind = BypassKind::kOtherDevice;
  unsigned device = 0;
  int pid = 0;            // 0: of all its processes
  Bytes bytes, most;      // of kMemory
  std::string file = {};  // of kFiles: describe() of it
  friend bool operator==(const Bypass&, const Bypass&) = default;
};

// Which of a pod's containers a process is in cannot always be seen. It is `owner`'s, unless that
// has nothing of the device and another of `same_pod` (ids) has: that one's.
std::string ownerOn(unsigned device, const std::string& owner,
                    const std::vector<std::string>& same_pod, const Allowances& allowances);

// What the driver sees of an owner on a device; absent: nothing.
using SeenBytes = std::map<std::string, std::map<unsigned, Bytes>>;
SeenBytes seenBytes(const std::vector<DeviceProcess>& processes);

// How what stood falls after a shrink: to the most that the driver saw in the last looks, never by
// what the tenant says of itself.
class Shrinking {
 public:
  static constexpr unsigned kLooks = 5;  // a process is not seen for a moment now and then
  // What stands now, from what stood before the look, and what was seen in it.
  Bytes look(Bytes stood, Bytes seen);

 private:
  Bytes highest_;
  unsigned looks_ = 0;
};

// The gravest of each owner, in the order of BypassKind.
std::map<std::string, Bypass> bypassesIn(const std::vector<DeviceProcess>& processes,
                                         const Allowances& allowances);

// "process 12 (python3)". `command`: as the program calls itself, any bytes; what is no printable
// ASCII is shown as '?'. Empty: it has ended.
std::string processWords(int pid, const std::string& command);
// "process 12 (python3) uses device 1, of which it was given nothing".
std::string describe(const Bypass& bypass, const std::string& command);

// Believes what stays. Programs start and end while the driver is asked, and a process registers a
// moment after it began.
class BypassDebouncer {
 public:
  struct Verdict {
    Bypass first;
    std::int64_t since = 0;  // seconds since 1970: first seen
  };
  static constexpr unsigned kLooks = 3;       // in a row, to be believed
  static constexpr unsigned kClearLooks = 5;  // in a row, to be over

  struct BypassChange {
    std::vector<std::string> begun, over;  // owners
  };
  // About once a second, with what was seen then. `wall`: seconds since 1970.
  BypassChange look(const std::map<std::string, Bypass>& seen, std::int64_t wall);
  // Another has that name now: nothing is known of him.
  void forget(const std::string& owner);
  // By owner.
  const std::map<std::string, Verdict>& going() const { return going_; }
  // Whoever went on before we began is known by now.
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
