// A queue of Divvy's, as a cluster keeps it (divvy.dev/v1alpha1, Queue): who may have how much of
// the devices, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "kube/object.h"

namespace divvy::kube {

inline constexpr const char* kQueuesPath = "/apis/divvy.dev/v1alpha1/queues";

// So much of devices with the whole words of `model` in their model (divvy::namesModel()), or of
// all ("*"). What is not said is not meant.
struct QueueAmount {
  std::string model;
  std::optional<std::int64_t> milli;      // thousandths of a device's compute
  std::optional<std::int64_t> mebibytes;  // of its memory
  friend bool operator==(const QueueAmount&, const QueueAmount&) = default;
};

// Pods that wait for the same reason.
struct QueueWaiting {
  std::string reason;
  std::int64_t pods = 0;
  std::string example;  // one of them: "NAMESPACE/NAME"
  friend bool operator==(const QueueWaiting&, const QueueWaiting&) = default;
};

struct QueueStatus {
  std::vector<QueueAmount> used;  // with the queues below it
  std::int64_t running = 0;       // pods of its own that hold devices, or are about to
  std::int64_t pending = 0;       // pods of its own that wait
  std::vector<QueueWaiting> waiting;
  std::string fault;  // why it is not in force; empty: it is
  friend bool operator==(const QueueStatus&, const QueueStatus&) = default;
};

struct Queue {
  Meta meta;
  std::string parent;               // empty: below the root
  std::vector<std::string> spaces;  // namespaces that may use it, and do unless their pods say else
  std::vector<QueueAmount> guarantee;
  std::vector<QueueAmount> limit;
  bool borrows = true;
  bool reclaims = true;  // within its guarantee it takes back what others borrowed
  std::int64_t weight = 1;
  std::string
      pool;  // of its pods that name none, and of queues below that do not; empty: as always
  QueueStatus status;

  // But for what it is told of itself.
  bool sameTerms(const Queue& other) const;
};

// kCorrupt: which member is not what the definition says it is.
Result<Queue> queueOf(const boost::json::value& object);
// What queueOf reads under "status".
boost::json::object statusOf(const QueueStatus& status);

}  // namespace divvy::kube
