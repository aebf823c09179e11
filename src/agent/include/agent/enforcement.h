// Chooses the backend for a tenant's share of compute: the request against the node's offer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/share_request.h"
#include "base/result.h"
#include "ledger/layout.h"

namespace divvy::agent {

using ledger::Backend;

// "interposer", "mps", "timeslice".
const char* backendName(Backend backend);
Result<Backend> parseBackend(std::string_view text);

// Values of `divvy run --enforce`. kAuto: MPS if its daemon runs and compute was requested, else
// the interposer; never time slices, which are an experiment.
enum class Enforce : std::uint8_t { kAuto, kInterposer, kMps, kTimeslice };
const char* enforceName(Enforce enforce);
Result<Enforce> parseEnforce(std::string_view text);

struct EnforcementRequest {
  Enforce wanted = Enforce::kAuto;
  unsigned cores = 0;  // percent of each device; 0: none requested
  CoresPolicy policy = CoresPolicy::kShare;
  Priority priority = Priority::kNormal;
};

// Backends that the node offers. The texts state why a backend is missing, as part of a sentence;
// empty: it is available.
struct EnforcementOffer {
  std::string mps_missing = "not looked for";
  std::string timeslice_missing = "not tried";
  std::string mps_dir;                         // the daemon's pipe directory
  std::vector<std::string> timeslice_preload;  // paths of libraries, in this order
};

struct Enforcement {
  Backend backend = Backend::kInterposer;
  std::string reason;  // one line for the requester; empty: the default
};

// Chooses the backend. kUsage: the options contradict each other; kUnavailable: the node lacks the
// requested backend.
Result<Enforcement> chooseEnforcement(const EnforcementRequest& ask, const EnforcementOffer& offer);

// Whether the arbiter gates tenants of this backend. Grants of the others stay open and unmetered.
constexpr bool arbiterGates(Backend backend) {
  return backend == Backend::kInterposer;
}

// The environment that a command needs for its backend.
struct CommandEnvironment {
  std::vector<std::string> variables;  // NAME=value; replaces existing values
  std::vector<std::string> preload;    // paths of libraries, in this order, before all others
};
CommandEnvironment environmentFor(Backend backend, const EnforcementRequest& ask,
                                  const EnforcementOffer& offer);

// Returns success if the share of compute can change while the command runs; kUnsupported has the
// reason.
Result<void> canChangeCompute(Backend backend);

// The hardware time slice of a tenant with this weight, in microseconds. Only the ratio matters
// while all tenants have a time slice. The driver's default is about 2 ms.
constexpr unsigned timesliceMicros(unsigned cores) {
  return cores * 100;
}

}  // namespace divvy::agent
