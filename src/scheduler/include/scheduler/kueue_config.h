// Kueue's configuration for pods that request shares of devices. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "vendors/catalog.h"

namespace divvy::scheduler {

enum class KueueRole : std::uint8_t {
  kAlone,    // a cluster whose Kueue admits its own jobs, also a worker of MultiKueue
  kManager,  // the manager of MultiKueue, with Divvy's hub as its dispatcher
};

// Returns YAML: a Configuration with a transformation for each resource that states an amount of
// each device, and with the resources that no quota can count. Source: Kueue's API
// config.kueue.x-k8s.io/v1beta2, Resources.
std::string kueueConfiguration(const vendors::Catalog& catalog, KueueRole role);

}  // namespace divvy::scheduler
