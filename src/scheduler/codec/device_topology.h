// Which devices of a node are linked, by all who tell of it: the kind's descriptor, the zones of
// its registration, an annotation with scores. Private.
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

// Of those of one kind; each pair at most once. kCorrupt: the annotation is not understood.
Result<std::vector<engine::Link>> linksOf(const kube::Node& node, const vendors::Kind& kind,
                                          const std::vector<kube::RegisteredDevice>& devices);

// The node's RDMA NICs, as its agent tells of them, and how near each is to `devices`: all that the
// node has, in this order. One of which nothing is said is farther than any. `unread`: what is said
// and not understood is added, and nothing is known of NICs then.
std::vector<engine::Nic> nicsOf(const kube::Node& node, const std::vector<engine::Device>& devices,
                                std::vector<std::string>* unread);

// What else decides which of several nodes those devices are taken from; none where nothing does.
// `first` is the place of the first of them in the node's devices. `unread`: what is said and not
// understood is added.
std::optional<engine::NodeScore> meritOf(const kube::Node& node, const vendors::Kind& kind,
                                         const std::vector<kube::RegisteredDevice>& devices,
                                         std::size_t first, std::vector<std::string>* unread);

}  // namespace divvy::scheduler
