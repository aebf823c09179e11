#include "scheduler/queue_crd.h"

#include "manifests/manifest_template.h"
#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {

Result<std::string> queuesManifest(const std::string& name) {
  return renderManifest("queues.yaml",
                        {.values = {{"NAME", name}, {"NAMESPACE", kDivvyNamespace}}});
}

}  // namespace divvy::scheduler
