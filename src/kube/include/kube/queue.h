// A Queue of Divvy, as the cluster stores it (divvy.dev/v1alpha1): guarantee and limit of devices
// for a group of namespaces, and their use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "kube/object.h"

namespace divvy::kube {

inline constexpr const char* kQueuesPath = "/apis/divvy.dev/v1alpha1/queues";

// An amount of the devices that have the whole words of `model` in their model name
// (divvy::namesModel()), or of all devices ("*"). An absent number states nothing.
struct QueueAmount {
  std::string model;
  std::optional<std::int64_t> milli;      // thousandths of a device's compute
  std::optional<std::int64_t> mebibytes;  // MiB of device memory
  friend bool operator==(const QueueAmount&, const QueueAmount&) = default;
};

// Pods that wait for the same reason.
struct QueueWaiting {
  std::string reason;
  std::int64_t pods = 0;
  std::string example;  // one of these pods: "NAMESPACE/NAME"
  friend bool operator==(const QueueWaiting&, const QueueWaiting&) = default;
};

struct QueueStatus {
  std::vector<QueueAmount> used;  // including child queues
  std::int64_t running = 0;       // own pods that hold devices, or are about to
  std::int64_t pending = 0;       // own pods that wait
  std::vector<QueueWaiting> waiting;
  std::string fault;  // why it is not in force; empty: in force
  friend bool operator==(const QueueStatus&, const QueueStatus&) = default;
};

struct Queue {
  Meta meta;
  std::string parent;  // empty: a child of the root
  // Namespaces that may use it; their pods use it unless they name another queue.
  std::vector<std::string> namespaces;
  std::vector<QueueAmount> guarantee;
  std::vector<QueueAmount> limit;
  bool borrows = true;
  bool reclaims = true;  // within its guarantee it reclaims borrowed devices
  std::int64_t weight = 1;
  // Pool of pods that name none, and of child queues that name none; empty: the namespace's default
  // (docs/guides/pools.md).
  std::string pool;
  QueueStatus status;

  // Returns whether both are equal but for status.
  bool sameTerms(const Queue& other) const;
};

// Reads a Queue. kCorrupt: a member differs from its definition.
Result<Queue> queueOf(const boost::json::value& object);
// Returns the object that queueOf() reads under "status".
boost::json::object statusOf(const QueueStatus& status);

}  // namespace divvy::kube
