// What a day in clusters is made of: cards, workloads, and how they are shared. One file each.
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

struct Cluster {
  std::string name;
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 8;  // of each node
  Bytes gpu_memory;
  Bytes host_memory = gib(1u << 17);  // of each node, for what is swapped out
  double link = 25;                   // GB/s between a card and its host's memory, each way
  double price = 1;  // of a GPU for an hour; the cheapest cluster with room is taken
};

enum class PodKind : std::uint8_t {
  kService,  // from the start on, or as long as `lifetime`; works now and then
  kSandbox,  // likewise; and without work for `idle_stop` it is stopped until it is wanted again
  kBatch,    // comes `per_hour`, works for `length`, ends
};

enum class Urgency : std::uint8_t { kHigh, kNormal, kLow };

// How busy a card of its own would be, percent. Means of hours go from `trough` to `peak` and back
// within a day. Who works, works for `burst` on average, at a rate whose median is `busy`;
// `spread` is the deviation of the rate's logarithm.
struct Duty {
  double mean = 50, trough = 50, peak = 50;
  double busy = 50;
  double spread = 0;
  std::int64_t burst_ms = 60'000;
  double peak_hour = 14;
};

struct DayWorkload {
  std::string name;
  PodKind kind = PodKind::kService;
  std::uint32_t count = 1;  // of services and sandboxes, at any time
  Urgency urgency = Urgency::kNormal;
  Bytes memory;
  Bytes guarantee;           // of it, never swapped out
  std::uint32_t cores = 10;  // percent of a card that is asked for; 100: a card for itself
  Duty duty;
  std::int64_t lifetime_ms = 0;   // mean; another follows at once. 0: all the time
  std::int64_t idle_stop_ms = 0;  // 0: never
  std::int64_t start_ms = 0;      // from being placed until it can work
  double per_hour = 0;
  std::int64_t length_ms = 0;      // median, on a card of its own
  double length_spread = 0;        // deviation of its logarithm
  std::int64_t checkpoint_ms = 0;  // work since the last one is lost with an eviction; 0: none is
};

struct Sharing {
  std::vector<std::uint32_t> overcommit{1000};  // thousandths, one run each
  std::uint32_t slots = 10;                     // tenants of a card at most
  // What counts is how few cards are in use, not what may still come.
  engine::Policy policy = engine::Policy::kPacking;
  // How pods' days count, a run each for each overcommit; the expected hours are told as they are.
  std::vector<engine::UsageByHourPolicy> daily{engine::UsageByHourPolicy{}};
  bool preempt = false;  // also without sharing: who is more urgent ends who is less
};

struct Scenario {
  std::string name;
  std::string claim;                 // what somebody says who has done it
  std::vector<std::string> sources;  // of the figures
  double hours = 24;
  std::vector<Cluster> clusters;
  std::vector<DayWorkload> workloads;
  Sharing sharing;
};

inline constexpr std::uint32_t kMaxPodsAtOnce = 200'000;

// YAML. kUsage says "FILE:LINE:COLUMN: what; accepted: what"; nothing is half read.
Result<Scenario> parseScenario(std::string_view text, const std::string& file);

}  // namespace divvy::simulator
