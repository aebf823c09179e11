// Writes the cordon of devices: annotations of their node, with the caller's rights.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "kubernetes/cordon_plan.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {

enum class CordonChange : std::uint8_t {
  kClose,
  kOpen,
  kOpenAll,  // also devices that no longer exist
};

struct CordonWrite {
  bool dry_run = false;  // the API server checks it and writes nothing
  int tries = 10;        // if other clients change the node meanwhile
  // Set to true if a write was sent and has no reply; null: not of interest.
  bool* sent = nullptr;
};

// The result of a write.
struct CordonOutcome {
  bool changed = false;  // false: the annotations were as requested, and nothing was sent
  std::string node_uid;
  bool unschedulable = false;  // the node accepts no pods at all (kubectl cordon)
};

// Cordons or uncordons the devices of `node`, which is the name of an object. kUnavailable: other
// clients kept changing the node; other errors are those of KubeApi::call().
Result<CordonOutcome> writeCordons(KubeApi& api, const std::string& node, const Cordons& cordons,
                                   CordonChange change, CordonWrite how = {});

}  // namespace divvy::cli
