// Annotations that were renamed (public_names). For one release agent and scheduler read both keys,
// and write both with --deprecated-names on: the release before knows the old key only. Pure.
#pragma once

#include <string>

#include "kube/object.h"

namespace divvy::kube {

// Returns the old key of `key`. std::logic_error: it was not renamed.
std::string oldKeyOf(const std::string& key);

// Returns the value of an annotation, renamed or not, or null. A value under the old key goes
// before one under `key`. A writer of this release writes or removes both at once, so that values
// differ only if a writer of the release before came later. An empty value under the old key does
// not count if there is another one.
const std::string* findRenamed(const Labels& annotations, const std::string& key);

}  // namespace divvy::kube
