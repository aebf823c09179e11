// Whether what a pod has mounted leaves what we mount where it is. Pure.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::agent {

// `pod`: as the API server tells it. kCorrupt: a volume of that container lies over our files or
// their folder (runtimes mount a pod's volumes after a plugin's). Links in the image can lead there
// all the same: those are not seen.
Result<void> ourMountsStay(const boost::json::value& pod, const std::string& container);

}  // namespace divvy::agent
