#include "scheduler/fencing_policy.h"

#include <set>

#include "kube/renamed_annotation.h"
#include "kube/resize_request.h"
#include "manifests/cel.h"
#include "manifests/manifest_template.h"

namespace divvy::scheduler {
namespace {

// The message in templates/fencing.yaml.
constexpr const char* kOver = "it was decided in a term of the scheduler's Lease that is over";

// A scheduler of the release before writes the old key only, one of this release may write both.
std::vector<std::string> termKeys() {
  return {kTermAnnotation, kube::oldKeyOf(kTermAnnotation)};
}

// Keys of annotations by which a binding assigns devices.
std::vector<std::string> fencedKeys(const vendors::Catalog& catalog) {
  std::set<std::string> allocated;
  for (const vendors::Kind* kind : catalog.kinds())
    if (kind->wire.placed()) allocated.insert(kind->wire.pod.allocated);
  std::vector<std::string> keys = termKeys();
  keys.insert(keys.end(), allocated.begin(), allocated.end());
  return keys;
}

}  // namespace

std::string explainFenced(const std::string& refusal) {
  // Source: k8s.io/apiserver, pkg/admission/plugin/policy/generic.
  const bool gone = refusal.find("no params found for policy binding") != std::string::npos;
  const bool old = refusal.find(kOver) != std::string::npos;
  if (!gone && !old) return refusal;
  return refusal + (gone ? "; " : "; if this persists, ") +
         "the API server still uses the Lease of an earlier copy of this policy: "
         "restart API servers, or disable fencing (scheduler.fencing=false; "
         "docs/guides/install.md, Again)";
}

Result<std::string> fencingPolicy(const vendors::Catalog& catalog, const std::string& name) {
  return renderManifest(
      "fencing.yaml",
      {.values = {
           {"NAME", name},
           {"NAMESPACE", kDivvyNamespace},
           {"TERM_KEYS", celList(termKeys())},
           {"STATE_KEYS", celList({kube::kResizeStateKey, kube::oldKeyOf(kube::kResizeStateKey)})},
           {"FENCED_KEYS", celList(fencedKeys(catalog))}}});
}

}  // namespace divvy::scheduler
