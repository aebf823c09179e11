// A pod's share options as they were when the scheduler placed it. Agents follow these, because the
// pod's own annotations may change between its binding and the start of a container.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/object.h"

namespace divvy::kube {

// Annotation with a JSON object of strings, values by key. Only the scheduler may write it
// (docs/concepts/security-model.md).
inline constexpr const char* kDecidedKey = "divvy.dev/decided";

std::string encodeDecided(const Labels& words);
// Returns nothing if the scheduler that placed the pod does not write the annotation. kCorrupt: the
// message names its fault.
Result<std::optional<Labels>> decidedIn(const Labels& annotations);
// Sets an option in the annotations, and in the decided options if there are any. kCorrupt: as
// decidedIn().
Result<void> decideWord(const std::string& key, const std::string& value, Labels* annotations);

}  // namespace divvy::kube
