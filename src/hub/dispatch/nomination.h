// Which worker clusters to nominate for a workload. Pure. Private.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hub/worker_price.h"

namespace divvy::hub {

// A worker cluster in the MultiKueueConfig of a workload.
struct Candidate {
  std::string cluster;
  WorkerPrice price = WorkerPrice::kPrivate;
  bool answers = false;      // its capacity is known
  std::optional<bool> fits;  // none: not known
  std::string why;           // why it does not fit, or answer; may be empty
  bool never = false;        // it can never run there as it is
  bool failed = false;       // the question had no answer
};

struct NominationTerms {
  std::vector<std::string> nominated{};        // now
  std::string named{};                         // the only accepted cluster; empty: any
  std::chrono::milliseconds waited{0};         // since the workload got quota
  std::chrono::milliseconds nominated_for{0};  // since the last nomination
  std::chrono::milliseconds spill_after{0};    // before an on-demand cluster is nominated
};

struct Nomination {
  // In the order of preference. Equal to the terms' list: nothing changes.
  std::vector<std::string> clusters;
  bool fits = false;       // in the nominated clusters that are new
  bool undecided = false;  // it fits, and it is not known yet whether in a cheaper cluster
  // "CLUSTER: why", for each candidate in the order of preference.
  std::vector<std::string> reasons;
};

// A further cluster is nominated after that time, and clusters in which nothing fits.
inline constexpr std::chrono::seconds kPatience{20};
inline constexpr std::size_t kMaxFurther = 3;
inline constexpr std::size_t kMaxNominated = 20;  // source: kueue.x-k8s.io/v1beta2

// Nominates one cluster in which the workload fits: private before reserved before on demand, then
// by name. For kPatience it waits for cheaper clusters of which it is not known yet whether it
// fits. After kPatience without admission, nominates a further one, until kMaxFurther nominated
// ones fit. If it has not fit anywhere for kPatience, nominates all private clusters, so that the
// first with free devices takes it; without private ones, all accepted ones.
Nomination nominate(std::vector<Candidate> candidates, const NominationTerms& terms);

}  // namespace divvy::hub
