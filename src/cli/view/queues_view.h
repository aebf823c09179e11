// Queues of a cluster, as text and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/queue.h"

namespace divvy::cli {

// A tree: each queue below its parent, siblings by name. Those whose parent is not there, or that
// are below themselves, are at the top.
std::string queuesText(const std::vector<kube::Queue>& queues, bool headers, std::size_t width);
// {"queues": [{"name", "parent", "namespaces", "weight", "borrowing", "guarantee", "limit",
// "used", "running", "pending", "waiting", "fault"}]}, in the same order.
std::string queuesJson(const std::vector<kube::Queue>& queues);

}  // namespace divvy::cli
