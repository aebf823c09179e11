#include "agent/enforcement.h"

namespace divvy::agent {
namespace {

// Below normal, for clients of one MPS server. NVIDIA's MPS documentation, "Client Priority".
constexpr const char* kMpsLowPriority = "CUDA_MPS_CLIENT_PRIORITY=1";

Error usage(Enforce wanted, const std::string& why) {
  return {ErrorCode::kUsage, std::string("--enforce ") + enforceName(wanted) + " " + why};
}

Result<void> checkMps(const EnforcementRequest& ask) {
  if (ask.cores == 0) {
    return usage(ask.wanted, "enforces --cores, which was not given; accepted: both of them");
  }
  if (ask.priority == Priority::kHigh) {
    return usage(ask.wanted,
                 "does not support high priority; accepted with it: --priority normal, low");
  }
  return {};
}

Result<void> checkTimeslice(const EnforcementRequest& ask) {
  if (ask.cores == 0) {
    return usage(ask.wanted, "enforces --cores, which was not given; accepted: both of them");
  }
  if (ask.policy == CoresPolicy::kCap) {
    return usage(ask.wanted, "supports weights, not caps; accepted with it: --cores-policy share");
  }
  if (ask.priority != Priority::kNormal)
    return usage(ask.wanted, "does not support priorities; accepted with it: --priority normal");
  return {};
}

Enforcement mps(unsigned cores) {
  return {Backend::kMps, "MPS enforces the compute share: " + std::to_string(cores) +
                             "% of the multiprocessors, fixed at start"};
}

}  // namespace

const char* backendName(Backend backend) {
  switch (backend) {
    case Backend::kMps:
      return "mps";
    case Backend::kTimeslice:
      return "timeslice";
    case Backend::kInterposer:
      break;
  }
  return "interposer";
}

Result<Backend> parseBackend(std::string_view text) {
  for (const Backend backend : {Backend::kInterposer, Backend::kMps, Backend::kTimeslice}) {
    if (text == backendName(backend)) return backend;
  }
  return Error{ErrorCode::kCorrupt, "backend \"" + std::string(text) + "\" is not known"};
}

const char* enforceName(Enforce enforce) {
  switch (enforce) {
    case Enforce::kInterposer:
      return "interposer";
    case Enforce::kMps:
      return "mps";
    case Enforce::kTimeslice:
      return "timeslice";
    case Enforce::kAuto:
      break;
  }
  return "auto";
}

Result<Enforce> parseEnforce(std::string_view text) {
  for (const Enforce enforce :
       {Enforce::kAuto, Enforce::kInterposer, Enforce::kMps, Enforce::kTimeslice}) {
    if (text == enforceName(enforce)) return enforce;
  }
  return Error{ErrorCode::kUsage,
               "enforcement \"" + std::string(text) +
                   "\" is not known; accepted: auto, interposer, mps, timeslice"};
}

Result<Enforcement> chooseEnforcement(const EnforcementRequest& ask,
                                      const EnforcementOffer& offer) {
  if (ask.wanted == Enforce::kInterposer) return Enforcement{};
  if (ask.wanted == Enforce::kMps) {
    if (Result<void> good = checkMps(ask); !good) return good.error();
    if (offer.mps_missing.empty()) return mps(ask.cores);
    return Error{ErrorCode::kUnavailable,
                 "--enforce mps: " + offer.mps_missing + "; use --enforce interposer"};
  }
  if (ask.wanted == Enforce::kTimeslice) {
    if (Result<void> good = checkTimeslice(ask); !good) return good.error();
    if (offer.timeslice_missing.empty()) {
      return Enforcement{
          Backend::kTimeslice,
          "the device's own time slices weigh the compute share (experimental), fixed "
          "at start"};
    }
    return Error{ErrorCode::kUnavailable,
                 "--enforce timeslice: " + offer.timeslice_missing + "; use --enforce interposer"};
  }
  // MPS cannot weigh priorities, so a request with a priority gets the arbiter.
  const bool spatial = offer.mps_missing.empty() && ask.cores != 0;
  if (spatial && ask.priority == Priority::kNormal) return mps(ask.cores);
  return Enforcement{};
}

CommandEnvironment environmentFor(Backend backend, const EnforcementRequest& ask,
                                  const EnforcementOffer& offer) {
  CommandEnvironment environment;
  if (backend == Backend::kMps) {
    environment.variables = {"CUDA_MPS_PIPE_DIRECTORY=" + offer.mps_dir,
                             "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + std::to_string(ask.cores)};
    if (ask.priority == Priority::kLow) environment.variables.emplace_back(kMpsLowPriority);
  }
  if (backend == Backend::kTimeslice) {
    environment.variables = {"DIVVY_TIMESLICE_US=" + std::to_string(timesliceMicros(ask.cores))};
    environment.preload = offer.timeslice_preload;
  }
  return environment;
}

Result<void> canChangeCompute(Backend backend) {
  if (arbiterGates(backend)) return {};
  const std::string what = backend == Backend::kMps
                               ? "MPS enforces this tenant's compute, and its percentage is"
                               : "time slices enforce this tenant's compute, and they are";
  return Error{ErrorCode::kUnsupported, what +
                                            " fixed at start; start it again, or with --enforce "
                                            "interposer to change it while it runs"};
}

}  // namespace divvy::agent
