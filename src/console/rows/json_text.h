// JSON of rows.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace divvy::console {

// Returns the value as JSON in UTF-8 on one line. Bytes of its texts that are no UTF-8 become '?':
// they come from viewers' requests and from errors, and JSON with them is not valid.
std::string jsonText(const boost::json::value& value);

// Returns a figure of the agent's protocol, where -1 stands for an unknown one: then null.
inline boost::json::value knownOrNull(int figure) {
  return figure < 0 ? boost::json::value(nullptr) : boost::json::value(figure);
}

}  // namespace divvy::console
