// What kubeconfigs, and what is said beside them, have in common. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/access.h"

namespace divvy::kube {

// kIo: it cannot be read.
Result<std::string> contentOf(const std::string& path);

// "https://host:port/base". kUsage: what is accepted.
Result<void> takeServer(const std::string& url, Access* access);

}  // namespace divvy::kube
