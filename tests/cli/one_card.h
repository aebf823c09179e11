// The one card of made-up clusters, as a node's registration has it.
#pragma once

#include "kube/registration.h"

namespace divvy::test {

// Well, for ten tenants, and with room for them.
inline kube::RegisteredDevice oneCard() {
  kube::RegisteredDevice card;
  card.id = "GPU-1";
  card.count = 10;
  card.mebibytes = 81920;
  card.cores = 100;
  card.type = "NVIDIA-NVIDIA H100";
  card.healthy = true;
  return card;
}

}  // namespace divvy::test
