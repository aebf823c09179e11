// Who enforces a tenant's share of compute: what was asked against what the node offers. Pure.
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

// What `divvy run --enforce` may name. kAuto: MPS where its daemon runs and compute was asked for,
// else the interposer; never the time slices, which are an experiment.
enum class Enforce : std::uint8_t { kAuto, kInterposer, kMps, kTimeslice };
const char* enforceName(Enforce enforce);
Result<Enforce> parseEnforce(std::string_view text);

struct EnforcementRequest {
  Enforce wanted = Enforce::kAuto;
  unsigned cores = 0;  // percent of each device; 0 = none named
  CoresPolicy policy = CoresPolicy::kShare;
  Priority priority = Priority::kNormal;
};

// What the node has. The texts say why not, as part of a sentence; empty: it is there.
struct EnforcementOffer {
  std::string mps_missing = "not looked for";
  std::string timeslice_missing = "not tried";
  std::string mps_dir;                         // the daemon's pipe directory
  std::vector<std::string> timeslice_preload;  // libraries by path, in this order
};

struct Enforcement {
  Backend backend = Backend::kInterposer;
  std::string reason;  // one line, for whoever asked; empty: nothing but the default
};

// kUsage: the options contradict each other; kUnavailable: the node lacks what was named.
Result<Enforcement> chooseEnforcement(const EnforcementRequest& ask, const EnforcementOffer& offer);

// The arbiter tells such tenants when they may run. The others' grants stay open and unmetered.
constexpr bool arbiterGates(Backend backend) {
  return backend == Backend::kInterposer;
}

// What a command needs in its environment for its backend to work.
struct CommandEnvironment {
  std::vector<std::string> variables;  // NAME=value, in place of what was there
  std::vector<std::string> preload;    // libraries by path, in this order, before all others
};
CommandEnvironment environmentFor(Backend backend, const EnforcementRequest& ask,
                                  const EnforcementOffer& offer);

// Whether the share of compute can change while the command runs; kUnsupported says why not.
Result<void> canChangeCompute(Backend backend);

// The hardware time slice of a tenant with this weight, microseconds. Only the ratio matters while
// all tenants have one; the driver's own, for whoever has none, is about 2 ms.
constexpr unsigned timesliceMicros(unsigned cores) {
  return cores * 100;
}

}  // namespace divvy::agent
