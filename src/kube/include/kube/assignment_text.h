// What a pod said of its shares when the scheduler decided where it runs. Agents act on these
// words: the pod's own annotations may change between the binding and the start of a container.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/object.h"

namespace divvy::kube {

// Only the scheduler may write it (docs/security-model.md): an object of strings, words by key.
inline constexpr const char* kDecidedKey = "divvy.dev/decided";

std::string encodeDecided(const Labels& words);
// None: a scheduler that does not write it placed the pod. kCorrupt: says what was read.
Result<std::optional<Labels>> decidedIn(const Labels& annotations);
// Into the annotations, and into the words that were decided where there are any. kCorrupt as
// above.
Result<void> decideWord(const std::string& key, const std::string& value, Labels* annotations);

}  // namespace divvy::kube
