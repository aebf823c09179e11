// Whether a pod's volumes leave our mounts uncovered. Pure.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::agent {

// `pod`: the API server's object. kCorrupt: a volume of that container covers our files or their
// directory (runtimes mount a pod's volumes after a plugin's). Links in the image that lead there
// are not detected.
Result<void> ourMountsStay(const boost::json::value& pod, const std::string& container);

}  // namespace divvy::agent
