// Topology of a node's devices, from all its sources: the kind's descriptor, zones of the
// registration, an annotation with scores. Private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model.h"
#include "kube/node.h"
#include "kube/registration.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

// Returns the links between devices of one kind, each pair at most once. kCorrupt: the annotation
// with scores cannot be read.
Result<std::vector<engine::Link>> linksOf(const kube::Node& node, const vendors::Kind& kind,
                                          const std::vector<kube::RegisteredDevice>& devices);

// Returns the node's RDMA NICs, as its agent registers them, with their distance to each of
// `devices`: all devices of the node, in this order. A device without a stated distance is farther
// than any other. If the annotation cannot be read, adds the cause to `unread` and returns no NICs.
std::vector<engine::Nic> nicsOf(const kube::Node& node, const std::vector<engine::Device>& devices,
                                std::vector<std::string>* unread);

// Returns further scores of the node for devices of this kind; none: there are none. `first`: index
// of the first of `devices` in the node's devices. Adds unreadable values to `unread`.
std::optional<engine::NodeScore> meritOf(const kube::Node& node, const vendors::Kind& kind,
                                         const std::vector<kube::RegisteredDevice>& devices,
                                         std::size_t first, std::vector<std::string>* unread);

}  // namespace divvy::scheduler
