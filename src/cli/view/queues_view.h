// Queues of a cluster, as text and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/queue.h"

namespace divvy::cli {

// Returns a tree: each queue below its parent, siblings by name. Queues with a missing parent or in
// a cycle are at the top.
std::string queuesText(const std::vector<kube::Queue>& queues, bool headers, std::size_t width);
// Returns {"queues": [{"name", "parent", "namespaces", "weight", "borrowing", "guarantee", "limit",
// "used", "running", "pending", "waiting", "fault"}]}, in the same order.
std::string queuesJson(const std::vector<kube::Queue>& queues);

}  // namespace divvy::cli
