// JSON as text.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace divvy::console {

// Returns the value as JSON in UTF-8 on one line. Bytes of its texts that are no UTF-8 become '?':
// they come from viewers' requests and from errors, and JSON with them is not valid.
std::string jsonText(const boost::json::value& value);

}  // namespace divvy::console
