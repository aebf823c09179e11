// A synthetic day in clusters: cards, workloads, and sharing. Each scenario is one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/policy.h"
#include "engine/usage_by_hour.h"

namespace divvy::simulator {

// Equal nodes with equal cards.
struct Cluster {
  std::string name;
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 8;  // of each node
  Bytes gpu_memory;
  Bytes host_memory = gib(1u << 17);  // of each node, for swapped-out memory
  double link = 25;                   // GB/s between a card and its host's memory, each way
  double price = 1;  // of a GPU for an hour; the cheapest cluster with space goes first
};

enum class PodKind : std::uint8_t {
  kService,  // runs from the start, or for `lifetime`; works in bursts
  kSandbox,  // the same; stopped after `idle_stop` without work, until its next work
  kBatch,    // arrives `per_hour`, works for `length`, ends
};

// Priority.
enum class Urgency : std::uint8_t { kHigh, kNormal, kLow };

// Work of a pod, in percent of a card of its own. Hourly means go from `trough` to `peak` and back
// within a day. A burst takes `burst_ms` on average, at a rate with median `busy`; `spread` is the
// standard deviation of the rate's logarithm.
struct Duty {
  double mean = 50, trough = 50, peak = 50;
  double busy = 50;
  double spread = 0;
  std::int64_t burst_ms = 60'000;
  double peak_hour = 14;
};

// Pods of one kind.
struct DayWorkload {
  std::string name;
  PodKind kind = PodKind::kService;
  std::uint32_t count = 1;  // services and sandboxes at any time
  Urgency urgency = Urgency::kNormal;
  Bytes memory;
  Bytes guarantee;           // part of `memory` that is never swapped out
  std::uint32_t cores = 10;  // requested percent of a card; 100: a card of its own
  Duty duty;
  std::int64_t lifetime_ms = 0;   // mean; a new pod follows at once; 0: endless
  std::int64_t idle_stop_ms = 0;  // 0: never
  std::int64_t start_ms = 0;      // from the placement until the first work
  double per_hour = 0;
  std::int64_t length_ms = 0;  // median, on a card of its own
  double length_spread = 0;    // standard deviation of its logarithm
  // Interval of checkpoints. An eviction loses the work since the last one; 0: all work.
  std::int64_t checkpoint_ms = 0;
};

// Sharing of cards, and the variants to run.
struct Sharing {
  std::vector<std::uint32_t> overcommit{1000};  // ratios in thousandths; a run for each
  std::uint32_t slots = 10;                     // most tenants of a card
  // Packing by default: the result counts cards in use, not space for later requests.
  engine::Policy policy = engine::Policy::kPacking;
  // Use of the pods' expected hours in placement; a run for each, with each overcommit. The
  // expectations are exact.
  std::vector<engine::UsageByHourPolicy> daily{engine::UsageByHourPolicy{}};
  bool preempt = false;  // higher priority preempts lower; also without sharing
};

// A whole scenario.
struct Scenario {
  std::string name;
  std::string claim;                 // the claim of a production user
  std::vector<std::string> sources;  // sources of the figures
  double hours = 24;
  std::vector<Cluster> clusters;
  std::vector<DayWorkload> workloads;
  Sharing sharing;
};

// Largest DayWorkload::count.
inline constexpr std::uint32_t kMaxPodsAtOnce = 200'000;

// Parses a whole scenario from YAML. `file`: its name, for messages. kUsage: an unknown key or a
// value that is not accepted, with "FILE:LINE:COLUMN: cause; accepted: values".
Result<Scenario> parseScenario(std::string_view text, const std::string& file);

}  // namespace divvy::simulator
