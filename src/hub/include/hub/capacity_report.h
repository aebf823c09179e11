// What a cluster's scheduler answers about its capacity (docs/reference/capacity.md). Pure.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace divvy::hub {

// Reads an answer that is one JSON object. kCorrupt: it is none.
Result<boost::json::object> answerOf(const std::string& text);
// Reads a capacity report. kCorrupt: it is none, or of another version than 1.
Result<boost::json::object> reportOf(const std::string& text);

}  // namespace divvy::hub
