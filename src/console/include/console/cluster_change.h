// A change of an object of a cluster that a viewer requests, and its outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/queue.h"

namespace divvy::console {

enum class ClusterChangeKind : std::uint8_t {
  kResize,
  kPriority,
  kCordon,
  kUncordon,
  kEvict,
  kNotice,
  kQueue,
};

// The object of a change. Members of other kinds are empty.
struct ClusterChangeTarget {
  std::string namespace_name, pod;
  std::string container;  // of a resize or a priority
  std::string node;       // of a cordon
  std::string device;     // UUID; empty: all devices of the node
  std::string queue;
};

// The terms of a queue that change; nothing: unchanged. Lists replace the present ones.
struct QueueTerms {
  std::optional<std::vector<kube::QueueAmount>> guarantee, limit;
  std::optional<std::int64_t> weight;  // 1 or more
  std::optional<bool> borrows;
};

// The new state. Members of other kinds are empty.
struct ClusterChangeTerms {
  std::optional<std::uint64_t> mebibytes;  // MiB of each device
  std::optional<std::uint32_t> cores;      // percent of each device, 1 to 100
  std::string priority;                    // "high", "normal", "low"
  std::string text;                        // of a notice: no control characters
  QueueTerms queue;
};

struct ClusterChange {
  ClusterChangeKind kind = ClusterChangeKind::kResize;
  ClusterChangeTarget target;
  ClusterChangeTerms to;
  std::string user;     // the person as Events name it
  std::string token;    // the change has the rights of this bearer token; empty: the connection's
  bool dry_run = true;  // nothing is written
  // The most memory that the share uses on one device; none: not known.
  std::optional<std::uint64_t> used_bytes;
};

// Why nothing was changed: "forbidden", "conflict", "usage", or a word of the scheduler such as
// "NoRoom".
struct ClusterRefusal {
  std::string code, message;
};

enum class ClusterChangeState : std::uint8_t {
  kPlanned,    // of a dry run
  kRequested,  // the scheduler or the agent has not answered yet
  kDone,
};

// Sentences are for readers, without a full stop.
struct ClusterChangeOutcome {
  std::vector<std::string> effects, warnings;
  std::optional<ClusterRefusal> refused;
  ClusterChangeState state = ClusterChangeState::kPlanned;
  std::optional<bool> recorded;  // an Event with the user's name was written; none: none is due
};

}  // namespace divvy::console
