// Helpers of kubeconfigs and of the options beside them. Private.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/access.h"

namespace divvy::kube {

// Returns the content of a file. kIo: it cannot be read.
Result<std::string> contentOf(const std::string& path);

// Takes host, port and base from "https://host:port/base". kUsage: the message names the accepted
// form.
Result<void> takeServer(const std::string& url, Access* access);

}  // namespace divvy::kube
