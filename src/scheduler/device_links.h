// Which devices of a node are linked, by all who tell of it: the kind's descriptor, the zones of
// its registration, an annotation with scores. Private.
#pragma once

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

}  // namespace divvy::scheduler
